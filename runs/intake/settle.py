"""Settling: what connections brought becomes events, notes, texts and the record, under one project's lock.

`settle_project` is the body of the writer's transaction: what `numbering.py` decides is appended, folded and saved.
Nothing is told to anybody before the caller has committed.
"""

from __future__ import annotations

from runs.announce import Changed
from runs.intake.numbering import Batch, Item, Settled, Work, settle_batch
from runs.record.entries import Entry
from runs.record.fold import fold_all
from runs.record.wants import wants_of
from runs.rules.kept import Kept
from runs.store import incoming
from runs.store.incoming import LockedProject, LockedStream
from runs.store.load import open_book
from runs.store.rows import AnswerRow, NoteEntry, RunRow
from runs.store.tokens import tokens_in_force
from runs.store.writes import save_book


def settle_project(project_id: int, batches: list[Batch]) -> tuple[list[Settled], Changed | None]:
    """Settle the batches in their order. The caller's transaction holds the lock to its commit."""
    project = incoming.lock_project(project_id)
    if project is None:
        return [Settled(0, end="gone") for _ in batches], None
    in_force = tokens_in_force({batch.token_id for batch in batches})
    streams = incoming.load_streams({batch.stream_id for batch in batches}, _run_names(batches))
    work = Work(project)
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
            settled.append(settle_batch(work, stream, batch))
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
    work = Work(project)
    for stream_id, run in runs:
        work.note(stream_id, kind, received_ms, run=run, limit_s=limit_s)
    changed = write_entries(project, work.entries, [], work.notes, [])
    incoming.save_project(project)
    return changed


def settle_unnumbered(project_id: int, stream_id: int, received_ms: int) -> None:
    """A bare connection begins: everything it tells is as far as the agent told us."""
    project = incoming.lock_project(project_id)
    if project is not None:
        work = Work(project)
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
    fold_all(book, entries)
    runs, answers = book.touched[RunRow], book.touched[AnswerRow]
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
