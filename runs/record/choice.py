"""Tool-choice rows: what a classifier would have picked, what was served and why, what was called."""

from __future__ import annotations

import msgspec

from runs.record import choice_calls
from runs.record.answers import last_at, turn_at, unmatched
from runs.record.entries import EventEntry
from runs.record.names import see_tools
from runs.rules.kept import ChoiceFailed, ChoiceOutcome, ChoicePicked, ToolChoiceRow
from runs.store.book import Book, join_words
from runs.store.rows import ChoiceRowRow, RunRow

KINDS = ("pick", "pick-error", "outcome")


def row(book: Book, run: RunRow, entry: EventEntry) -> None:
    """One full row of the run's own record (footprint.tool_choice.row)."""
    told: ToolChoiceRow = entry.kept.body
    if told.kind not in KINDS:
        unmatched(book, run, entry)  # a row of a kind that nobody can read says nothing
        return
    filed = _file(book, run, entry, told.kind, "row", told.iteration)
    if filed is None:
        return
    filed.narrowed = told.narrowed
    filed.skipped = told.narrowed_skipped or ""
    filed.agrees = told.first_agrees
    filed.missed = told.miss is not None
    for names in (told.offered, told.called, told.served, told.wire):
        if names:
            see_tools(book, entry, names)
    _add_up(book, run, filed, entry)
    choice_calls.take(book, filed, told, entry)


def picked(book: Book, run: RunRow, entry: EventEntry) -> None:
    told: ChoicePicked = entry.kept.body
    filed = _file(book, run, entry, "pick", "event", told.iteration or 0)
    if filed is not None:
        filed.narrowed = told.narrowed
        filed.skipped = told.narrowed_skipped or ""
        _add_up(book, run, filed, entry)
        choice_calls.take(book, filed, told, entry)


def failed(book: Book, run: RunRow, entry: EventEntry) -> None:
    told: ChoiceFailed = entry.kept.body
    filed = _file(book, run, entry, "pick-error", "event", told.iteration or 0)
    if filed is not None:
        _add_up(book, run, filed, entry)
        choice_calls.take(book, filed, told, entry)


def outcome(book: Book, run: RunRow, entry: EventEntry) -> None:
    told: ChoiceOutcome = entry.kept.body
    filed = _file(book, run, entry, "outcome", "event", told.iteration or 0)
    if filed is not None:
        filed.agrees = told.first_agrees
        filed.missed = bool(told.missed)
        see_tools(book, entry, told.called)
        _add_up(book, run, filed, entry)
        choice_calls.take(book, filed, told, entry)


def _file(
    book: Book, run: RunRow, entry: EventEntry, kind: str, origin: str, iteration: int
) -> ChoiceRowRow | None:
    # A row may come after its turn has ended: senders read them from the run's state. It still belongs to that turn.
    answer = turn_at(book, run, entry.path) or last_at(book, run, entry.path)
    if answer is None:
        unmatched(book, run, entry)
        return None
    answer.choice_rows += 1
    filed = ChoiceRowRow(
        id=book.new_id(),
        project_id=book.project.id,
        epoch=book.project.epoch,
        answer_id=answer.id,
        run_id=run.id,
        number=answer.choice_rows,
        kind=kind,
        origin=origin,
        iteration=iteration,
        position=entry.position,
        body=msgspec.json.encode(entry.kept.body).decode(),
    )
    book.touch(filed)
    return filed


def _add_up(book: Book, run: RunRow, filed: ChoiceRowRow, entry: EventEntry) -> None:
    answer = book.answers[filed.answer_id]
    answer.narrowed += filed.narrowed
    answer.missed += filed.missed
    if filed.skipped:
        answer.skipped = join_words(answer.skipped, filed.skipped)
    book.changed(answer, entry.position, entry.received_ms)
