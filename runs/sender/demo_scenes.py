"""The kinds of turns the demo plays: what can go well with an agent, and what can go wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from runs.sender.demo_desk import Desk, Outcome, Step
from runs.sender.demo_shop import (
    ASK,
    BAD_PRODUCTS,
    DELEGATE,
    GOOD_PRODUCTS,
    REFUND,
    SMALL_TALK,
    SPECIALIST_POOL,
    SPECIALIST_ROSTER,
    Topic,
)

Scene = Callable[[Desk, Topic, str], Awaitable[None]]


def tools_of(desk: Desk, topic: Topic) -> list[str]:
    """The topic's tools that this agent has; any of its own where it has none of them."""
    own = [name for name in topic.tools if name in desk.agent.tools]
    return own or [name for name in desk.agent.tools if name not in (ASK, DELEGATE, "present")]


async def plain(desk: Desk, topic: Topic, question: str) -> None:
    asked, answer = desk.chance.choice(SMALL_TALK)
    desk.run.turn_start(asked.format_map(desk.facts))
    await desk.answer(answer.format_map(desk.facts))


async def looked_up(desk: Desk, topic: Topic, question: str) -> None:
    """One to six calls, one after the other or some at once, mostly well; now and then the same tool twice."""
    desk.run.turn_start(question)
    tools = tools_of(desk, topic)
    count = desk.chance.choice((1, 1, 2, 2, 3, 4, 6))
    steps = [Step(tools[place % len(tools)], _mostly_ok(desk)) for place in range(count)]
    batches: list[list[Step]] = []
    while steps:
        width = desk.chance.choice((1, 1, 1, 2, 3))
        batches.append(steps[:width])
        steps = steps[width:]
    await desk.work(batches)
    if desk.chance.random() < 0.25:
        await desk.work([[Step("present")]])
    await desk.answer(desk.facts.say(desk.chance, topic.answers))


async def tool_fails(desk: Desk, topic: Topic, question: str) -> None:
    """A tool fails, is tried again, and may fail for good."""
    desk.run.turn_start(question)
    tool = desk.chance.choice(tools_of(desk, topic))
    kind: Outcome = desk.chance.choice(BAD)
    await desk.work([[Step(tool, kind)], [Step(tool, desk.chance.choice((USUAL[0], kind)))]])
    answer = "One of our systems did not answer, {name}. This is what I know: " + desk.chance.choice(
        topic.answers
    )
    await desk.answer(answer.format_map(desk.facts))


async def not_allowed(desk: Desk, topic: Topic, question: str) -> None:
    desk.run.turn_start(question)
    tool = REFUND if REFUND in desk.agent.tools else tools_of(desk, topic)[-1]
    await desk.work([[Step(tools_of(desk, topic)[0])], [Step(tool, "refused")]])
    answer = "I may not do that myself for {order}; a colleague will look at it on {day}."
    await desk.answer(answer.format_map(desk.facts))


async def person_is_asked(desk: Desk, topic: Topic, question: str) -> None:
    """The turn waits for a person, and goes on as another run: approved, declined or answered."""
    chance = desk.chance
    tool = REFUND if REFUND in desk.agent.tools else tools_of(desk, topic)[0]
    asks = ASK in desk.agent.tools and chance.random() < 0.5
    waiting = ASK if asks else tool
    desk.run.turn_start(question)
    await desk.work([[Step(tools_of(desk, topic)[0])]])
    await desk.model([waiting])
    call_id = desk.run.tool_start(waiting, desk.call_id())
    desk.run.pause(call_id, "ask" if asks else "checkIn")
    if chance.random() < 0.2:
        return  # nobody answered; the question stays open
    paused = chance.uniform(4, 20)
    await desk.wait(paused, paused)
    approved = None if asks else chance.random() < 0.7
    run_id = f"run-{chance.getrandbits(48):012x}"
    desk.run = desk.run.resume(call_id, paused_ms=round(paused * 1000), approved=approved, run_id=run_id)
    if approved is False:
        desk.run.tool_end(call_id, not_executed=True)
        await desk.answer(
            "Nothing was paid back for {order}: a colleague decided against it.".format_map(desk.facts)
        )
        return
    await desk.wait(0.2, 1)
    desk.run.tool_end(call_id)
    await desk.answer(desk.facts.say(chance, topic.answers))


