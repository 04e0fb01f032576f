"""The fold: one kept event or note into the book. Pure and total: no clock, no database, no event it cannot take.

`fold_all(book, entries)` is the whole of it. What an entry needs to find must be in the book (`store/load.py` opens it
for the entries of a batch before they are folded); what it changed is in `book.touched`. The same entries in the same
order give the same rows, whatever the batches: `manage.py rebuild` is this function over everything on record.

Endings and reasons are never guessed. The rules are those of docs/wire.md, "From events to the record".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from runs.record import choice, delegation
from runs.record.answers import (
    Reason,
    covers,
    end_answer,
    last_at,
    mark,
    open_answer,
    settle,
    turn_at,
    unmatched,
)
from runs.record.calls import (
    CLOSED,
    apply_waiting,
    call_erred,
    checkin_decision,
    end_call,
    middleware_decision,
    permission_check,
    start_call,
)
from runs.record.entries import CONSUMER_SCOPE, Entry, EventEntry, NoteEntry
from runs.record.names import see, see_tools, tools_declared
from runs.record.resumes import begin_leg, pause_request
from runs.record.run_words import (
    MODEL_EVENTS,
    composition_enter,
    composition_exit,
    configured,
    disposition,
    run_of,
)
from runs.rules.kept import (
    AnswerChecked,
    EvidenceChecked,
    LlmEnd,
    LlmStart,
    ToolNote,
    ToolStart,
    TurnEnd,
)
from runs.rules.kept_kinds import MAX_INT
from runs.rules.vocabulary import Ending
from runs.store.book import NOT_ENDED, NOTHING_YET, Book, join_words
from runs.store.rows import AnswerRow, RunRow

# Segments that the framework puts between an agent and its stages; never a step's own path.
INNER_SEGMENTS = ("sf-", "final")
TURN_GOES_ON = frozenset(["agent.iteration_start", "stream.llm_start"])


def fold_all(book: Book, entries: Iterable[Entry]) -> None:
    """Fold the entries, which come in the order of their positions, into the book."""
    for entry in entries:
        _fold(book, entry)
    book.carry()


def _fold(book: Book, entry: Entry) -> None:
    if isinstance(entry, NoteEntry):
        _fold_note(book, entry)
        return
    kind = entry.kept.type
    if not entry.run_name:
        _RUNLESS.get(kind, _nothing_runless)(book, entry)
        return
    run = run_of(book, entry)
    if kind in _OWN:
        _OWN[kind](book, run, entry)
    elif kind in _IN_A_TURN:
        if kind == "stream.tool_end" and _begins_leg(book, run):
            begin_leg(book, run, entry)
        else:
            _IN_A_TURN[kind](book, run, entry, _turn_for(book, run, entry))
    book.touch(run)


# -- turns --------------------------------------------------------------------------------------


def _turn_start(book: Book, run: RunRow, entry: EventEntry) -> None:
    reasons = []
    for answer in list(book.answers_of_run.get(run.id, ())):
        if answer.path == entry.path and answer.ending in NOT_ENDED:
            mark(book, answer, Reason.UNMATCHED, entry)
            end_answer(book, answer, Ending.UNKNOWN, entry)
    if run.finished:
        reasons.append(Reason.UNMATCHED)
    answer = open_answer(book, run, entry, entry.path, *reasons)
    answer.question_at = entry.position
    run.begun = "turn"
    book.changed(answer, entry.position, entry.received_ms)
    apply_waiting(book, run, entry)


def _begins_leg(book: Book, run: RunRow) -> bool:
    """A tool_end as a run's first word about a turn: the run resumes something."""
    return run.begun in NOTHING_YET and not book.answers_of_run.get(run.id)


def _turn_for(book: Book, run: RunRow, entry: EventEntry) -> AnswerRow | None:
    """The open turn an event belongs to. On a path that has none, the turn began unseen and opens here.

    A path whose turn has ended has late events, and nothing opens there but for the first word of a step: a loop comes
    back to the same path, and when the `turn_start` is missing its steps are another turn's, not late.
    """
    kind = entry.kept.type
    found = turn_at(book, run, entry.path)
    if found is not None:
        return found
    if last_at(book, run, entry.path) is not None and (run.finished or kind not in TURN_GOES_ON):
        return None  # its turn has ended: the event is late
    if kind in MODEL_EVENTS and (run.begun in ("", "models") or run.composition):
        run.begun = run.begun or "models"  # a bare model call has no turn, and no answer
        return None
    if kind in _DECISIONS:
        return None  # may come before a leg's first end: it waits (calls.py)
    run.begun = "unseen"
    answer = open_answer(book, run, entry, _agent_path(entry.path), Reason.NOT_OBSERVED)
    book.changed(answer, entry.position, entry.received_ms)
    apply_waiting(book, run, entry)
    return answer


