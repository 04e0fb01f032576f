"""The calls of an answer: opened by a start, closed by an end, decided in between.

A call id is a label, not an identity: an end closes the oldest open (or paused) call with its run (or an earlier
leg's), path and id. A call whose end came without a start is a row without a name until its start is seen.
"""

from __future__ import annotations

from runs.record.answers import Reason, last_at, mark, settle, turn_at, unmatched
from runs.record.entries import EventEntry
from runs.rules.kept import (
    CheckinDecision,
    MiddlewareDecision,
    PermissionCheck,
    ToolEnd,
    ToolNote,
    ToolStart,
)
from runs.rules.tool_ledger import ToolEndBracket, tool_outcome_of
from runs.rules.vocabulary import Ending, Outcome, ToolStatus
from runs.store.book import NOT_ENDED, Book, join_words
from runs.store.rows import AnswerRow, RunRow, ToolCallRow, WaitingRow

OPEN, PAUSED, CLOSED = "open", "paused", "closed"
# Checks of other capabilities happen outside calls (a memory is read before the model is asked).
NO_CALLS_CAPABILITY = frozenset(["memory_read", "memory_write"])


def start_call(book: Book, answer: AnswerRow, run: RunRow, entry: EventEntry) -> None:
    """A call was asked for and goes out; whether it ran is told later."""
    start: ToolStart = entry.kept.body
    answer.started += 1
    if entry.kept.oversized:
        _unlisted(book, answer, Reason.OVERSIZED, entry)
        return
    nameless = _oldest(book, answer, entry.path, start.tool_call_id, nameless=True)
    if nameless is not None:
        nameless.tool = start.tool_name
        nameless.opened_position = entry.position
        nameless.opened_ms = entry.received_ms
        nameless.opened_clock_ms = entry.kept.meta.wall_clock_ms
        nameless.iteration = answer.iteration
        _touch(book, nameless, answer, entry)
        return
    if answer.calls - answer.unlisted >= book.project.ledger_limit:
        _unlisted(book, answer, Reason.TOO_MANY, entry)
        return
    call = _new_call(book, answer, run, entry, start.tool_name, start.tool_call_id)
    call.state, call.outcome = OPEN, Outcome.OPEN.value
    call.not_run = start.not_dispatched
    call.opened_position = entry.position
    call.opened_ms = entry.received_ms
    call.opened_clock_ms = entry.kept.meta.wall_clock_ms
    answer.calls += 1
    answer.open += 1
    _touch(book, call, answer, entry)


def end_call(book: Book, answer: AnswerRow | None, run: RunRow, entry: EventEntry) -> None:
    """A call's end: in an open turn, or late, when the turn it belongs to has ended."""
    end: ToolEnd = entry.kept.body
    if answer is None:
        _end_late(book, run, entry)
        return
    call = None if entry.kept.oversized else _oldest(book, answer, entry.path, end.tool_call_id)
    if call is not None:
        _close(book, answer, call, entry)
    elif answer.unlisted_open:
        answer.unlisted_open -= 1
        _count(answer, _outcome(end, not_run=False, erred=False), +1)
        _unsettled(answer, end)
        settle(answer)
        book.changed(answer, entry.position, entry.received_ms)
    elif entry.kept.oversized:
        mark(book, answer, Reason.OVERSIZED, entry)
    elif answer.calls - answer.unlisted >= book.project.ledger_limit:
        mark(book, answer, Reason.TOO_MANY, entry)
    else:
        _nameless(book, answer, run, entry)


def _end_late(book: Book, run: RunRow, entry: EventEntry) -> None:
    end: ToolEnd = entry.kept.body
    for answer in reversed(book.answers_of_run.get(run.id, [])):
        call = _oldest(book, answer, entry.path, end.tool_call_id)
        if call is not None:
            call.late = True
            _close(book, answer, call, entry)
            return
    unmatched(book, run, entry)


def _nameless(book: Book, answer: AnswerRow, run: RunRow, entry: EventEntry) -> None:
    end: ToolEnd = entry.kept.body
    call = _new_call(book, answer, run, entry, None, end.tool_call_id)
    answer.calls += 1
    answer.open += 1
    answer.sticky = join_words(answer.sticky, Reason.UNMATCHED)
    _close(book, answer, call, entry)