async def specialist(desk: Desk, topic: Topic, question: str) -> None:
    """A delegation: a child agent with injected tools, now and then one that the roster does not cover."""
    if DELEGATE not in desk.agent.tools:
        await looked_up(desk, topic, question)
        return
    chance, run = desk.chance, desk.run
    run.delegation_declared(DELEGATE, static_pool=SPECIALIST_POOL, extra_tool_names=SPECIALIST_ROSTER)
    run.turn_start(question)
    await desk.work([[Step(tools_of(desk, topic)[0])]])
    await desk.model([DELEGATE])
    call_id = run.tool_start(DELEGATE, desk.call_id())
    if chance.random() < 0.1:
        run.delegation_refused(DELEGATE, "config.extra_tool_names", "undeclared_name", call_id=call_id)
        run.tool_end(call_id, error=True)
        await desk.answer(
            "The specialist is not available, {name}; I will write to you on {day}.".format_map(desk.facts)
        )
        return
    products = chance.sample(GOOD_PRODUCTS, chance.randrange(1, len(GOOD_PRODUCTS) + 1))
    if chance.random() < 0.2:
        products.append(chance.choice(BAD_PRODUCTS))
    run.delegation_spawned(
        DELEGATE, products, call_id=call_id, child_run_id=f"run-{chance.getrandbits(48):012x}"
    )
    await desk.wait(2, 8)
    run.tool_end(call_id)
    await desk.answer(desk.facts.say(chance, topic.answers))


async def stopped_early(desk: Desk, topic: Topic, question: str) -> None:
    """The budget ends the turn: cut short with calls that never went out, or told to wrap up first."""
    tools = tools_of(desk, topic)
    run = desk.run
    run.turn_start(question)
    await desk.work([[Step(tools[place % len(tools)])] for place in range(desk.chance.randrange(2, 5))])
    pending = [tools[0], tools[-1]][: desk.chance.randrange(1, 3)]
    await desk.model(pending)
    wraps_up = desk.chance.random() < 0.5
    reason = desk.chance.choice(("max-iterations", "cost-budget"))
    run.budget_exhausted(reason, action="wrapped-up" if wraps_up else "cut-short", pending=len(pending))
    early = {"reason": reason, "iteration": run.iteration, "pendingToolCalls": len(pending)}
    if wraps_up:
        await desk.model([], wrap_up=True)
        early["wrappedUp"] = True
    text = "I could not check everything in time, {name}. So far: {order} is with {carrier}."
    run.turn_end(text.format_map(desk.facts), stopped_early=early)
    run.finish()


async def crashed(desk: Desk, topic: Topic, question: str) -> None:
    """The run dies: with an error, or without a word in the middle of a call."""
    desk.run.turn_start(question)
    tools = tools_of(desk, topic)
    await desk.work([[Step(tools[0])]])
    if desk.chance.random() < 0.3:
        await desk.model([tools[-1]])
        desk.run.tool_start(tools[-1], desk.call_id())
        return
    desk.run.llm_start(desk.agent.tools)
    await desk.wait(1, 3)
    desk.run.fail()


async def pipeline(desk: Desk, topic: Topic, question: str) -> None:
    """Two agents in a row: the first one's answer is the second one's question."""
    chance, whole, name = desk.chance, desk.run, "reply-pipeline"
    whole.composition("Sequence", name, 2)
    found = f"Order {desk.facts['order']}: with {desk.facts['carrier']}, due on {desk.facts['day']}."
    said = ((question, found), (found, desk.facts.say(chance, topic.answers)))
    for step, (asked, answer) in zip(("step-research", "step-write"), said, strict=True):
        part = desk.inside(whole.part(step, provider=whole.provider, model=desk.agent.model))
        part.run.turn_start(asked)
        await part.work([[Step(chance.choice(tools_of(desk, topic)), _mostly_ok(desk))]])
        await part.answer(answer, ends_run=False)
    whole.composition_end("Sequence", name)


def _mostly_ok(desk: Desk) -> Outcome:
    return desk.chance.choices(USUAL, (90, 6, 4))[0]


USUAL: Final[tuple[Outcome, ...]] = ("ok", "error", "failure")
BAD: Final[tuple[Outcome, ...]] = ("error", "failure", "invalid")

# How often each is played, out of a hundred; a pipeline is opened in its own way.
SCENES: Final[tuple[tuple[Scene, int], ...]] = (
    (plain, 10),
    (looked_up, 40),
    (tool_fails, 10),
    (not_allowed, 8),
    (person_is_asked, 10),
    (specialist, 12),
    (stopped_early, 6),
    (crashed, 4),
)
