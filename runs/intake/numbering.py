"""Numbers: which events of a stream are new, which are repeats, which fill a hole, and where a hole is.

Pure decisions on rows that are already locked; nothing here asks or writes the database (`settle.py` does).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from runs.record.entries import Entry, EventEntry
from runs.rules.kept import Dropped, Kept, Refused, encode_body
from runs.store import incoming
from runs.store.incoming import HoleRange, LockedProject, LockedStream
from runs.store.rows import NoteEntry

MOST_HOLES = 1_000


@dataclass(frozen=True, slots=True)
class Item:
    """One seq of a batch and what became of its line at the door."""

    seq: int
    read: Kept | Dropped | Refused


@dataclass(frozen=True, slots=True)
class Missing:
    """The sender had to drop these (`lost`), or says that it ends at `last` (`bye`: `ends`)."""

    first: int
    last: int
    ends: bool = False


@dataclass(slots=True)
class Batch:
    """What one connection brought at one time. `epoch` is the stream's when the connection said hello."""

    project_id: int
    stream_id: int
    epoch: int
    token_id: int
    received_ms: int
    items: list[Item | Missing]


@dataclass(slots=True)
class Settled:
    """What the connection is told after the commit: everything up to `through` is settled."""

    through: int
    refused: list[tuple[int, str, str]] = field(default_factory=list)
    end: str = ""  # revoked, taken-over, gone, trouble: why the connection must close


@dataclass(slots=True)
class Work:
    """What a transaction will append and fold, in the order of positions; `project` and its counter are locked."""

    project: LockedProject
    entries: list[Entry] = field(default_factory=list)
    events: list[tuple[int | str, ...]] = field(default_factory=list)
    notes: list[NoteEntry] = field(default_factory=list)
    texts: list[tuple[int, int, str, str, bool]] = field(default_factory=list)

    def note(
        self,
        stream_id: int,
        kind: str,
        received_ms: int,
        *,
        first: int = 0,
        last: int = 0,
        run: str = "",
        code: str = "",
        reason: str = "",
        limit_s: int = 0,
    ) -> None:
        entry = NoteEntry(
            self.project.next_position(),
            stream_id,
            kind,
            first,
            last,
            run,
            code,
            reason,
            limit_s,
            received_ms,
        )
        self.notes.append(entry)
        self.entries.append(entry)


def settle_batch(work: Work, stream: LockedStream, batch: Batch) -> Settled:
    """Settle what one connection brought: `work` gathers the entries, `stream` its numbers and counters."""
    told = Settled(stream.acked)
    stream.last_ms = max(stream.last_ms, batch.received_ms)
    for item in batch.items:
        if isinstance(item, Missing):
            _settle_missing(work, stream, item, batch.received_ms)
            continue
        if item.seq <= stream.acked:
            if not _fills_hole(stream, item.seq):
                stream.repeated += 1
                continue
        elif item.seq > stream.acked + 1:
            _hole(work, stream, "gap", stream.acked + 1, item.seq - 1, batch.received_ms)
        _settle_item(work, stream, item, batch.received_ms, told)
        stream.acked = max(stream.acked, item.seq)
    told.through = stream.acked
    return told


def _settle_item(work: Work, stream: LockedStream, item: Item, received_ms: int, told: Settled) -> None:
    read, project = item.read, work.project
    if isinstance(read, Dropped):
        stream.dropped += 1
        project.dropped += read.known
        project.unknown += not read.known
    elif isinstance(read, Refused):
        stream.refused += 1
        project.refused += 1
        told.refused.append((item.seq, read.code, read.reason))
        work.note(
            stream.id,
            "refused",
            received_ms,
            first=item.seq,
            last=item.seq,
            run=read.run_id or "",
            code=read.code,
            reason=read.reason,
        )
    elif read.meta.run_id in stream.tombstones:
        stream.dropped += 1  # deleted: later events of the run are dropped
    else:
        stream.kept += 1
        position = project.next_position()
        run = (read.meta.run_id or "")[:256]
        body = encode_body(read).decode()
        work.entries.append(EventEntry.of(position, stream.id, received_ms, read))
        work.events.append(
            incoming.event_row(
                project.facts.id, position, stream.id, item.seq, read.type, run, received_ms, body
            )
        )
        if read.texts and project.keep_text:
            work.texts.extend(
                (project.facts.id, position, said.kind, said.text, said.cut) for said in read.texts
            )


def _settle_missing(work: Work, stream: LockedStream, missing: Missing, received_ms: int) -> None:
    if missing.ends:
        stream.ended = True
        if missing.last > stream.acked:
            _hole(work, stream, "gap", stream.acked + 1, missing.last, received_ms)
        return
    if missing.last <= stream.acked:
        stream.repeated += 1
        return
    if missing.first > stream.acked + 1:
        _hole(work, stream, "gap", stream.acked + 1, missing.first - 1, received_ms)
    _hole(work, stream, "lost", stream.acked + 1, missing.last, received_ms)


def _hole(work: Work, stream: LockedStream, kind: str, first: int, last: int, received_ms: int) -> None:
    work.note(stream.id, kind, received_ms, first=first, last=last)
    # A hostile numbering could leave a hole a event: the oldest are forgotten, what fills them later is a repeat.
    stream.holes = [*stream.holes[1 - MOST_HOLES :], HoleRange(None, first, last)]
    stream.holes_changed = True
    stream.missing += last - first + 1
    stream.acked = last


def _fills_hole(stream: LockedStream, seq: int) -> bool:
    """Narrow the hole that `seq` lies in; False when it lies in none (a repeat)."""
    for place, hole in enumerate(stream.holes):
        if hole.first <= seq <= hole.last:
            parts = [
                HoleRange(None, first, last)
                for first, last in ((hole.first, seq - 1), (seq + 1, hole.last))
                if first <= last
            ]
            stream.holes[place : place + 1] = parts
            stream.holes_changed = True
            stream.missing -= 1
            return True
    return False