def _new_call(
    book: Book, answer: AnswerRow, run: RunRow, entry: EventEntry, tool: str | None, call_id: str
) -> ToolCallRow:
    project = book.project
    listed = book.runs_by_id.get(answer.run_id, run)  # in a leg: the run that opened the answer
    call = ToolCallRow(
        id=book.new_id(),
        project_id=project.id,
        epoch=project.epoch,
        answer_id=answer.id,
        run_id=run.id,
        number=answer.calls - answer.unlisted + 1,
        path=entry.path,
        tool=tool,
        call_id=call_id,
        state=OPEN,
        outcome=Outcome.OPEN.value,
        version=entry.position,
        run_position=listed.first_position,
        iteration=answer.iteration,
    )
    book.file_call(call)
    return call


def _unlisted(book: Book, answer: AnswerRow, reason: Reason, entry: EventEntry) -> None:
    answer.calls += 1
    answer.unlisted += 1
    answer.unlisted_open += 1
    mark(book, answer, reason, entry)


def _oldest(
    book: Book, answer: AnswerRow, path: str, call_id: str, *, nameless: bool = False
) -> ToolCallRow | None:
    for call in book.calls_of_answer.get(answer.id, ()):
        if call.call_id == call_id and call.path == path:
            if nameless and call.tool is None:
                return call
            if not nameless and call.state != CLOSED:
                return call
    return None


def _close(book: Book, answer: AnswerRow, call: ToolCallRow, entry: EventEntry) -> None:
    end: ToolEnd = entry.kept.body
    was_paused = call.state == PAUSED
    outcome = _outcome(end, not_run=call.not_run, erred=call.erred)
    call.state, call.outcome = CLOSED, outcome.value
    call.not_run = outcome is Outcome.NOT_RUN
    call.status = ToolStatus.read(end.status) or ""
    call.closed_position = entry.position
    call.closed_ms = entry.received_ms
    call.duration_ms = end.duration_ms
    answer.open -= 1
    _count(answer, outcome, +1)
    _unsettled(answer, end)
    if was_paused and answer.ending == Ending.ASKED:
        answer.ending = Ending.RUNNING.value
    settle(answer)
    _touch(book, call, answer, entry)


def _outcome(end: ToolEnd, *, not_run: bool, erred: bool) -> Outcome:
    bracket = ToolEndBracket(
        error=end.error or erred,
        not_executed=end.not_executed,
        not_dispatched=end.not_dispatched,
        status=ToolStatus.known(end.status),
    )
    return tool_outcome_of(bracket, ran=not not_run)


def _count(answer: AnswerRow, outcome: Outcome, by: int) -> None:
    if outcome is Outcome.OK:
        answer.worked += by
    elif outcome is Outcome.ERROR:
        answer.failed += by
    else:
        answer.never_ran += by


def _unsettled(answer: AnswerRow, end: ToolEnd) -> None:
    if end.status == ToolStatus.PENDING:
        answer.sticky = join_words(answer.sticky, Reason.UNSETTLED)


def _touch(book: Book, call: ToolCallRow, answer: AnswerRow, entry: EventEntry) -> None:
    call.version = entry.position
    book.touch(call)
    settle(answer)
    book.changed(answer, entry.position, entry.received_ms)


# -- decisions ----------------------------------------------------------------------------------


def permission_check(book: Book, run: RunRow, entry: EventEntry) -> None:
    """No call id on it: it belongs to the last still open or paused call on its path whose tool is its target."""
    check: PermissionCheck = entry.kept.body
    if check.capability in NO_CALLS_CAPABILITY:
        return
    stops = check.result in ("deny", "halt")
    _decide(book, run, entry, None, check.target, not_run=stops)


def middleware_decision(book: Book, run: RunRow, entry: EventEntry) -> None:
    """Only a rule's deny before the tool says that a call did not run."""
    decision: MiddlewareDecision = entry.kept.body
    if decision.moment == "before-tool" and decision.outcome == "deny":
        _decide(book, run, entry, decision.tool_call_id, decision.tool_name, not_run=True)


