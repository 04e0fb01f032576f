"""The loop around an agent's own model call: what it is served, which rows are told, what a bad classifier costs."""

import asyncio
import json
from typing import Any

import pytest

from runs.classifiers.called import Called
from runs.classifiers.lexical import Lexical
from runs.rules.kept import Kept, keep_object
from runs.sender.run import Run
from runs.sender.tool_choice import ToolChoice
from tests.record.memory import MemoryRecord

TOOLS = [
    {"name": "lookup_order", "description": "Looks up an order."},
    {"name": "track_parcel", "description": "Where a parcel is."},
    {"name": "issue_refund", "description": "Pays money back."},
    {"name": "present", "description": "Shows something."},
]
NAMES = [tool["name"] for tool in TOOLS]


class Agent:
    """A run whose events are kept in a list."""

    def __init__(self, classifier: Any = None, **more: Any) -> None:
        self.events: list[Any] = []
        self.run = Run(self._hear, run_id="run-1", agent_id="desk")
        self.choice = ToolChoice(self.run, classifier or Lexical(), **more)

    def _hear(self, event: object) -> None:
        self.events.append(json.loads(json.dumps(event)))

    async def call(self, message: str, *called: str, **more: Any) -> Any:
        step = await self.choice.before(message, TOOLS, **more)
        assert self.run.llm_start(step.tools) == step.iteration
        step.after(called)
        self.run.llm_end(len(called))
        return step

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [event["payload"] for event in self.events if event["type"] == "footprint.tool_choice.row"]


async def test_a_call_is_narrowed_told_and_kept() -> None:
    agent = Agent(top=1)
    agent.run.turn_start("Where is my parcel?")
    step = await agent.call("Where is my parcel?", "track_parcel")
    assert [tool["name"] for tool in step.tools] == list(step.served) == ["track_parcel", "present"]
    pick, outcome = agent.rows
    assert (pick["kind"], pick["narrowed"], pick["top"], pick["wire"]) == ("pick", True, 1, NAMES)
    assert "present" in pick["doors"] and "present" not in pick["offered"]
    assert outcome == {"kind": "outcome", "iteration": 1, "called": ["track_parcel"], "firstAgrees": True}
    kept = [keep_object(event) for event in agent.events]
    assert all(isinstance(one, Kept) for one in kept)
    ((call,),) = MemoryRecord().send(kept).book.choice_calls.values()
    assert (call.agrees, call.narrowed, bool(call.shape)) == (True, True, True)


async def test_everything_is_served_unless_told_to_narrow() -> None:
    agent = Agent()
    step = await agent.call("Where is my parcel?", "track_parcel")
    assert list(step.served) == NAMES
    assert agent.rows[0]["narrowed"] is False and "narrowedSkipped" not in agent.rows[0]


async def test_after_a_miss_everything_is_served_once() -> None:
    agent = Agent(top=1)
    agent.run.turn_start("?")
    first = await agent.call("Where is my parcel?", "issue_refund")
    second = await agent.call("Where is my parcel?", "issue_refund")
    third = await agent.call("Where is my parcel?", "track_parcel")
    assert first.outcome.miss.wanted == ("issue_refund",)
    assert (list(second.served), second.narrowing.narrowed_skipped) == (NAMES, "after-miss")
    assert third.narrowing.narrowed


async def test_a_miss_of_another_turn_is_not_this_ones() -> None:
    agent = Agent(top=1)
    for _ in range(2):
        agent.run.turn_start("?")
        await agent.call("Where is my parcel?", "issue_refund")
    agent.run.turn_start("?")
    await agent.call("Where is my parcel?", "track_parcel")
    assert (await agent.call("Where is my parcel?")).narrowing.narrowed


async def test_an_apps_own_doors_are_never_ranked_and_always_served() -> None:
    agent = Agent(top=1, always_serve=["issue_refund"])
    step = await agent.call("Where is my parcel?")
    assert list(step.served) == ["track_parcel", "issue_refund", "present"]
    assert agent.rows[0]["offered"] == ["lookup_order", "track_parcel"]


@pytest.mark.parametrize("why", ["wrap_up", "tools_off"])
async def test_a_run_that_is_told_to_finish_is_not_narrowed(why: str) -> None:
    agent = Agent(top=1)
    step = await agent.call("Where is my parcel?", **{why: True})
    assert step.narrowing.narrowed_skipped == "wrap-up"


async def down(message: str, tools: object) -> dict[str, float]:
    raise ConnectionError("down")


async def test_a_classifier_that_fails_costs_the_agent_nothing() -> None:
    agent = Agent(Called("mine", down), top=1)
    step = await agent.call("Where is my parcel?", "track_parcel")
    assert list(step.served) == NAMES
    error, outcome = agent.rows
    assert (error["kind"], error["message"], error["narrowedSkipped"]) == (
        "pick-error",
        "down",
        "unavailable",
    )
    assert outcome == {"kind": "outcome", "iteration": 1, "called": ["track_parcel"]}


async def test_a_cancelled_agent_is_cancelled() -> None:
    async def slow(message: str, tools: object) -> dict[str, float]:
        await asyncio.sleep(60)
        return {}

    agent = Agent(Called("mine", slow), top=1)
    asking = asyncio.create_task(agent.choice.before("?", TOOLS))
    await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert agent.rows == []


async def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Agent(top=0)
    step = await Agent().call("?")
    with pytest.raises(ValueError, match="already"):
        step.after([])
