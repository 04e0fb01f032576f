"""Model calls for counting: the tool-choice rows of one call brought together, and the shape a what-if replays.

A full row says more than the framework's event, which only counts: where both come, the row stands, whichever is
first. A second reading (or outcome) of the same kind at one iteration is another call.
"""

from __future__ import annotations

import msgspec

from runs.record.entries import EventEntry
from runs.rules.choice_replay import Shape, read_shape, shape_of, shape_word
from runs.rules.kept import ChoiceFailed, ChoiceOutcome, ChoicePicked, ToolChoiceRow
from runs.rules.vocabulary import NarrowSkip
from runs.store.book import Book
from runs.store.rows import ChoiceCallRow, ChoiceRowRow

Told = ToolChoiceRow | ChoicePicked | ChoiceFailed | ChoiceOutcome


class _Menu(msgspec.Struct, array_like=True):
    """What a call's shape is made of, kept from its reading to its outcome."""

    wire: list[str]
    doors: list[str]
    ranked: list[str]


_read_menu = msgspec.json.Decoder(_Menu).decode


def take(book: Book, filed: ChoiceRowRow, told: Told, entry: EventEntry) -> None:
    """One row, filed already, into its model call."""
    is_reply = filed.kind == "outcome"
    call = _call_of(book, filed, is_reply)
    if call is None:
        call = ChoiceCallRow(
            id=book.new_id(),
            project_id=filed.project_id,
            epoch=filed.epoch,
            answer_id=filed.answer_id,
            run_id=filed.run_id,
            number=filed.number,
            iteration=filed.iteration,
            at_ms=entry.received_ms,
        )
        book.file_choice_call(call)
    elif (call.reply_from if is_reply else call.reading_from) == "row":
        return  # an event that repeats the row
    if is_reply:
        _reply(book, call, filed, told)
    else:
        _reading(call, filed, told)
    book.touch(call)


def _call_of(book: Book, filed: ChoiceRowRow, is_reply: bool) -> ChoiceCallRow | None:
    """The call this row belongs to: the latest of its iteration that lacks it, or has the other origin's."""
    at_it = book.choice_calls.get((filed.answer_id, filed.run_id, filed.iteration), ())
    for call in reversed(at_it):
        has = call.reply_from if is_reply else call.reading_from
        if has != filed.origin:
            return call
    return None


def _reading(call: ChoiceCallRow, filed: ChoiceRowRow, told: Told) -> None:
    assert isinstance(told, ToolChoiceRow | ChoicePicked | ChoiceFailed)
    call.reading, call.reading_from = filed.kind, filed.origin
    call.narrowed, call.skipped = filed.narrowed, filed.skipped
    call.latency_ms = told.latency_ms
    if isinstance(told, ChoiceFailed):
        return
    call.chosen, call.confidence = told.chosen, told.confidence
    if isinstance(told, ChoicePicked):
        call.input_tokens, call.output_tokens = told.input_tokens, told.output_tokens
        return
    if told.usage is not None:
        call.input_tokens, call.output_tokens = told.usage.input_tokens, told.usage.output_tokens
    if told.wire is not None and told.doors is not None:
        ranked = [score.name for score in told.ranked or ()]
        call.menu = msgspec.json.encode(_Menu(told.wire, told.doors, ranked)).decode()


def _reply(book: Book, call: ChoiceCallRow, filed: ChoiceRowRow, told: Told) -> None:
    assert isinstance(told, ToolChoiceRow | ChoiceOutcome)
    called = told.called or []
    call.reply_from = filed.origin
    call.called, call.calls = called[0] if called else None, len(called)
    call.agrees, call.missed = filed.agrees, filed.missed
    if not call.menu:
        return
    menu = _read_menu(call.menu)
    shape = shape_of(
        wire=menu.wire,
        doors=menu.doors,
        ranked=menu.ranked,
        confidence=call.confidence,
        called=called,
        held=call.reading == "pick-error" or call.skipped == NarrowSkip.WRAP_UP.value,
        before=_shape_before(book, call),
    )
    call.shape, call.misses_to, call.sure = shape_word(shape), shape.misses_to, shape.sure
    if filed.origin == "row":
        call.menu = ""


def _shape_before(book: Book, call: ChoiceCallRow) -> Shape | None:
    at_it = book.choice_calls.get((call.answer_id, call.run_id, call.iteration - 1), ())
    return read_shape(at_it[-1].shape) if at_it and at_it[-1].shape else None
