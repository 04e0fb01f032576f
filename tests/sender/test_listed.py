"""Only listed fields leave the agent's process, whatever the agent hands over."""

import json

import pytest

from runs.rules import kept
from runs.sender.listed import Line, line_of, line_of_text

META = {
    "runId": "r1",
    "wallClockMs": 1_796_068_520_463,
    "runtimeStageId": "tool-calls#1",
    "compositionPath": ["A"],
}


def event(name="stream.tool_end", **payload):
    return {"type": f"agentfootprint.{name}", "payload": payload, "meta": META}


def sent(value) -> dict:
    line = line_of(value)
    assert line is not None
    assert line.refusal is None
    assert line.data is not None
    return json.loads(line.data)


def test_an_event_travels_with_its_listed_fields():
    raw = event(toolCallId="c1", durationMs=5, result={"secret": 1}, args="secret", unknown=1)
    raw["meta"] = {**META, "subflowPath": ["secret"]}
    raw["extra"] = "secret"
    assert sent(raw) == event(toolCallId="c1", durationMs=5)


@pytest.mark.parametrize("name", ["stream.token", "context.injected", "nobody.knows"])
def test_what_the_list_does_not_name_is_not_sent(name):
    assert line_of(event(name, content="secret")) is None


class Hostile:
    __name__ = "hostile"  # pytest asks

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __repr__(self):
        raise RuntimeError

    __str__ = __repr__


def test_what_is_not_listed_is_never_touched():
    round_and_round: list = []
    round_and_round.append(round_and_round)
    doubling: list = []
    for _ in range(100):
        doubling = [doubling, doubling]
    raw = event(
        toolCallId="c1",
        result=round_and_round,
        args=doubling,
        history=Hostile(),
        blob=b"\x00" * 10,
        big=10**400,
    )
    assert sent(raw) == event(toolCallId="c1")


@pytest.mark.parametrize(
    "value", [b"bytes", Hostile(), {1, 2}, object(), [[]], {"a": 1}, 10**400, float("nan"), lambda: None]
)
def test_odd_values_in_listed_fields_are_refused_or_not_recorded(value):
    loop: list = [value]
    loop.append(loop)
    for raw in (
        event(toolCallId=value),
        event(toolCallId=loop),
        event("stream.llm_start", tools=[value, loop, {"name": value}]),
        event("stream.llm_start", tools=value),
        event("agent.turn_start", userPrompt=value),
        event("agent.turn_end", stoppedEarly=value, durationMs=value),
        {"type": "agentfootprint.stream.tool_end", "payload": value, "meta": value},
        {
            "type": "footprint.delegation.declared",
            "payload": {"toolName": "t", "hasFactory": 1, "extraToolNames": loop},
        },
        {"type": "footprint.tools.declared", "payload": {"tools": [{"name": "t", "displayName": loop}]}},
    ):
        line = line_of(raw)
        assert isinstance(line, Line)
        assert line.data is not None
        assert b"bytes" not in line.data
        assert b"\n" not in line.data
        assert not isinstance(kept.keep(line.data), kept.Dropped), (
            "the server reads a place in the same event"
        )


@pytest.mark.parametrize("raw", [None, 7, "text", [], {}, {"type": 7}, b"bytes", Hostile()])
def test_what_is_no_event_uses_up_a_number(raw):
    line = line_of(raw)
    assert line is not None
    assert line.data is None
    assert line.refusal


def test_a_refused_event_is_refused_by_the_server_too():
    line = line_of(event("stream.tool_start", toolName="t", toolCallId=["secret"]))
    assert line is not None
    assert line.refusal == "payload.toolCallId: expected string, got list"
    assert line.data is not None
    assert b"secret" not in line.data
    assert isinstance(kept.keep(line.data), kept.Refused)


def test_the_server_sees_that_a_name_was_too_long_or_a_text_cut():
    long_name = line_of(event("stream.tool_start", toolName="n" * 100_000, toolCallId="c"))
    assert long_name is not None
    assert long_name.data is not None
    read = kept.keep(long_name.data)
    assert isinstance(read, kept.Kept)
    assert read.oversized == ("tool_name",)
    assert len(long_name.data) < 50_000

    long_text = line_of(event("agent.turn_end", finalContent="é" * 100_000))
    assert long_text is not None
    assert long_text.data is not None
    read = kept.keep(long_text.data)
    assert isinstance(read, kept.Kept)
    assert [said.cut for said in read.texts] == [True]


def test_half_characters_and_newlines_are_no_obstacle():
    line = line_of(event("agent.turn_end", finalContent="a\ud83d\n\u2028b\x00" + "x" * 40_000))
    assert line is not None
    assert line.data is not None
    assert b"\n" not in line.data
    line.data.decode("ascii")
    assert sent(event("agent.turn_end", finalContent="a\ud83d\nb"))["payload"]["finalContent"] == "a\ufffd\nb"


def test_a_recorded_line_is_read_by_the_same_list():
    raw = event(toolCallId="c1", result="secret")
    assert line_of_text(json.dumps(raw)) == line_of(raw)
    assert line_of_text(b'{"type":"agentfootprint.stream.token"}') is None
    for junk in (b"", b"no json", b"[1]", b"\xff", b"[" * 100_000):
        line = line_of_text(junk)
        assert line is not None
        assert line.data is None
    refused = line_of_text(json.dumps(event(toolCallId=5, result="secret")))
    assert refused is not None
    assert refused.data is not None
    assert b"secret" not in refused.data
    odd = line_of_text(
        '{"type":"agentfootprint.agent.turn_end","payload":{"finalContent":"\\ud83d","durationMs":NaN}}'
    )
    assert odd is not None
    assert odd.refusal is None


def test_every_listed_event_goes_through_unchanged():
    names = list(kept.table()["events"])
    assert len(names) > 40
    for name in names:
        line = line_of({"type": name, "payload": {}, "meta": META})
        assert line is not None
        verdict = kept.keep(json.dumps({"type": name, "payload": {}, "meta": META}))
        assert isinstance(verdict, kept.Refused) == (line.refusal is not None)
