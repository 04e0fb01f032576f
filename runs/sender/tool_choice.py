"""Tool choice in an agent: ask a classifier before each model call, narrow what it is served, and report both rows.

    choice = ToolChoice(run, Lexical(), top=5)
    step = await choice.before(question, tools)                 # tools: {"name", "description"} each
    run.llm_start(step.tools)
    reply = await model(..., tools=step.tools)                   # the model call stays yours
    step.after([call.name for call in reply.tool_calls])
    run.llm_end(len(reply.tool_calls))

A classifier that fails, is late or answers amiss costs the agent nothing but its time-out: every tool is served.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from runs.rules.tool_choice import (
    Classifier,
    Narrowing,
    OutcomeRow,
    Pick,
    PickErrorRow,
    PickResult,
    PickRow,
    ToolCandidate,
    always_served_names,
    narrow_served,
    outcome_row_for,
    pick_error_row,
    pick_row,
    pick_tools,
)
from runs.sender.run import Run

Tool = Mapping[str, Any]


class Step:
    """One model call. `served`: names, in the order they were offered; `tools`: the same as they were given."""

    def __init__(
        self,
        choice: ToolChoice,
        iteration: int,
        tools: Sequence[Tool],
        pick: PickResult,
        narrowing: Narrowing,
    ) -> None:
        self.iteration, self.pick, self.narrowing = iteration, pick, narrowing
        self.served = narrowing.served
        shown = set(narrowing.served)
        self.tools = [tool for tool in tools if tool["name"] in shown]
        self.outcome: OutcomeRow | None = None
        self._choice = choice
        self._row: PickRow | PickErrorRow | None = None

    def after(self, called: Iterable[str]) -> OutcomeRow:
        """The model's reply: the names it called, in order; none when it answered. Said once."""
        if self.outcome is not None:
            raise ValueError("What the model called at this step has been said already.")
        self.outcome = outcome_row_for(self._row, called, self.iteration)
        self._choice._file(self.outcome)
        return self.outcome


class ToolChoice:
    """The loop of one run. `top`: serve so many beside the doors, None: everything (`serve="all"` in the rules' words).

    `always_serve` joins the framework's doors: these are never ranked and never left out.
    """

    def __init__(
        self,
        run: Run,
        classifier: Classifier,
        *,
        top: int | None = None,
        always_serve: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if top is not None and top < 1:
            raise ValueError("`top` is at least 1, or None to serve everything.")
        self.run, self.classifier, self.top = run, classifier, top
        self.doors = always_served_names(always_serve)
        self._clock = clock
        self._prior: list[OutcomeRow] = []

    async def before(
        self,
        message: str,
        tools: Sequence[Tool],
        *,
        skill_id: str | None = None,
        wrap_up: bool = False,
        tools_off: bool = False,
    ) -> Step:
        """Asks, narrows and reports, before the model call that `run.llm_start` will open next.

        `wrap_up`: the run was told to finish; `tools_off`: its tools are switched off. Only a cancellation of the
        caller gets out of here.
        """
        iteration = self.run.iteration + 1
        if self._prior and self._prior[-1].iteration >= iteration:
            self._prior.clear()  # another turn counts its model calls anew: a miss of the one before is not its own
        wire = [str(tool["name"]) for tool in tools]
        candidates = [
            ToolCandidate(name, str(tool.get("description") or ""))
            for name, tool in zip(wire, tools, strict=True)
            if name not in self.doors
        ]
        pick = await pick_tools(
            self.classifier,
            user_message=message,
            candidates=candidates,
            current_skill_id=skill_id,
            clock=self._clock,
        )
        narrowing = narrow_served(
            wire=wire,
            doors=self.doors,
            pick=pick,
            top=self.top,
            iteration=iteration,
            prior=self._prior,
            wrap_up_asked=wrap_up,
            tools_off=tools_off,
        )
        step = Step(self, iteration, tools, pick, narrowing)
        step._row = (
            pick_row(pick, iteration=iteration, offered=[one.name for one in candidates], narrowing=narrowing)
            if isinstance(pick, Pick)
            else pick_error_row(pick, iteration=iteration, narrowing=narrowing)
        )
        self.run.tool_choice_row(step._row, top=self.top, doors=sorted(self.doors), wire=wire)
        return step

    def _file(self, outcome: OutcomeRow) -> None:
        self._prior.append(outcome)
        self.run.tool_choice_row(outcome)
