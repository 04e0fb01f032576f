"""One agent at the demo's desk: it thinks, is served tools, calls them, and says so step by step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

from runs.rules.tool_choice import (
    ClassifierId,
    Narrowing,
    Pick,
    PickErrorRow,
    PickFailed,
    PickRow,
    TokenUsage,
    ToolChoiceRow,
    ToolChoiceScore,
    always_served_names,
    narrow_served,
    outcome_row_for,
    pick_error_row,
    pick_row,
)
from runs.sender.demo_shop import CATALOG, Agent, Facts
from runs.sender.run import Run

CLASSIFIER: Final = ClassifierId("northwind-router", "router-2")
DOORS: Final = always_served_names()

Outcome = Literal["ok", "error", "failure", "denied", "invalid", "refused"]


@dataclass(frozen=True)
class Step:
    """One tool call and how it ends; `refused`: a policy does not let it run."""

    tool: str
    outcome: Outcome = "ok"


class Desk:
    """One turn's agent. Everything that varies is drawn from `chance`; `sleep` waits real or no time."""

    def __init__(
        self, run: Run, agent: Agent, facts: Facts, chance: Random, sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self.run = run
        self.agent = agent
        self.facts = facts
        self.chance = chance
        self.rows: list[ToolChoiceRow] = []
        self.calls: list[dict[str, str]] = []
        self._iteration = 0
        self._sleep = sleep

    def inside(self, part: Run) -> Desk:
        """The same desk for one agent of a pipeline: it reads and calls on its own account."""
        return Desk(part, self.agent, self.facts, self.chance, self._sleep)

    async def wait(self, least: float, most: float) -> None:
        await self._sleep(self.chance.uniform(least, most))

    async def model(self, wanted: Sequence[str], *, wrap_up: bool = False) -> None:
        """One model call that asks for these tools, with the classifier's reading around it."""
        self._iteration += 1
        pick = served = None
        if self.agent.top is not None:
            pick, served = await self._pick(wanted, wrap_up)
        names = self.agent.tools if served is None else served
        self.run.llm_start(
            [] if wrap_up else [{"name": name, "description": CATALOG[name]} for name in names]
        )
        await self.wait(0.4, 2.5)
        self.run.llm_end(
            len(wanted),
            input_tokens=self.chance.randrange(300, 4000),
            output_tokens=self.chance.randrange(10, 400),
        )
        if pick is not None:
            outcome = outcome_row_for(pick, wanted, self._iteration)
            self.rows.append(outcome)
            self.run.tool_choice_row(outcome)

    async def call(self, step: Step) -> None:
        """One call, from its start to its end."""
        await self._finish(step, self.run.tool_start(step.tool, self.call_id()))

    async def batch(self, steps: Sequence[Step]) -> None:
        """Several calls of one reply at once; they end in any order."""
        started = [
            (step, self.run.tool_start(step.tool, self.call_id(), parallel=len(steps))) for step in steps
        ]
        for step, call_id in self.chance.sample(started, len(started)):
            await self._finish(step, call_id)

    async def work(self, batches: Sequence[Sequence[Step]]) -> None:
        """A model call for every batch, and its tools after it."""
        for steps in batches:
            await self.model([step.tool for step in steps])
            if len(steps) == 1:
                await self.call(steps[0])
            else:
                await self.batch(steps)

    async def answer(self, text: str, *, ends_run: bool = True) -> None:
        """The last model call, and the end of the turn and (but for a part of a pipeline) the run."""
        await self.model([])
        self.run.turn_end(text)
        if self.chance.random() < 0.2:
            self.run.answer_checked(self.calls, incomplete=False)
        if ends_run:
            self.run.finish()

    def call_id(self) -> str:
        return f"call_{self.chance.getrandbits(48):012x}"

    def note_call(self, tool: str, call_id: str, outcome: str) -> None:
        self.calls.append({"toolName": tool, "toolCallId": call_id, "outcome": outcome})

    # -- parts ----------------------------------------------------------------------------------

    async def _finish(self, step: Step, call_id: str) -> None:
        run = self.run
        if step.outcome == "refused":
            run.permission(step.tool, "deny")
            run.tool_end(call_id, not_executed=True)
            self.note_call(step.tool, call_id, "not-run")
            return
        await self.wait(0.3, 4.0)
        match step.outcome:
            case "error":
                run.tool_end(call_id, error=True)
            case "failure" | "denied" | "invalid":
                run.tool_end(call_id, status=step.outcome)
            case _:
                run.tool_end(call_id, status="success" if self.chance.random() < 0.3 else None)
        self.note_call(step.tool, call_id, "ok" if step.outcome == "ok" else "error")

    async def _pick(
        self, wanted: Sequence[str], wrap_up: bool
    ) -> tuple[PickRow | PickErrorRow, tuple[str, ...]]:
        offered = [name for name in self.agent.tools if name not in DOORS]
        await self.wait(0.03, 0.2)
        pick = self._read(offered, wanted)
        narrowing = narrow_served(
            wire=self.agent.tools,
            doors=DOORS,
            pick=pick,
            top=self.agent.top,
            iteration=self._iteration,
            prior=self.rows,
            wrap_up_asked=wrap_up,
        )
        row = self._row(pick, offered, narrowing)
        self.rows.append(row)
        self.run.tool_choice_row(row, top=self.agent.top, doors=sorted(DOORS), wire=self.agent.tools)
        return row, narrowing.served

    def _row(
        self, pick: Pick | PickFailed, offered: list[str], narrowing: Narrowing
    ) -> PickRow | PickErrorRow:
        if isinstance(pick, PickFailed):
            return pick_error_row(pick, iteration=self._iteration, narrowing=narrowing)
        return pick_row(pick, iteration=self._iteration, offered=offered, narrowing=narrowing)

    def _read(self, offered: list[str], wanted: Sequence[str]) -> Pick | PickFailed:
        """A classifier that is mostly right, sometimes wrong, and now and then not there."""
        chance = self.chance
        latency_ms = chance.randrange(30, 220)
        if chance.random() < 0.06:
            message = chance.choice(("The service is overloaded.", "The request took too long."))
            return PickFailed(
                classifier=ClassifierId(CLASSIFIER.name),
                status=chance.choice((429, 503, None)),
                message=message,
                latency_ms=latency_ms,
            )
        weights = {name: chance.random() for name in offered}
        for name in wanted:
            if name in weights and chance.random() < 0.88:
                weights[name] += chance.uniform(2, 8)
        scored = list(offered)
        if chance.random() < 0.05:
            scored = chance.sample(offered, min(2, len(offered)))  # too few scores to narrow by
        total = sum(weights[name] for name in scored)
        scores = [ToolChoiceScore(name, round(weights[name] / total, 4)) for name in scored]
        ranked = tuple(sorted(scores, key=lambda one: -one.score))
        return Pick(
            classifier=CLASSIFIER,
            ranked=ranked,
            chosen=ranked[0].name,
            confidence=round(min(0.99, ranked[0].score + chance.uniform(0, 0.3)), 3),
            usage=TokenUsage(chance.randrange(200, 900), chance.randrange(1, 20)),
            latency_ms=latency_ms,
        )