def checkin_decision(book: Book, run: RunRow, entry: EventEntry) -> None:
    decision: CheckinDecision = entry.kept.body
    _decide(book, run, entry, decision.tool_call_id, decision.tool_name, not_run=not decision.approved)


def call_erred(book: Book, run: RunRow, entry: EventEntry) -> None:
    """Arguments refused by their schema, or a result refused for its size: an error, though the end does not say so."""
    note: ToolNote = entry.kept.body
    answer = turn_at(book, run, entry.path)
    call = _fitting(book, answer, entry.path, note.tool_call_id, note.tool_name) if answer else None
    if call is None or answer is None:
        if answer is None or not answer.unlisted_open:
            unmatched(book, run, entry)
        return
    call.erred = True
    _touch(book, call, answer, entry)


def _decide(
    book: Book, run: RunRow, entry: EventEntry, call_id: str | None, tool: str | None, *, not_run: bool
) -> None:
    answer = turn_at(book, run, entry.path)
    if answer is None and last_at(book, run, entry.path) is None:
        # Before a leg's first end nothing says yet which answer continues here: the decision waits.
        book_waiting(book, entry, "decision", run.name, call_id, tool, not_run)
        return
    call = _fitting(book, answer, entry.path, call_id, tool) if answer else None
    if call is None or answer is None:
        if answer is None or not answer.unlisted_open:
            unmatched(book, run, entry)
        return
    if not_run and not call.not_run:
        call.not_run = True
        _touch(book, call, answer, entry)


def _fitting(
    book: Book, answer: AnswerRow, path: str, call_id: str | None, tool: str | None
) -> ToolCallRow | None:
    """The last call of the turn that is still open or paused and has this id (or, without one, this tool)."""
    for call in reversed(book.calls_of_answer.get(answer.id, [])):
        if call.state == CLOSED or call.path != path:
            continue
        if (call_id is not None and call.call_id == call_id) or (call_id is None and call.tool == tool):
            return call
    return None


def book_waiting(
    book: Book,
    entry: EventEntry,
    kind: str,
    run_name: str,
    call_id: str | None,
    tool: str | None,
    not_run: bool = False,
) -> None:
    """Remember what only a later event can place."""
    project = book.project
    row = WaitingRow(
        id=book.new_id(),
        project_id=project.id,
        epoch=project.epoch,
        stream_id=entry.stream_id,
        kind=kind,
        run=run_name,
        path=entry.path,
        call_id=call_id,
        tool=tool,
        not_run=not_run,
        position=entry.position,
    )
    book.file_waiting(row)
    book.touch(row)


def waiting_decisions(book: Book, run: RunRow) -> list[WaitingRow]:
    return [w for w in book.waiting.get(run.stream_id, []) if w.kind == "decision" and w.run == run.name]


def apply_waiting(book: Book, run: RunRow, entry: EventEntry) -> None:
    """The turn of this run is known now: place the decisions that waited for it."""
    for row in waiting_decisions(book, run):
        book.drop_waiting(row)
        answer = turn_at(book, run, row.path)
        call = _fitting(book, answer, row.path, row.call_id, row.tool) if answer else None
        if answer is None or call is None:
            unmatched(book, run, entry)
        elif row.not_run:
            call.not_run = True
            _touch(book, call, answer, entry)


# -- pauses -------------------------------------------------------------------------------------


def pause_call(book: Book, answer: AnswerRow, call: ToolCallRow, entry: EventEntry) -> None:
    call.state = PAUSED
    if answer.ending in NOT_ENDED:
        answer.ending = Ending.ASKED.value
    _touch(book, call, answer, entry)


def open_calls_like(
    book: Book, stream_id: int, path: str, call_id: str | None, tool: str | None, state: str
) -> list[tuple[AnswerRow, ToolCallRow]]:
    """Every call of a turn not ended on the stream with this path, id and tool in this state, and its answer."""
    return [
        (book.answers[answer_id], call)
        for answer_id, calls in book.calls_of_answer.items()
        for call in calls
        if call.state == state
        and call.call_id == call_id
        and call.path == path
        and (tool is None or call.tool == tool)
        and book.answers[answer_id].stream_id == stream_id
        and book.answers[answer_id].ending in NOT_ENDED
    ]
