"""Faults that comparable software had, told to the fold: after each, the record is right or says what it lacks."""

from typing import Any

import pytest

from runs.rules.kept import Dropped, Kept, Refused, keep_object
from tests.record.memory import MemoryRecord
from tests.record.test_fold_properties import check

Event = Kept | Dropped | Refused


def say(kind: str, run: str = "run-1", path: str = "", **payload: Any) -> Event:
    stage = f"{path}/stage#1" if path else "stage#1"
    clock = payload.pop("clock", 1_800_000_000_000)
    meta = {"runId": run, "runtimeStageId": stage, "wallClockMs": clock}
    return keep_object({"type": f"agentfootprint.{kind}", "payload": payload, "meta": meta})


def begins(asked: int, run: str = "run-1") -> list[Event]:
    return [
        say("agent.turn_start", run, userPrompt="Where is my order?"),
        say("agent.iteration_start", run, iterIndex=1),
        say("stream.llm_start", run, iteration=1, messagesCount=1),
        say("stream.llm_end", run, iteration=1, toolCallCount=asked),
    ]


def answers(run: str = "run-1") -> list[Event]:
    return [
        say("agent.turn_end", run, finalContent="On its way.", iterationCount=1),
        say("integrity.disposition", run),
    ]


def start(call_id: Any, tool: Any = "look_up", run: str = "run-1", **more: Any) -> Event:
    return say("stream.tool_start", run, toolName=tool, toolCallId=call_id, **more)


def end(call_id: Any, run: str = "run-1", **more: Any) -> Event:
    return say("stream.tool_end", run, toolCallId=call_id, **more)


def told(record: MemoryRecord) -> dict[str, Any]:
    check(record)
    (answer,) = record.told()
    return answer


# -- an end before its start ----------------------------------------------------------------------


def test_an_end_before_its_start_becomes_one_row_with_the_ends_outcome() -> None:
    record = MemoryRecord().send([*begins(1), end("c1", error=True)])
    half = told(record)
    assert half["calls"] == [[None, "c1", "error"]]
    assert "unmatched" in half["incomplete"]
    whole = told(record.send([start("c1"), *answers()]))
    assert whole["calls"] == [["look_up", "c1", "error"]]
    assert not whole["complete"]


def test_an_answers_end_before_anything_else_is_an_answer_that_began_unseen() -> None:
    answer = told(MemoryRecord().send(answers()))
    assert (answer["ending"], answer["answer"], answer["complete"]) == ("answered", "On its way.", False)
    assert "not-observed" in answer["incomplete"]


# -- a call without an end -------------------------------------------------------------------------


def test_an_answer_that_ends_before_its_call_says_still_open() -> None:
    answer = told(MemoryRecord().send([*begins(1), start("c1"), *answers()]))
    assert answer["calls"] == [["look_up", "c1", "open"]]
    assert answer["incomplete"] == ["still-open"]


def test_a_sender_that_dies_leaves_a_running_answer_with_an_open_call() -> None:
    answer = told(MemoryRecord().send([*begins(1), start("c1")]))
    assert (answer["ending"], answer["incomplete"]) == ("running", ["not-ended", "still-open"])


# -- ids are labels ---------------------------------------------------------------------------------


def test_one_id_in_two_answers_and_two_runs_at_once() -> None:
    record = MemoryRecord().send(
        [
            *(*begins(1, "run-1"), *begins(1, "run-2"), start("c1", "a", "run-1"), start("c1", "b", "run-2")),
            *(end("c1", "run-2", error=True), end("c1", "run-1"), *answers("run-1"), *answers("run-2")),
            *(*begins(1, "run-3"), start("c1", "c", "run-3"), end("c1", "run-3"), *answers("run-3")),
        ]
    )
    check(record)
    assert [(a["run"], a["calls"], a["complete"]) for a in record.told()] == [
        ("run-1", [["a", "c1", "ok"]], True),
        ("run-2", [["b", "c1", "error"]], True),
        ("run-3", [["c", "c1", "ok"]], True),
    ]


@pytest.mark.parametrize("call_id", ["", "same", "x" * 256])
def test_an_id_that_comes_twice_is_two_calls(call_id: str) -> None:
    events = [start(call_id), end(call_id), start(call_id), end(call_id, error=True)]
    answer = told(MemoryRecord().send([*begins(2), *events, *answers()]))
    assert [call[1:] for call in answer["calls"]] == [[call_id, "ok"], [call_id, "error"]]
    assert answer["complete"]


@pytest.mark.parametrize("call_id", [None, 7, ["c1"]])
def test_an_id_that_is_none_is_a_refused_event_and_the_answer_says_so(call_id: Any) -> None:
    answer = told(MemoryRecord().send([*begins(2), *[start(call_id), end(call_id)] * 2, *answers()]))
    assert answer["calls"] == []
    assert "refused-event" in answer["incomplete"]


def test_an_oversize_id_is_left_out_and_the_answer_says_so() -> None:
    call_id = "x" * 257
    answer = told(MemoryRecord().send([*begins(2), *[start(call_id), end(call_id)] * 2, *answers()]))
    assert answer["calls"] == []
    assert answer["incomplete"] == ["oversized"]


# -- three calls of one tool at once ------------------------------------------------------------------


def test_three_parallel_calls_end_third_first_second() -> None:
    events = [start("c1"), start("c2"), start("c3"), end("c3"), end("c1"), end("c2", error=True)]
    answer = told(MemoryRecord().send([*begins(3), *events, *answers()]))
    assert [call[1:] for call in answer["calls"]] == [["c1", "ok"], ["c2", "error"], ["c3", "ok"]]
    assert answer["complete"]


