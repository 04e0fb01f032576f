"""The record made anew from events and notes, beside ingest: another epoch in small transactions, then a switch.

Positions are read in order and nothing else is: no clock, no seq, no setting. The rows are the same as those of the
epoch before (a test compares them); open pages are told and take the full state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from django.db import transaction

from runs.announce import Changed
from runs.record.entries import Entry, EventEntry, NoteEntry
from runs.record.fold import fold_all
from runs.record.wants import wants_of
from runs.rules.kept import decode_body
from runs.store import incoming, remake
from runs.store.load import open_book
from runs.store.remake import StoredEvent
from runs.store.writes import save_book

A_STEP = 1_000  # entries a transaction: ingest waits for one step at most
ROWS_A_STEP = 2_000


def rebuild(project_id: int, told: Callable[[int], None] = lambda position: None) -> Changed | None:
    """Rebuild one project. `told` hears the position reached after each step. None when the project is gone."""
    with transaction.atomic():
        project = incoming.lock_project(project_id)
        if project is None:
            return None
        epoch = project.facts.epoch + 1
        current = project.facts.epoch
    _delete_others(project_id, current)  # of a rebuild that did not come to its end
    position = 0
    while True:
        with transaction.atomic():
            project = incoming.lock_project(project_id)
            if project is None:
                return None
            stored = remake.read_after(project_id, position, A_STEP)
            if stored:
                entries = [_entry(one) for one in stored]
                book = open_book(replace(project.facts, epoch=epoch), project.row_number, wants_of(entries))
                fold_all(book, entries)
                save_book(book)
                project.row_number = book.row_number
                position = entries[-1].position
                incoming.save_project(project)
            else:  # caught up, under the lock: nothing can come between
                remake.switch_epoch(project_id, epoch)
                break
        told(position)
    _delete_others(project_id, epoch)
    return Changed(project_id, epoch, project.position, people=True)


def _delete_others(project_id: int, current: int) -> None:
    while True:
        with transaction.atomic():
            if not remake.delete_some_rows(project_id, current, ROWS_A_STEP):
                return


def _entry(stored: StoredEvent | NoteEntry) -> Entry:
    if isinstance(stored, NoteEntry):
        return stored
    position, stream_id, received_ms, kind, body = stored
    return EventEntry.of(position, stream_id, received_ms, decode_body(kind, body))
