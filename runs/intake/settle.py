"""Settling: what connections brought becomes events, notes, texts and the record, under one project's lock.

`settle_project` is the body of the writer's transaction. It decides which events are new, which are repeats, which fill
a hole and where a hole is; appends, folds, saves. Nothing is told to anybody before the caller has committed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from runs.announce import Changed
from runs.record.entries import Entry, EventEntry
from runs.record.fold import fold
from runs.record.wants import wants_of
from runs.rules.kept import Dropped, Kept, Refused, encode_body
from runs.store import incoming
from runs.store.incoming import HoleRange, LockedProject, LockedStream
from runs.store.load import open_book
from runs.store.rows import AnswerRow, NoteEntry, RunRow
from runs.store.tokens import tokens_in_force
from runs.store.writes import save_book

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
    end: str = ""  # revoked, taken-over, gone, failed: why the connection must close


@dataclass(slots=True)
class _Work:
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


def settle_project(project_id: int, batches: list[Batch]) -> tuple[list[Settled], Changed | None]:
    """Settle the batches in their order. The caller's transaction holds the lock to its commit."""
    project = incoming.lock_project(project_id)
    if project is None:
        return [Settled(0, end="gone") for _ in batches], None
    in_force = tokens_in_force({batch.token_id for batch in batches})
    streams = incoming.load_streams({batch.stream_id for batch in batches}, _run_names(batches))
    work = _Work(project)
    settled = []
    touched: dict[int, LockedStream] = {}
    for batch in batches:
        stream = streams.get(batch.stream_id)
        if stream is None:
            settled.append(Settled(0, end="gone"))
        elif batch.token_id not in in_force:
            settled.append(Settled(stream.acked, end="revoked"))
        elif stream.epoch != batch.epoch:
            settled.append(Settled(stream.acked, end="taken-over"))
        else:
            touched[stream.id] = stream
            settled.append(_settle_batch(work, stream, batch))
    changed = write_entries(work.project, work.entries, work.events, work.notes, work.texts)
    incoming.save_streams(touched.values())
    incoming.save_project(project)
    return settled, changed


def settle_notes(
    project_id: int, kind: str, received_ms: int, runs: list[tuple[int, str]], limit_s: int
) -> Changed | None:
    """Write and fold one note of this kind for each (stream, runId), under the lock the caller's transaction holds."""
    project = incoming.lock_project(project_id)
    if project is None:
        return None
    work = _Work(project)
    for stream_id, run in runs:
        work.note(stream_id, kind, received_ms, run=run, limit_s=limit_s)
    changed = write_entries(project, work.entries, [], work.notes, [])
    incoming.save_project(project)
    return changed


def settle_unnumbered(project_id: int, stream_id: int, received_ms: int) -> None:
    """A bare connection begins: everything it tells is as far as the agent told us."""
    project = incoming.lock_project(project_id)
    if project is not None:
        work = _Work(project)
        work.note(stream_id, "unnumbered", received_ms)
        write_entries(project, work.entries, [], work.notes, [])
        incoming.save_project(project)


def write_entries(
    project: LockedProject,
    entries: list[Entry],
    events: list[tuple[int | str, ...]],
    notes: list[NoteEntry],
    texts: list[tuple[int, int, str, str, bool]],
) -> Changed | None:
    """Append, fold, save. What the doorbell should say, or None when nothing visible changed."""
    if not entries:
        return None
    incoming.append(project.facts.id, events, notes, texts)
    book = open_book(project.facts, project.row_number, wants_of(entries))
    for entry in entries:
        fold(book, entry)
    runs, answers = book.touched.get(RunRow, {}), book.touched.get(AnswerRow, {})
    changed = Changed(
        project_id=project.facts.id,
        epoch=project.facts.epoch,
        position=project.position,
        runs=tuple(row.slug for row in runs.values() if isinstance(row, RunRow)),
        answers=tuple(row.slug for row in answers.values() if isinstance(row, AnswerRow)),
        words=book.words_changed,
    )
    save_book(book)
    project.row_number = book.row_number
    project.words_changed = project.words_changed or book.words_changed
    return changed


def _run_names(batches: list[Batch]) -> set[str]:
    return {
        item.read.meta.run_id
        for batch in batches
        for item in batch.items
        if isinstance(item, Item) and isinstance(item.read, Kept) and item.read.meta.run_id
    }


def _settle_batch(work: _Work, stream: LockedStream, batch: Batch) -> Settled:
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


def _settle_item(work: _Work, stream: LockedStream, item: Item, received_ms: int, told: Settled) -> None:
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
        entry = EventEntry(project.next_position(), stream.id, received_ms, read)
        run = (read.meta.run_id or "")[:256]
        body = encode_body(read).decode()
        work.entries.append(entry)
        work.events.append(
            incoming.event_row(
                project.facts.id, entry.position, stream.id, item.seq, read.type, run, received_ms, body
            )
        )
        if project.keep_text:
            work.texts.extend(
                (project.facts.id, entry.position, said.kind, said.text, said.cut) for said in read.texts
            )


def _settle_missing(work: _Work, stream: LockedStream, missing: Missing, received_ms: int) -> None:
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


def _hole(work: _Work, stream: LockedStream, kind: str, first: int, last: int, received_ms: int) -> None:
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