def _agent_path(path: str) -> str:
    segments = path.split("/") if path else []
    while segments and segments[-1].startswith(INNER_SEGMENTS):
        segments.pop()
    return "/".join(segments)


def _turn_end(book: Book, run: RunRow, entry: EventEntry, answer: AnswerRow | None) -> None:
    if answer is None:
        return  # late: kept, counted nowhere
    told: TurnEnd = entry.kept.body
    answer.answer_at = entry.position
    answer.input_tokens = told.total_input_tokens
    answer.output_tokens = told.total_output_tokens
    answer.duration_ms = told.duration_ms
    ending = Ending.ANSWERED
    # Steps that were not seen: this may be the end of another turn. (Some agents number no steps at all.)
    fits = (told.iteration_count or 0) <= answer.iteration or (answer.llm_calls > 0 and not answer.iteration)
    if told.stopped_early is not None:
        ending = Ending.STOPPED_EARLY
        answer.stop_reason = told.stopped_early.reason or ""
        answer.stop_iteration = told.stopped_early.iteration
        if (told.stopped_early.pending_tool_calls or 0) > max(0, answer.requested - answer.started):
            fits = False  # a reply that asked for them was not seen
    if told.refused is not None:
        answer.refused_evidence = True
    if not fits:
        answer.sticky = join_words(answer.sticky, Reason.UNMATCHED)
    end_answer(book, answer, ending, entry)


def _iteration_start(book: Book, run: RunRow, entry: EventEntry, answer: AnswerRow | None) -> None:
    if answer is not None:
        answer.iteration = entry.kept.body.iter_index or answer.iteration
        _goes_on(book, answer, entry)


def _iteration_end(book: Book, run: RunRow, entry: EventEntry, answer: AnswerRow | None) -> None:
    if answer is None:
        return
    # A later surplus of requests must not hide that a reply's end, with what it asked for, was not seen.
    asked_unseen = bool(answer.open_llm and entry.kept.body.tool_call_count and answer.undispatched)
    if answer.started > answer.requested or asked_unseen:
        answer.sticky = join_words(answer.sticky, Reason.UNMATCHED)
        settle(answer)
    book.changed(answer, entry.position, entry.received_ms)


def _goes_on(book: Book, answer: AnswerRow, entry: EventEntry) -> None:
    if answer.ending == Ending.ASKED:
        answer.ending = Ending.RUNNING.value
        settle(answer)
    book.changed(answer, entry.position, entry.received_ms)


def _llm_start(book: Book, run: RunRow, entry: EventEntry, answer: AnswerRow | None) -> None:
    told: LlmStart = entry.kept.body
    if told.tools:
        see_tools(book, entry, [tool.name for tool in told.tools])
    run.model = run.model or told.model or ""
    run.provider = run.provider or told.provider or ""
    run.llm_seen += 1
    if answer is None:
        return
    answer.llm_calls += 1
    answer.open_llm += 1
    answer.iteration = told.iteration or answer.iteration
    previous = book.runs_by_id.get(run.previous) if run.previous is not None else None
    carries = (told.messages_count or 0) > 1 and run.llm_seen == 1 and run.leg_of is None
    if carries and previous is not None and previous.ending in (Ending.FAILED, Ending.UNKNOWN):
        run.retry_of = previous.id  # the calls before the failure are that run's; here they were not seen
        mark(book, answer, Reason.NOT_OBSERVED, entry)
        if previous.gap:  # the word that would have ended it may lie in the hole
            mark(book, answer, Reason.GAP, entry)
    _goes_on(book, answer, entry)


def _llm_end(book: Book, run: RunRow, entry: EventEntry, answer: AnswerRow | None) -> None:
    told: LlmEnd = entry.kept.body
    if answer is None:
        ended = last_at(book, run, entry.path)
        if told.tool_call_count and ended is not None:
            mark(book, ended, Reason.UNMATCHED, entry)  # it asks for calls that this turn does not list
        return
    answer.requested = min(answer.requested + told.tool_call_count, MAX_INT)
    if answer.open_llm:
        answer.open_llm -= 1
    else:
        answer.sticky = join_words(answer.sticky, Reason.UNMATCHED)
        settle(answer)
    book.changed(answer, entry.position, entry.received_ms)


