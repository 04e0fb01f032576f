"""The ledger lists calls, never too many, and says when it may have missed some."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.rules.tool_ledger import (
    MAX_TOOL_CALL_TEXT,
    AnswerToolCall,
    AnswerToolCallsView,
    ToolCallLedger,
    ToolEndBracket,
    append_tool_call,
    incomplete_tool_calls,
    is_oversized,
    ledger_at_check,
    read_tool_calls_view,
    reasons_at_check,
    start_tool_call,
    tool_calls_view,
    tool_outcome_of,
    utf16_length,
)
from runs.rules.vocabulary import IncompleteReason, Outcome, ToolStatus


def call(call_id: str = "c1", tool: str = "search", outcome: Outcome = Outcome.OK) -> AnswerToolCall:
    return AnswerToolCall(tool, call_id, outcome)


def test_a_call_is_open_until_its_end_comes() -> None:
    ledger = start_tool_call(None, "c1", 10)
    assert ledger == ToolCallLedger(in_flight=("c1",))
    assert ledger_at_check(ledger, 0) == AnswerToolCallsView((), incomplete=True)
    assert reasons_at_check(ledger, 0) == {IncompleteReason.STILL_OPEN}
    ledger = append_tool_call(ledger, call(), 10)
    assert ledger == ToolCallLedger(calls=(call(),))
    assert ledger_at_check(ledger, 0) == AnswerToolCallsView((call(),), incomplete=False)


def test_an_id_is_a_label_and_may_be_open_twice() -> None:
    ledger = start_tool_call(start_tool_call(None, "c1", 10), "c1", 10)
    ledger = start_tool_call(ledger, "c2", 10)
    assert ledger.in_flight == ("c1", "c1", "c2")
    ledger = append_tool_call(ledger, call("c1", "first"), 10)
    assert ledger.in_flight == ("c1", "c2")
    ledger = append_tool_call(ledger, call("c1", "second", Outcome.ERROR), 10)
    assert ledger.in_flight == ("c2",)
    assert [(one.tool_name, one.outcome) for one in ledger.calls] == [("first", "ok"), ("second", "error")]


def test_one_id_for_ten_calls_lists_ten() -> None:
    ledger = None
    for _ in range(10):
        ledger = append_tool_call(start_tool_call(ledger, "bash:0", 99), call("bash:0"), 99)
    assert ledger is not None
    assert len(ledger.calls) == 10
    assert not ledger.incomplete


def test_an_end_without_an_open_call_is_listed_all_the_same() -> None:
    assert append_tool_call(None, call(), 10).calls == (call(),)


def test_past_max_open_calls_a_start_only_says_so_and_its_end_is_listed() -> None:
    ledger = start_tool_call(start_tool_call(None, "c1", 1), "c2", 1)
    assert ledger.in_flight == ("c1",)
    assert ledger.reasons == {IncompleteReason.TOO_MANY}
    assert append_tool_call(ledger, call("c2"), 5).calls == (call("c2"),)


def test_past_max_calls_nothing_more_is_listed_but_the_call_is_closed() -> None:
    ledger = append_tool_call(start_tool_call(None, "c1", 5), call("c0"), 1)
    ledger = append_tool_call(ledger, call("c1"), 1)
    assert ledger.calls == (call("c0"),)
    assert ledger.in_flight == ()
    assert ledger.reasons == {IncompleteReason.TOO_MANY}


def test_prior_itself_comes_back_when_nothing_changes() -> None:
    full = append_tool_call(append_tool_call(None, call("a"), 1), call("b"), 1)
    assert append_tool_call(full, call("c"), 1) is full
    flagged = start_tool_call(None, "x" * 257, 5)
    assert start_tool_call(flagged, "y" * 257, 5) is flagged
    assert append_tool_call(flagged, call("z" * 257), 5) is flagged
    assert append_tool_call(full, call("c"), 1, settled=False) is not full


@pytest.mark.parametrize("text", ["a" * 256, "👍" * 128, ""])
def test_256_utf16_units_fit(text: str) -> None:
    assert not is_oversized(text)
    assert append_tool_call(None, call(text, text), 5) == ToolCallLedger(calls=(call(text, text),))


@pytest.mark.parametrize("text", ["a" * 257, "👍" * 128 + "a", "👍" * 129])
def test_a_longer_name_or_id_is_left_out_and_told(text: str) -> None:
    assert is_oversized(text)
    for oversized in (call(text), call("c1", text)):
        ledger = append_tool_call(None, oversized, 5)
        assert ledger.calls == ()
        assert ledger.incomplete
        assert ledger.reasons == {IncompleteReason.OVERSIZED}
    assert start_tool_call(None, text, 5) == ToolCallLedger(reasons=frozenset({IncompleteReason.OVERSIZED}))


def test_utf16_length_counts_as_the_agents_side_does() -> None:
    assert [utf16_length(text) for text in ("", "é", "👍", "\ud83d", "a👍")] == [0, 1, 2, 1, 3]


def test_an_oversized_name_still_closes_its_call() -> None:
    ledger = append_tool_call(start_tool_call(None, "c1", 5), call("c1", "n" * 257), 5)
    assert ledger.in_flight == ()


def test_a_tool_that_declared_its_work_pending_is_listed_and_told() -> None:
    ledger = append_tool_call(None, call(), 5, settled=False)
    assert ledger.calls == (call(),)
    assert ledger.reasons == {IncompleteReason.UNSETTLED}
    assert ledger.incomplete


def test_a_record_that_began_late_is_incomplete_from_the_start() -> None:
    assert incomplete_tool_calls().incomplete
    assert incomplete_tool_calls().reasons == {IncompleteReason.NOT_OBSERVED}
    assert append_tool_call(incomplete_tool_calls(), call(), 5).incomplete


def test_at_the_check_no_ledger_an_open_call_or_an_unsent_one_is_incomplete() -> None:
    assert ledger_at_check(None, 0) == AnswerToolCallsView((), incomplete=True)
    assert reasons_at_check(None, 2) == {IncompleteReason.NOT_OBSERVED, IncompleteReason.UNDISPATCHED}
    done = append_tool_call(None, call(), 5)
    assert not ledger_at_check(done, 0).incomplete
    assert ledger_at_check(done, 1).incomplete
    assert reasons_at_check(done, 1) == {IncompleteReason.UNDISPATCHED}
    assert ledger_at_check(ToolCallLedger(incomplete=True), 0).incomplete


def test_a_view_is_bounded_and_holds_nothing_of_another_shape() -> None:
    three = ToolCallLedger(calls=(call("a"), call("b"), call("c")))
    assert tool_calls_view(three, 3) == AnswerToolCallsView(three.calls, incomplete=False)
    assert tool_calls_view(three, 2) == AnswerToolCallsView(three.calls[:2], incomplete=True)
    assert tool_calls_view(None, 2) == AnswerToolCallsView((), incomplete=True)
    odd: Any = (call("a"), {"toolName": "x"}, call("n" * 257), call("o", outcome=Outcome.OPEN))
    assert tool_calls_view(AnswerToolCallsView(odd), 9) == AnswerToolCallsView((call("a"),), incomplete=True)
    assert tool_calls_view(start_tool_call(None, "c1", 5), 9).incomplete


def test_a_runs_own_view_is_read_from_its_json() -> None:
    listed = [{"toolName": "search", "toolCallId": "c1", "outcome": "not-run", "args": {"secret": 1}}]
    ours = AnswerToolCallsView((call(outcome=Outcome.NOT_RUN),), incomplete=False)
    assert read_tool_calls_view({"calls": listed, "incomplete": False}, 5) == ours
    assert read_tool_calls_view({"calls": listed, "incomplete": True}, 5).incomplete
    assert read_tool_calls_view({"calls": listed}, 5).incomplete
    for odd in (
        None,
        1,
        [],
        {},
        {"calls": {}},
        {"calls": [{"toolName": "x", "toolCallId": 7, "outcome": "ok"}]},
    ):
        assert read_tool_calls_view(odd, 5) == AnswerToolCallsView((), incomplete=True)


@pytest.mark.parametrize(
    ("bracket", "ran", "outcome"),
    [
        (ToolEndBracket(), True, Outcome.OK),
        (ToolEndBracket(), False, Outcome.NOT_RUN),
        (ToolEndBracket(error=True), True, Outcome.ERROR),
        (ToolEndBracket(error=True), False, Outcome.ERROR),
        (ToolEndBracket(not_executed=True), True, Outcome.NOT_RUN),
        (ToolEndBracket(not_dispatched=True), True, Outcome.NOT_RUN),
        (ToolEndBracket(not_executed=True, error=True), True, Outcome.ERROR),
        (ToolEndBracket(not_dispatched=True, error=True), False, Outcome.ERROR),
        (ToolEndBracket(status=ToolStatus.FAILURE), True, Outcome.ERROR),
        (ToolEndBracket(status=ToolStatus.DENIED), True, Outcome.ERROR),
        (ToolEndBracket(status=ToolStatus.INVALID), True, Outcome.ERROR),
        (ToolEndBracket(status=ToolStatus.DENIED), False, Outcome.NOT_RUN),
        (ToolEndBracket(status=ToolStatus.SUCCESS), False, Outcome.NOT_RUN),
        *(
            (ToolEndBracket(status=ToolStatus(word)), True, Outcome.OK)
            for word in ("success", "partial", "pending")
        ),
        *((ToolEndBracket(status=ToolStatus(word)), True, Outcome.OK) for word in ("absent", "other")),
    ],
)
def test_the_outcome_of_an_end(bracket: ToolEndBracket, ran: bool, outcome: Outcome) -> None:
    assert tool_outcome_of(bracket, ran) is outcome


ids = st.sampled_from(["c1", "c2", "", "x" * (MAX_TOOL_CALL_TEXT + 1)])
steps = st.lists(st.tuples(st.sampled_from(["start", "end"]), ids, st.booleans()))


@given(steps, st.integers(0, 4))
def test_never_more_than_max_and_never_a_lost_call_under_a_complete_sign(
    story: list[tuple[str, str, bool]], most: int
) -> None:
    ledger: ToolCallLedger | None = None
    starts = ends = 0
    for kind, call_id, settled in story:
        if kind == "start":
            starts += 1
            ledger = start_tool_call(ledger, call_id, most)
        else:
            ends += 1
            ledger = append_tool_call(ledger, call(call_id), most, settled)
        assert len(ledger.calls) <= most
        assert len(ledger.in_flight) <= most
        assert ledger.incomplete == bool(ledger.reasons)
    view = ledger_at_check(ledger, 0)
    assert len(tool_calls_view(view, most).calls) <= most
    if not view.incomplete:
        assert len(view.calls) == ends
        assert ends >= starts
