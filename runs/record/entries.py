"""What the fold reads: kept events and notes, each at its position."""

from __future__ import annotations

from msgspec import Struct

from runs.rules.kept import Kept
from runs.store.rows import NoteEntry

__all__ = ["CONSUMER_SCOPE", "Entry", "EventEntry", "NoteEntry"]

# The framework's runId for events that belong to no run. It never makes one.
CONSUMER_SCOPE = "consumer-scope"


class EventEntry(Struct, frozen=True):
    """One kept event at its place in the order of commit. `run_name` is empty where the event belongs to no run."""

    position: int
    stream_id: int
    received_ms: int
    kept: Kept
    run_name: str
    path: str

    @classmethod
    def of(cls, position: int, stream_id: int, received_ms: int, kept: Kept) -> EventEntry:
        name = kept.meta.run_id or ""
        run_name = "" if name == CONSUMER_SCOPE else name
        return cls(position, stream_id, received_ms, kept, run_name, kept.path)


Entry = EventEntry | NoteEntry
