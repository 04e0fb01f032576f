"""Pauses and resumes: one answer, several runs.

`pause.request` carries no run. A leg begins with a `tool_end` and no `turn_start`; which answer it continues is decided
once, at that event, from what is committed, and never merged later: guessing is worse than saying so.
"""

from __future__ import annotations

from runs.record.answers import Reason, count_undispatched, open_answer, settle, unmatched
from runs.record.calls import (
    OPEN,
    PAUSED,
    apply_waiting,
    book_waiting,
    end_call,
    open_calls_like,
    pause_call,
)
from runs.record.entries import EventEntry
from runs.rules.kept import PauseRequest, ToolEnd
from runs.rules.vocabulary import Ending
from runs.store.book import NOT_ENDED, Book
from runs.store.rows import AnswerRow, RunRow, ToolCallRow


def pause_request(book: Book, entry: EventEntry) -> None:
    """Pause the one open call on the stream with this path, id and tool; several: the next disposition tells."""
    request: PauseRequest = entry.kept.body
    question = request.question_payload
    if question is None or question.tool_call_id is None:
        unmatched(book, None, entry)
        return
    fitting = open_calls_like(
        book, entry.stream_id, entry.path, question.tool_call_id, question.tool_name, OPEN
    )
    if len(fitting) == 1:
        pause_call(book, *fitting[0], entry)
    elif fitting:
        book_waiting(book, entry, "pause", "", question.tool_call_id, question.tool_name)
    else:
        unmatched(book, None, entry)


def settle_pauses(book: Book, run: RunRow, entry: EventEntry) -> None:
    """The run sends its disposition: a pause that fitted several calls is this run's, if one of them is."""
    for row in [w for w in book.waiting.get(run.stream_id, []) if w.kind == "pause"]:
        fitting = [
            (answer, call)
            for answer, call in open_calls_like(book, run.stream_id, row.path, row.call_id, row.tool, OPEN)
            if answer.current_run == run.id
        ]
        if not fitting:
            continue
        book.drop_waiting(row)
        if len(fitting) == 1:
            pause_call(book, *fitting[0], entry)
        else:
            unmatched(book, run, entry)


def begin_leg(book: Book, run: RunRow, entry: EventEntry) -> None:
    """A run whose first word is a call's end: a further leg of the one answer that waits for it, or its own."""
    end: ToolEnd = entry.kept.body
    waiting = [] if entry.kept.oversized else _waiting_calls(book, run, entry.path, end.tool_call_id)
    run.begun = "leg"
    if len(waiting) != 1:
        # Where the stream has a hole, the pause that this end answers may lie in it.
        lost = (Reason.GAP,) if book.memory(run.stream_id).gap else ()
        answer = open_answer(book, run, entry, entry.path, Reason.NOT_OBSERVED, *lost)
        apply_waiting(book, run, entry)
        end_call(book, answer, run, entry)
        return
    answer, _ = waiting[0]
    answer.legs += 1
    answer.current_run = run.id
    answer.stream_id = run.stream_id
    answer.ending = Ending.RUNNING.value
    run.leg_of = answer.id
    book.answers_of_run.setdefault(run.id, []).append(answer)
    book.add_leg(answer, run)
    count_undispatched(answer)
    settle(answer)
    book.changed(answer, entry.position, entry.received_ms)
    apply_waiting(book, run, entry)
    end_call(book, answer, run, entry)


def _waiting_calls(book: Book, run: RunRow, path: str, call_id: str) -> list[tuple[AnswerRow, ToolCallRow]]:
    """Paused calls with this id and path on the same stream, or in the same session on another."""
    return [
        (answer, call)
        for answer in book.answers.values()
        if answer.ending in NOT_ENDED
        and (answer.stream_id == run.stream_id or (run.session and answer.session == run.session))
        for call in book.calls_of_answer.get(answer.id, ())
        if call.state == PAUSED and call.call_id == call_id and call.path == path
    ]
