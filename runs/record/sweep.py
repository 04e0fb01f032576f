"""Who has gone quiet: the runs whose turn has had no word for longer than its project allows."""

from __future__ import annotations

from runs.store import incoming
from runs.store.incoming import LockedProject


def silent_runs(project: LockedProject, now_ms: int) -> list[tuple[int, str]]:
    """(stream, runId) of each, oldest first. A turn that waits for a person never goes silent."""
    before = now_ms - project.silent_after_s * 1000
    return incoming.silent_candidates(project.facts.id, project.facts.epoch, before)
