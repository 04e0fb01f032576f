"""One run of an agent, told in small steps: each method sends the events the framework itself would send."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from msgspec import Struct

from runs.rules.json_types import ABSENT
from runs.sender import events
from runs.sender.events import Event, present

PREFIX: Final = "agentfootprint."


class Run:
    """What one run of an agent does. Made by `sender.run(...)`; every method returns at once.

    The order of a turn: `turn_start`, then for each model call `llm_start`, `llm_end` and its tools
    (`tool_start`, `tool_end`), then `turn_end`. `finish` ends the run. Times are taken when a method is called.
    """

    def __init__(
        self,
        emit: Callable[[object], None],
        *,
        run_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        principal: str | None = None,
        tenant: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` gives seconds since 1970. Without agent, provider and model nothing is said yet (a composition)."""
        self._emit = emit
        self._clock = clock
        self._began = self._now()
        self.run_id = run_id or f"run-{self._began}-{secrets.token_hex(4)}"
        self.agent_id, self.provider, self.model = agent_id, provider, model
        self.session_id, self.principal, self.tenant = session_id, principal, tenant
        self._outer = [f"Agent:{agent_id}"] if agent_id else []
        self._path = ""
        self._stages = [0]  # one count for the run and all its parts
        self._turn_began = self._began
        self._iteration = 0
        self._iteration_calls: int | None = None  # None: no model call is open on this path
        self._tokens = [0, 0]
        self._llm_began = self._began
        self._open: dict[str, tuple[str, int]] = {}
        self._configured()

    @property
    def iteration(self) -> int:
        """How many model calls this turn has had."""
        return self._iteration

    # -- a turn ---------------------------------------------------------------------------------

    def turn_start(self, question: str) -> None:
        """A person (or another agent) asked something."""
        self._turn_began = self._now()
        self._iteration, self._tokens = 0, [0, 0]
        self._iteration_calls = None
        self._say("agent.turn_start", {"turnIndex": 0, "userPrompt": question}, "seed")

    def llm_start(self, tools: Iterable[str | Mapping[str, Any]] = (), *, messages: int | None = None) -> int:
        """The model is called with these tools (names, or `{"name", "description"}`). Returns the iteration."""
        self._end_iteration()
        self._iteration += 1
        self._iteration_calls = 0
        self._llm_began = self._now()
        offered = [{"name": tool} if isinstance(tool, str) else tool for tool in tools]
        stage = self._next_stage("call-llm")
        self._say("agent.iteration_start", {"turnIndex": 0, "iterIndex": self._iteration}, at=stage)
        payload = present(
            iteration=self._iteration,
            provider=self.provider,
            model=self.model,
            messagesCount=messages if messages is not None else 2 * self._iteration - 1,
            toolsCount=len(offered),
            tools=offered,
        )
        self._say("stream.llm_start", payload, at=stage)
        return self._iteration

    def llm_end(
        self,
        tool_calls: int = 0,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        stop_reason: str | None = None,
    ) -> None:
        """The model replied, and asked for so many tool calls."""
        self._iteration_calls = tool_calls
        self._tokens[0] += input_tokens or 0
        self._tokens[1] += output_tokens or 0
        payload = present(
            iteration=self._iteration,
            toolCallCount=tool_calls,
            usage=present(input=input_tokens, output=output_tokens),
            stopReason=stop_reason or ("tool_use" if tool_calls else "stop"),
            durationMs=self._now() - self._llm_began,
        )
        self._say("stream.llm_end", payload, at=self._stage("call-llm"))

    def tool_start(self, name: str, call_id: str | None = None, *, parallel: int | None = None) -> str:
        """A tool is about to be called. Returns the call's id, for `tool_end`."""
        call_id = call_id or f"call_{secrets.token_hex(6)}"
        self._open[call_id] = (name, self._now())
        payload = present(toolName=name, toolCallId=call_id, parallelCount=parallel)
        self._say("stream.tool_start", payload, at=self._stage("tool-calls"))
        return call_id

    def tool_end(
        self,
        call_id: str,
        *,
        error: bool = False,
        status: str | None = None,
        not_executed: bool = False,
        duration_ms: int | None = None,
    ) -> None:
        """The tool came back: `error` when it threw, `status` when it said itself how it went."""
        _, began = self._open.pop(call_id, ("", self._now()))
        payload = present(
            toolCallId=call_id,
            error=error or None,
            status=status,
            notExecuted=not_executed or None,
            durationMs=self._now() - began if duration_ms is None else duration_ms,
        )
        self._say("stream.tool_end", payload, at=self._stage("tool-calls"))

    @contextmanager
    def tool(self, name: str) -> Iterator[str]:
        """A tool call as a block: what it raises marks the call as failed and goes on to the agent."""
        call_id = self.tool_start(name)
        try:
            yield call_id
        except BaseException:
            self.tool_end(call_id, error=True)
            raise
        self.tool_end(call_id)

    def permission(self, tool_name: str, result: str, *, capability: str = "tool_call") -> None:
        """A policy was asked about the call that was just started: `allow`, `deny` or `halt`."""
        payload = {"capability": capability, "target": tool_name, "result": result}
        self._say("permission.check", payload, at=self._stage("tool-calls"))

    def turn_end(self, answer: str, *, stopped_early: Mapping[str, Any] | None = None) -> None:
        """The agent answered. `stopped_early`: `{"reason", "iteration", "pendingToolCalls", "wrappedUp"?}`."""
        stage = self._next_stage("final")
        self._end_iteration(stage)
        payload = present(
            turnIndex=0,
            finalContent=answer,
            totalInputTokens=self._tokens[0],
            totalOutputTokens=self._tokens[1],
            iterationCount=self._iteration,
            durationMs=self._now() - self._turn_began,
            stoppedEarly=stopped_early,
        )
        self._say("agent.turn_end", payload, at=stage)

    def budget_exhausted(self, reason: str, *, action: str, pending: int) -> None:
        """`max-iterations` or `cost-budget` was reached with so many calls pending: `wrapped-up` or `cut-short`."""
        payload = {
            "reason": reason,
            "action": action,
            "iteration": self._iteration,
            "pendingToolCalls": pending,
        }
        self._say("agent.budget_exhausted", payload, "sf-route")

    # -- pauses, parts, the end -----------------------------------------------------------------

    def pause(self, call_id: str, kind: str = "ask") -> None:
        """The call waits for a person: `ask`, `checkIn` or `authorization`."""
        name = self._open.get(call_id, ("", 0))[0]
        if kind == "checkIn":
            payload = {"toolName": name, "toolCallId": call_id, "iteration": self._iteration}
            self._say("checkin.request", payload, at=self._stage("tool-calls"))
        question = {"toolCallId": call_id, "toolName": name, kind: True}
        meta = events.app_meta(self._now()) | {"runtimeStageId": self._path + "tool-calls#paused"}
        self._emit({"type": PREFIX + "pause.request", "payload": {"questionPayload": question}, "meta": meta})
        self.finish()

    def resume(
        self,
        call_id: str,
        *,
        paused_ms: int | None = None,
        approved: bool | None = None,
        run_id: str | None = None,
    ) -> Run:
        """The person answered: the rest of the answer is a new run, which begins with this call's end.

        `approved` is for check-ins; the caller ends the call on the run that comes back.
        """
        meta = events.app_meta(self._now()) | {"runtimeStageId": self._path + "tool-calls#resumed"}
        payload = present(pausedDurationMs=paused_ms)
        self._emit({"type": PREFIX + "pause.resume", "payload": payload, "meta": meta})
        leg = self._copy()
        leg._began = leg._now()
        leg.run_id = run_id or f"run-{leg._began}-{secrets.token_hex(4)}"
        leg._configured()
        leg._next_stage("tool-calls")
        if approved is not None:
            name = leg._open.get(call_id, ("", 0))[0]
            decision = {
                "toolName": name,
                "toolCallId": call_id,
                "iteration": leg._iteration,
                "approved": approved,
            }
            leg._say("checkin.decision", decision, at=leg._stage("tool-calls"))
        return leg

    def composition(self, kind: str, name: str, children: int) -> None:
        """This run, made without an agent, is a Sequence, Parallel, Conditional or Loop; its agents are `part`s."""
        self._outer = [f"{kind}:{name}"]
        payload = {"kind": kind, "id": name, "name": name, "childCount": children}
        self._say("composition.enter", payload, "seed")

    def part(self, step: str, *, provider: str | None = None, model: str | None = None) -> Run:
        """An agent inside this composition, with turns of its own."""
        inner = self._copy()
        inner.provider, inner.model = provider, model
        inner._path = f"{self._path}{step}/"
        return inner

    def composition_end(self, kind: str, name: str, status: str = "ok") -> None:
        """Every part is done; `status` is ok, err, break or budget_exhausted. No `finish` after it."""
        payload = {"kind": kind, "id": name, "name": name, "status": status}
        self._say("composition.exit", payload, "finalize")

    def fail(self) -> None:
        """The run crashed. What the error says stays here."""
        self._say("error.fatal", {"stage": "__root__", "scope": "run"}, at="__root__#0")
        self.finish()

    def finish(self) -> None:
        """The run is over, however it went."""
        self._say("integrity.disposition", {}, at="integrity-disposition#0")

    # -- footprint's own ------------------------------------------------------------------------

    def tool_choice_row(
        self,
        row: Struct | Mapping[str, Any],
        *,
        top: int | None = None,
        doors: Iterable[str] = (),
        wire: Iterable[str] = (),
    ) -> None:
        """A pick (before the model call) or an outcome (after its reply), as `rules.tool_choice` makes them."""
        meta = self._meta(self._stage("tools"))
        self._emit(events.tool_choice_row(row, meta, top=top, doors=doors, wire=wire))

    def tools_declared(self, tools: events.Tools) -> None:
        """The app's own words for its tools."""
        self._emit(events.tools_declared(tools, self._meta(self._stage("run-configured"))))

    def delegation_declared(
        self,
        tool_name: str,
        *,
        has_factory: bool = True,
        static_pool: Iterable[Mapping[str, Any]] | None = None,
        inherited_surface: Iterable[Mapping[str, Any]] | None = None,
        extra_tool_names: object = ABSENT,
    ) -> None:
        """What this delegation tool may hand to the agents it starts. A roster that is left out is none."""
        event = events.delegation_declared(
            tool_name,
            self._meta(self._stage("run-configured")),
            has_factory=has_factory,
            static_pool=static_pool,
            inherited_surface=inherited_surface,
            extra_tool_names=extra_tool_names,
        )
        self._emit(event)

    def delegation_spawned(
        self,
        tool_name: str,
        products: Iterable[Mapping[str, Any]],
        *,
        call_id: str | None = None,
        child_run_id: str | None = None,
        denied_tools: Iterable[str] | None = None,
    ) -> None:
        """A child agent was started with these tools: `[{"name", "aliases"?, "contentOrigin"?}]`."""
        event = events.delegation_spawned(
            tool_name,
            products,
            self._meta(self._stage("tool-calls")),
            call_id=call_id,
            child_run_id=child_run_id,
            denied_tools=denied_tools,
        )
        self._emit(event)

    def delegation_refused(
        self, tool_name: str, code: str, reason: str, *, call_id: str | None = None
    ) -> None:
        """The host itself refused to start the child."""
        meta = self._meta(self._stage("tool-calls"))
        self._emit(events.delegation_refused(tool_name, code, reason, meta, call_id=call_id))

    def answer_checked(self, calls: Iterable[Mapping[str, Any]], *, incomplete: bool) -> None:
        """The run's own view of its ledger, to be compared with Footprint's."""
        self._emit(events.answer_checked(calls, incomplete, self._meta(self._stage("final"))))

    # -- parts ----------------------------------------------------------------------------------

    def _configured(self) -> None:
        llm = present(provider=self.provider, model=self.model)
        payload = present(agentId=self.agent_id, llm=llm or None)
        if payload:
            self._say("agent.run_configured", payload, at="run-configured#0")

    def _end_iteration(self, stage: str | None = None) -> None:
        if self._iteration_calls is None:
            return
        payload = {"turnIndex": 0, "iterIndex": self._iteration, "toolCallCount": self._iteration_calls}
        self._say("agent.iteration_end", payload, at=stage or self._stage("tool-calls"))
        self._iteration_calls = None

    def _say(self, name: str, payload: Event, stage: str = "", *, at: str | None = None) -> None:
        meta = self._meta(at if at is not None else self._next_stage(stage))
        self._emit({"type": PREFIX + name, "payload": payload, "meta": meta})

    def _meta(self, stage: str) -> Event:
        now = self._now()
        return present(
            runId=self.run_id,
            sessionId=self.session_id,
            principal=self.principal,
            tenant=self.tenant,
            wallClockMs=now,
            runOffsetMs=now - self._began,
            runtimeStageId=self._path + stage,
            compositionPath=self._outer,
        )

    def _next_stage(self, stage: str) -> str:
        self._stages[0] += 1
        return self._stage(stage)

    def _stage(self, stage: str) -> str:
        return f"{stage}#{self._stages[0]}"

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _copy(self) -> Run:
        other = Run.__new__(Run)
        other.__dict__.update(self.__dict__)
        other._open, other._tokens = dict(self._open), list(self._tokens)
        return other