def _tool_start(book: Book, run: RunRow, entry: EventEntry, answer: AnswerRow | None) -> None:
    told: ToolStart = entry.kept.body
    see(book, entry, told.tool_name, tool=True, call=True)
    if answer is None:
        unmatched(book, run, entry)
    else:
        start_call(book, answer, run, entry)


def _tool_end(book: Book, run: RunRow, entry: EventEntry, answer: AnswerRow | None) -> None:
    end_call(book, answer, run, entry)


def _permission_check(book: Book, run: RunRow, entry: EventEntry, answer: AnswerRow | None) -> None:
    permission_check(book, run, entry)


def _middleware(book: Book, run: RunRow, entry: EventEntry, answer: AnswerRow | None) -> None:
    middleware_decision(book, run, entry)


def _checkin(book: Book, run: RunRow, entry: EventEntry, answer: AnswerRow | None) -> None:
    checkin_decision(book, run, entry)


def _halt(book: Book, run: RunRow, entry: EventEntry, answer: AnswerRow | None) -> None:
    """A halt ends the turn and decides no call: the check before it does."""
    if answer is not None:
        end_answer(book, answer, Ending.HALTED, entry)
    else:
        unmatched(book, run, entry)


def _args_invalid(book: Book, run: RunRow, entry: EventEntry) -> None:
    told: ToolNote = entry.kept.body
    if told.enforced:
        call_erred(book, run, entry)


def _fatal(book: Book, run: RunRow, entry: EventEntry) -> None:
    """At the root a thrown error ends every open turn of its run; under a step, that step's.

    An agent that failed has had a turn: where none was seen (its start is missing and nothing else came before the
    error) it opens here. What failed without naming an agent is a bare model call, which has none.
    """
    if run.agent and not run.finished and not book.answers_of_run.get(run.id):
        run.begun = "unseen"
        open_answer(book, run, entry, entry.path, Reason.NOT_OBSERVED)
        apply_waiting(book, run, entry)
    for answer in list(book.answers_of_run.get(run.id, ())):
        if answer.current_run == run.id and (not entry.path or covers(answer.path, entry.path)):
            end_answer(book, answer, Ending.FAILED, entry)


def _fail_fast(book: Book, run: RunRow, entry: EventEntry) -> None:
    answer = turn_at(book, run, entry.path)
    if answer is not None:
        end_answer(book, answer, Ending.FAILED, entry)


def _evidence(book: Book, run: RunRow, entry: EventEntry) -> None:
    told: EvidenceChecked = entry.kept.body
    answer = turn_at(book, run, entry.path)
    if answer is not None and told.action == "refused":
        answer.refused_evidence = True
        book.changed(answer, entry.position, entry.received_ms)


def _replaced(book: Book, run: RunRow, entry: EventEntry) -> None:
    answer = turn_at(book, run, entry.path) or last_at(book, run, entry.path)
    if answer is not None:
        answer.replaced = True
        book.changed(answer, entry.position, entry.received_ms)


def _checked(book: Book, run: RunRow, entry: EventEntry) -> None:
    """The run's own ledger beside ours, as both stand at this moment."""
    told: AnswerChecked = entry.kept.body
    answer = turn_at(book, run, entry.path) or last_at(book, run, entry.path)
    if answer is None:
        unmatched(book, run, entry)
        return
    listed = sorted(
        (c for c in book.calls_of_answer.get(answer.id, ()) if c.state == CLOSED and c.tool is not None),
        key=lambda c: c.closed_position or 0,
    )
    ours = [(c.tool, c.call_id, c.outcome) for c in listed]
    theirs = [(c.tool_name, c.tool_call_id, c.outcome) for c in told.tool_calls.calls]
    ledger_reasons = {Reason.NOT_OBSERVED, Reason.TOO_MANY, Reason.OVERSIZED, Reason.UNSETTLED}
    incomplete = bool(
        answer.open
        or answer.unlisted_open
        or answer.requested > answer.started
        or ledger_reasons & set(answer.sticky.split(","))
    )
    agrees = ours == theirs and incomplete == told.tool_calls.incomplete
    answer.host_check = "agrees" if agrees else "differs"
    book.changed(answer, entry.position, entry.received_ms)


# -- events without a run, and notes ------------------------------------------------------------


def _nothing_runless(book: Book, entry: EventEntry) -> None:
    """An event that should name its run and does not (`consumer-scope` never makes one)."""
    if entry.kept.type in _IN_A_TURN and entry.kept.type != "middleware.decision":
        unmatched(book, None, entry)


