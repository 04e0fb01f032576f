"""The benches measure what they say they do: W and the raw stream are what the figures' names promise."""

import json

import pytest

from bench.raw_stream import raw_lines
from bench.workload import EVENTS_A_RUN, run_lines, stream, workload
from runs.rules.kept import Dropped, Kept, keep


def kinds(lines: list[bytes]) -> list[str]:
    return [json.loads(line)["type"].removeprefix("agentfootprint.") for line in lines]


def test_a_run_of_w_is_one_turn_with_three_model_calls_and_six_tool_calls_all_of_it_kept() -> None:
    for number in range(100):
        lines = run_lines(number)
        assert len(lines) == EVENTS_A_RUN == 34
        assert all(isinstance(keep(line), Kept) for line in lines)
        told = kinds(lines)
        assert told[:2] == ["agent.run_configured", "agent.turn_start"]
        assert told[-2:] == ["agent.turn_end", "integrity.disposition"]
        for kind in ("agent.iteration_start", "stream.llm_start", "stream.llm_end", "agent.iteration_end"):
            assert told.count(kind) == 3
        assert told.count("footprint.tool_choice.row") == 6
        assert told.count("stream.tool_start") == told.count("stream.tool_end") == 6


def test_no_two_runs_and_no_two_repeats_share_an_id() -> None:
    def ids(number: int, seed: int) -> set[str]:
        events = [json.loads(line) for line in run_lines(number, seed)]
        calls = {event["payload"].get("toolCallId") for event in events} - {None}
        return {events[0]["meta"]["runId"], events[0]["meta"]["sessionId"]} | calls

    seen: set[str] = set()
    for number, seed in [(0, 0), (97, 0), (194, 0), (0, 1), (97, 1)]:  # the same pattern
        mine = ids(number, seed)
        assert len(mine) == 8
        assert not mine & seen
        seen |= mine


@pytest.mark.parametrize("at_once", [1, 4])
def test_senders_number_their_events_without_a_hole_and_say_each_run_in_its_order(at_once: int) -> None:
    streams = workload(24, senders=4, at_once=at_once)
    assert [one.last for one in streams] == [6 * EVENTS_A_RUN] * 4
    for number, one in enumerate(streams):
        expected = 1
        heard: dict[str, list[bytes]] = {}
        for frame in one.frames:
            head, *lines = frame.text.split("\n")
            assert json.loads(head) == {"type": "events", "first": expected}
            assert (frame.first, frame.last) == (expected, expected + len(lines) - 1)
            assert len(lines) <= 100
            expected = frame.last + 1
            for line in lines:
                heard.setdefault(json.loads(line)["meta"]["runId"], []).append(line.encode())
        assert expected == one.last + 1
        assert list(heard.values()) == [run_lines(number + 4 * turn) for turn in range(6)]


def test_nothing_to_say_is_a_stream_without_frames() -> None:
    assert stream("empty", iter(())).last == 0


# From recorded runs of the framework: (tool calls, events, events that are no context).
@pytest.mark.parametrize(("calls", "events", "kept"), [(10, 255, 68), (50, 3_215, 308)])
def test_the_raw_stream_grows_as_recorded_ones_do(calls: int, events: int, kept: int) -> None:
    verdicts = [keep(line) for line in raw_lines(calls)]
    assert len(verdicts) == events
    assert sum(isinstance(verdict, Kept) for verdict in verdicts) == kept
    assert all(
        isinstance(verdict, Kept) or (isinstance(verdict, Dropped) and verdict.known) for verdict in verdicts
    )
