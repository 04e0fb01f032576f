"""Tool-choice rows are read from the agent's state, each once, and arrive before their turn's last word."""

from itertools import pairwise
from typing import Any

import pytest

from tests.js.node import start_node
from tests.js.scripted_server import scripted_server
from tests.js.test_sending import in_order

pytestmark = pytest.mark.node

ROW = "footprint.tool_choice.row"


async def events_with(**task: Any) -> list[dict[str, Any]]:
    async with scripted_server() as server:
        await start_node("tool_choice.mjs", url=server.url, **task)
    assert "CANARY" not in "".join(server.frames)
    return in_order(server.stream.events)


def rows_of(events: list[dict[str, Any]], run: str) -> list[tuple[str, int]]:
    rows = [event for event in events if event["type"] == ROW and event["meta"]["runId"] == run]
    return [(row["payload"]["kind"], row["payload"]["iteration"]) for row in rows]


ALL_ROWS = [("pick", 1), ("outcome", 1), ("pick", 2), ("outcome", 2)]


@pytest.mark.parametrize("where", ["option", "sharedState", "getState", "getSnapshot"])
async def test_every_row_once_in_its_run_and_before_the_end_of_its_turn(where: str):
    events = await events_with(where=where)
    assert rows_of(events, "run-1") == rows_of(events, "run-2") == ALL_ROWS
    for run in ("run-1", "run-2"):
        types = [event["type"] for event in events if event["meta"].get("runId") == run]
        end = types.index("agentfootprint.agent.turn_end")
        assert ROW not in types[end:]
    first = next(event for event in events if event["type"] == ROW)
    assert first["meta"]["runtimeStageId"] == "tools#1"
    assert first["meta"]["compositionPath"] == ["Agent:a"]
    assert first["payload"]["top"] == 2
    assert first["payload"]["doors"] == ["read_skill", "list_skills", "skip_step", "present", "help"]
    assert first["payload"]["served"] == ["look", "read", "help"]


@pytest.mark.parametrize("where", ["option", "sharedState", "getState"])
async def test_rows_without_events_of_their_own_are_told_from_earlier_ones(where: str):
    events = await events_with(where=where, events=False)
    assert rows_of(events, "run-1") == rows_of(events, "run-2") == ALL_ROWS
    for one, other in pairwise(events):
        if other["type"] == "agentfootprint.agent.turn_end":
            assert one["meta"]["runId"] == other["meta"]["runId"]


async def test_a_state_of_an_earlier_run_is_not_taken_for_this_ones():
    events = await events_with(where="getSnapshot", stale=True)
    assert rows_of(events, "run-1") == ALL_ROWS
    assert rows_of(events, "run-2") == []


async def test_a_state_that_cannot_be_read_costs_only_the_rows():
    events = await events_with(where="broken")
    assert [event for event in events if event["type"] == ROW] == []
    assert [event["type"] for event in events].count("agentfootprint.agent.turn_end") == 2


async def test_what_the_app_declares_and_the_host_decides_goes_out():
    events = await events_with(where="option")
    assert events[0] == {
        "type": "footprint.tools.declared",
        "payload": {"tools": [{"name": "look", "displayName": "Looked"}]},
        "meta": {},
    }
    declared, spawned, refused, checked = events[-4:]
    assert declared["payload"] == {
        "toolName": "delegate",
        "hasFactory": True,
        "extraToolNames": [{"name": "extra"}],
    }
    assert spawned["payload"] == {"toolName": "delegate", "toolCallId": "c1", "products": [{"name": "extra"}]}
    assert refused["payload"]["reason"] == "undeclared_name"
    assert checked["payload"] == {
        "toolCalls": {"calls": [{"toolName": "look", "toolCallId": "c1", "outcome": "ok"}]}
    }
    assert {event["meta"]["runId"] for event in (spawned, refused, checked)} == {"run-2"}
