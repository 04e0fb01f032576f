"""What the fold reads: kept events and notes, each at its position."""

from __future__ import annotations

from dataclasses import dataclass

from runs.rules.kept import Kept
from runs.store.rows import NoteEntry

__all__ = ["CONSUMER_SCOPE", "Entry", "EventEntry", "NoteEntry"]

# The framework's runId for events that belong to no run. It never makes one.
CONSUMER_SCOPE = "consumer-scope"


@dataclass(frozen=True, slots=True)
class EventEntry:
    """One kept event at its place in the order of commit."""

    position: int
    stream_id: int
    received_ms: int
    kept: Kept

    @property
    def run_name(self) -> str:
        name = self.kept.meta.run_id or ""
        return "" if name == CONSUMER_SCOPE else name

    @property
    def path(self) -> str:
        return self.kept.path


Entry = EventEntry | NoteEntry
