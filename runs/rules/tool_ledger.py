"""The calls of one answer: names, call ids and outcomes, bounded, and honest about what they leave out.

Arguments and results never enter. A call id is a label, not an identity: agents use one again across turns, across
tools and within a batch. So every start opens a call and every end lists one. What was *sent* twice is recognised
before it reaches the ledger, by its place in its stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .vocabulary import IncompleteReason, Outcome, ToolStatus

MAX_TOOL_CALL_TEXT = 256
"""The longest tool name or call id that is listed, in UTF-16 code units, as the agent's side counts."""


@dataclass(frozen=True, slots=True)
class AnswerToolCall:
    """One listed call. `outcome` is never `Outcome.OPEN`: a call is listed when it ends."""

    tool_name: str
    tool_call_id: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class AnswerToolCallsView:
    """What a reader of the ledger gets: the calls in the order they ended, and whether some may be missing."""

    calls: tuple[AnswerToolCall, ...] = ()
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallLedger(AnswerToolCallsView):
    """The view, the ids of the calls begun and not yet ended (oldest first, an id may be there twice), and why."""

    in_flight: tuple[str, ...] = ()
    reasons: frozenset[IncompleteReason] = frozenset()

    def __post_init__(self) -> None:
        if self.reasons:  # A ledger with a reason is never complete, however it was made.
            object.__setattr__(self, "incomplete", True)

    def because(self, reason: IncompleteReason) -> ToolCallLedger:
        """The ledger with one more reason to be incomplete; itself when it had that reason already."""
        return self if reason in self.reasons else replace(self, reasons=self.reasons | {reason})


@dataclass(frozen=True, slots=True)
class ToolEndBracket:
    """What the end of a call says about its outcome; `not_dispatched` is whether the field was there at all."""

    error: bool = False
    not_executed: bool = False
    not_dispatched: bool = False
    status: ToolStatus | None = None


_EMPTY = ToolCallLedger()