def test_three_parallel_calls_whose_id_is_the_tools_name() -> None:
    events = [*[start("look_up")] * 3, end("look_up"), end("look_up", error=True), end("look_up")]
    answer = told(MemoryRecord().send([*begins(3), *events, *answers()]))
    assert sorted(call[2] for call in answer["calls"]) == ["error", "ok", "ok"]
    assert answer["complete"]


# -- after the end -----------------------------------------------------------------------------------


def test_what_comes_after_the_end_changes_no_ending_and_no_counter() -> None:
    record = MemoryRecord().send([*begins(1), start("c1"), end("c1"), *answers()])
    before = told(record)
    late = [
        say("error.fatal", stage="__root__"),
        end("c1"),
        start("c9"),
        say("agent.turn_end", finalContent="Or not."),
    ]
    after = told(record.send(late))
    assert after["calls"] == before["calls"]
    assert (after["ending"], after["answer"]) == ("answered", "On its way.")
    assert (after["complete"], after["incomplete"]) == (
        True,
        [],
    )  # what was reached stays; the run says what was late
    assert record.book.memories[1].unmatched == 2  # a start and an end that fit no open turn
    (run,) = record.book.runs.values()
    assert (run.late, run.calls, run.ending) == (4, 1, "answered")


def test_a_new_turn_in_a_finished_run_is_an_answer_marked_late() -> None:
    record = MemoryRecord().send([*begins(0), *answers(), *begins(0), *answers()])
    check(record)
    first, second = record.answers
    assert (first.complete, first.late) == (True, False)
    assert (second.ordinal, second.late, second.reasons) == (1, True, "unmatched")


# -- failures told as data ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "outcome", "incomplete"),
    [
        ({"notExecuted": True}, "not-run", []),
        ({"notDispatched": {"pausedCall": {}}}, "not-run", []),
        ({"notExecuted": True, "error": True}, "error", []),
        ({"notDispatched": {}, "error": True}, "error", []),
        ({"status": "failure"}, "error", []),
        ({"status": "denied"}, "error", []),
        ({"status": "invalid"}, "error", []),
        ({"status": "pending"}, "ok", ["unsettled"]),
        ({"status": "a word of the tool's own"}, "ok", []),
        ({"result": {"success": 0, "error": "the call was not executed"}}, "ok", []),
    ],
)
def test_the_outcome_is_what_the_end_says_by_its_own_words(
    said: dict[str, Any], outcome: str, incomplete: list[str]
) -> None:
    answer = told(MemoryRecord().send([*begins(1), start("c1"), end("c1", **said), *answers()]))
    assert answer["calls"] == [["look_up", "c1", outcome]]
    assert answer["incomplete"] == incomplete


# -- clocks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "clock", [1_700_000_000_000, 1_800_000_000, 10**18, -5, 0, None, "today", 1.5, 253_402_300_800_000]
)
def test_no_clock_and_no_duration_decides_anything(clock: Any) -> None:
    absurd = end("c1", clock=clock, durationMs=clock if clock != 1_700_000_000_000 else -1)
    record = MemoryRecord().send([*begins(1), start("c1"), absurd, *answers()])
    answer = told(record)
    assert (answer["complete"], answer["calls"]) == (True, [["look_up", "c1", "ok"]])
    (call,) = next(iter(record.book.calls_of_answer.values()))
    assert call.duration_ms is None or 0 <= call.duration_ms < 10 * 365 * 24 * 3600 * 1000


# -- what a lost word would have hidden ------------------------------------------------------------------


def test_a_request_not_seen_is_not_hidden_by_calls_that_were_never_sent() -> None:
    """The first reply's end is lost; the second asks for two and a pause lets one go: the sums would agree."""
    events = [
        *(
            say("agent.turn_start"),
            say("agent.iteration_start", iterIndex=1),
            say("stream.llm_start", iteration=1),
        ),
        *(start("c1"), end("c1"), say("agent.iteration_end", iterIndex=1, toolCallCount=1)),
        *(say("agent.iteration_start", iterIndex=2), say("stream.llm_start", iteration=2)),
        *(say("stream.llm_end", iteration=2, toolCallCount=2), start("c2"), end("c2")),
        say("agent.turn_end", iterationCount=2),
    ]
    assert told(MemoryRecord().send(events))["incomplete"] == ["unmatched"]


def test_a_loop_whose_next_start_is_lost_has_a_next_turn_all_the_same() -> None:
    def turn(text: str) -> list[Event]:
        return [
            say("agent.iteration_start", path="body", iterIndex=1),
            say("stream.llm_start", path="body", iteration=1),
            say("stream.llm_end", path="body", iteration=1, toolCallCount=0),
            say("agent.turn_end", path="body", iterationCount=1, finalContent=text),
        ]

    begun = say("agent.turn_start", path="body")
    record = MemoryRecord().send([begun, *turn("one"), *turn("two"), begun, *turn("three")])
    check(record)
    assert [(a["ordinal"], a["answer"], a["incomplete"]) for a in record.told()] == [
        (0, "one", []),
        (1, "two", ["not-observed"]),
        (2, "three", []),
    ]


def test_the_end_of_another_turn_does_not_end_a_turn_that_has_not_begun_to_think() -> None:
    events = [
        *begins(0),
        say("agent.turn_start"),
        say("agent.turn_end", iterationCount=1, finalContent="one"),
    ]
    record = MemoryRecord().send(events)
    assert [a["complete"] for a in record.told()] == [False, False]