def _runless_replaced(book: Book, entry: EventEntry) -> None:
    """`resilience.*` names no run: the stream's latest answer is the one it can be about, if there is just one run."""
    if entry.kept.meta.run_id in (None, CONSUMER_SCOPE):
        last_runs: dict[str, int] = msgspec.json.decode(book.memory(entry.stream_id).last_runs)
        if len(last_runs) == 1:
            run = book.runs_by_id.get(next(iter(last_runs.values())))
            if run is not None:
                _replaced(book, run, entry)


def _fold_note(book: Book, note: NoteEntry) -> None:
    if note.kind in ("gap", "lost"):
        memory = book.memory(note.stream_id)
        memory.gap = True
        book.touch(memory)
        for answer in book.not_ended(note.stream_id):
            mark(book, answer, Reason.GAP, note)
        for run in book.runs_by_id.values():
            if run.stream_id == note.stream_id and not run.finished and not run.gap:
                run.gap = True
                run.version = max(run.version, note.position)
                book.touch(run)
    elif note.kind == "refused":
        for answer in book.not_ended(note.stream_id):
            own = book.runs_by_id.get(answer.current_run)
            if not note.run or (own is not None and own.name == note.run):
                mark(book, answer, Reason.REFUSED_EVENT, note)
    elif note.kind == "unnumbered":
        memory = book.memory(note.stream_id)
        memory.unnumbered = True
        book.touch(memory)
    elif note.kind == "silent":
        silent_run = book.runs.get((note.stream_id, note.run))
        for answer in book.answers_of_run.get(silent_run.id, ()) if silent_run else ():
            if answer.ending == Ending.RUNNING:
                answer.ending = Ending.SILENT.value
                settle(answer)
                last_ms = answer.last_ms  # silence is not a word: "no word since" stays true
                book.changed(answer, note.position, note.received_ms)
                answer.last_ms = last_ms


Own = Callable[[Book, RunRow, EventEntry], None]
InATurn = Callable[[Book, RunRow, EventEntry, AnswerRow | None], None]

_OWN: dict[str, Own] = {
    "agent.run_configured": configured,
    "agent.turn_start": _turn_start,
    "agent.evidence_checked": _evidence,
    "agent.output_contract_unmet": _replaced,
    "resilience.output_fallback_triggered": _replaced,
    "resilience.output_canned_used": _replaced,
    "validation.args_invalid": _args_invalid,
    "tools.result_refused": call_erred,
    "error.fatal": _fatal,
    "reliability.fail_fast": _fail_fast,
    "composition.enter": composition_enter,
    "composition.exit": composition_exit,
    "integrity.disposition": disposition,
    "footprint.tool_choice.row": choice.row,
    "tool_choice.picked": choice.picked,
    "tool_choice.failed": choice.failed,
    "tool_choice.outcome": choice.outcome,
    "footprint.tools.declared": lambda book, run, entry: tools_declared(book, entry),
    "footprint.delegation.declared": delegation.declared,
    "footprint.delegation.spawned": delegation.spawned,
    "footprint.delegation.refused": delegation.refused,
    "footprint.answer.checked": _checked,
}

# Events that belong to a turn, and open one (began unseen) on a path that has had none.
_IN_A_TURN: dict[str, InATurn] = {
    "agent.turn_end": _turn_end,
    "agent.iteration_start": _iteration_start,
    "agent.iteration_end": _iteration_end,
    "stream.llm_start": _llm_start,
    "stream.llm_end": _llm_end,
    "stream.tool_start": _tool_start,
    "stream.tool_end": _tool_end,
    "permission.check": _permission_check,
    "middleware.decision": _middleware,
    "checkin.decision": _checkin,
    "permission.halt": _halt,
}

_DECISIONS = frozenset(["permission.check", "middleware.decision", "checkin.decision"])

_RUNLESS: dict[str, Callable[[Book, EventEntry], None]] = {
    "pause.request": pause_request,
    "pause.resume": lambda book, entry: None,
    "resilience.output_fallback_triggered": _runless_replaced,
    "resilience.output_canned_used": _runless_replaced,
    "footprint.tools.declared": tools_declared,
    "footprint.delegation.declared": lambda book, entry: delegation.declared(book, None, entry),
    "footprint.delegation.spawned": lambda book, entry: delegation.spawned(book, None, entry),
    "footprint.delegation.refused": lambda book, entry: delegation.refused(book, None, entry),
}