def utf16_length(text: str) -> int:
    """The length of `text` in UTF-16 code units: what ECMAScript calls its length."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def is_oversized(text: str) -> bool:
    """Whether a tool name or call id is too long to be listed."""
    return len(text) > MAX_TOOL_CALL_TEXT or utf16_length(text) > MAX_TOOL_CALL_TEXT


def incomplete_tool_calls() -> ToolCallLedger:
    """A ledger whose record began after the run did: it may have missed calls."""
    return _EMPTY.because(IncompleteReason.NOT_OBSERVED)


def start_tool_call(prior: ToolCallLedger | None, call_id: str, max: int) -> ToolCallLedger:
    """The ledger after a call began: the call is open until its end comes.

    An oversized id, or more than `max` open calls, cannot be tracked; the ledger says that it is incomplete instead.
    """
    ledger = prior or _EMPTY
    if is_oversized(call_id):
        return ledger.because(IncompleteReason.OVERSIZED)
    if len(ledger.in_flight) >= max:
        return ledger.because(IncompleteReason.TOO_MANY)
    return replace(ledger, in_flight=(*ledger.in_flight, call_id))


def append_tool_call(
    prior: ToolCallLedger | None, call: AnswerToolCall, max: int, settled: bool = True
) -> ToolCallLedger:
    """The ledger after a call ended: the oldest open call with its id is closed, and the call is listed.

    An end without an open call is listed all the same. Past `max` listed calls, or for an oversized name or id, the
    call is left out and the ledger says so; `settled` is false for a tool that declared its own work pending.
    Returns `prior` itself when nothing changes.
    """
    ledger = _close(prior or _EMPTY, call.tool_call_id)
    if not settled:
        ledger = ledger.because(IncompleteReason.UNSETTLED)
    if is_oversized(call.tool_name) or is_oversized(call.tool_call_id):
        return ledger.because(IncompleteReason.OVERSIZED)
    if len(ledger.calls) >= max:
        return ledger.because(IncompleteReason.TOO_MANY)
    return replace(ledger, calls=(*ledger.calls, call))


def _close(ledger: ToolCallLedger, call_id: str) -> ToolCallLedger:
    if call_id not in ledger.in_flight:
        return ledger
    oldest = ledger.in_flight.index(call_id)
    return replace(ledger, in_flight=ledger.in_flight[:oldest] + ledger.in_flight[oldest + 1 :])


def reasons_at_check(ledger: ToolCallLedger | None, undispatched: int) -> frozenset[IncompleteReason]:
    """Why the ledger is incomplete at this moment; `undispatched` calls were asked for and never sent out.

    A ledger that is merely flagged (no reason was kept) has none here: `ledger_at_check` still says incomplete.
    """
    if ledger is None:
        reasons = {IncompleteReason.NOT_OBSERVED}
    else:
        reasons = set(ledger.reasons)
        if ledger.in_flight:
            reasons.add(IncompleteReason.STILL_OPEN)
    if undispatched > 0:
        reasons.add(IncompleteReason.UNDISPATCHED)
    return frozenset(reasons)


def ledger_at_check(ledger: ToolCallLedger | None, undispatched: int) -> AnswerToolCallsView:
    """The ledger as one check sees it: incomplete as well when there is none, or a call is open or was never sent."""
    if ledger is None:
        return AnswerToolCallsView(incomplete=True)
    incomplete = ledger.incomplete or bool(reasons_at_check(ledger, undispatched))
    return AnswerToolCallsView(ledger.calls, incomplete)


def tool_calls_view(ledger: AnswerToolCallsView | None, max: int) -> AnswerToolCallsView:
    """A detached view of at most `max` calls. What is not of the declared shape is dropped, and dropping is told."""
    if ledger is None:
        return AnswerToolCallsView(incomplete=True)
    fit = tuple(call for call in ledger.calls if _is_listable(call))
    kept = fit[:max] if max > 0 else ()
    open_calls = isinstance(ledger, ToolCallLedger) and bool(ledger.in_flight)
    incomplete = ledger.incomplete is not False or open_calls or len(kept) < len(ledger.calls)
    return AnswerToolCallsView(kept, incomplete)


def read_tool_calls_view(value: object, max: int) -> AnswerToolCallsView:
    """A run's own view as it sent it (``{calls: [{toolName, toolCallId, outcome}], incomplete}``), never an error.

    Anything that is not of that shape is dropped and makes the view incomplete, a missing `incomplete` as well: only
    a view that says it is complete is.
    """
    if not isinstance(value, Mapping):
        return tool_calls_view(None, max)
    listed = value.get("calls")
    if not isinstance(listed, list | tuple):
        return tool_calls_view(None, max)
    calls = tuple(call for item in listed if (call := _read_call(item)) is not None)
    whole = value.get("incomplete") is False and len(calls) == len(listed)
    return tool_calls_view(AnswerToolCallsView(calls, incomplete=not whole), max)


def _read_call(item: object) -> AnswerToolCall | None:
    if not isinstance(item, Mapping):
        return None
    name, call_id, outcome = item.get("toolName"), item.get("toolCallId"), Outcome.known(item.get("outcome"))
    if not isinstance(name, str) or not isinstance(call_id, str) or outcome is None:
        return None
    return AnswerToolCall(name, call_id, outcome)


def _is_listable(call: object) -> bool:
    return (
        isinstance(call, AnswerToolCall)
        and isinstance(call.tool_name, str)
        and isinstance(call.tool_call_id, str)
        and Outcome.known(call.outcome) not in (None, Outcome.OPEN)
        and not is_oversized(call.tool_name)
        and not is_oversized(call.tool_call_id)
    )


def tool_outcome_of(bracket: ToolEndBracket, ran: bool) -> Outcome:
    """The outcome of one end; `ran` is whether the tool's own code ran, as far as the decisions on record say.

    The bracket's own word that it did not run overrules `ran`. A call that did not run and has no error is `not-run`,
    never `ok`; one that ran and declared failure, denied or invalid is `error`.
    """
    if bracket.error:
        return Outcome.ERROR
    if not ran or bracket.not_executed or bracket.not_dispatched:
        return Outcome.NOT_RUN
    if bracket.status is not None and bracket.status.is_error:
        return Outcome.ERROR
    return Outcome.OK
