"""The small methods of a run say what the framework itself would have said."""

import pytest

from runs.rules import kept
from runs.rules.tool_choice import OutcomeRow
from runs.sender import AsyncSender, Run
from runs.sender.listed import line_of


class Told:
    """Collects events, in the allow-list's own reading; the clock goes one second a look."""

    def __init__(self) -> None:
        self.raw: list[dict] = []
        self.seconds = 1_800_000_000.0

    def emit(self, event) -> None:
        self.raw.append(event)

    def clock(self) -> float:
        self.seconds += 1
        return self.seconds

    def run(self, **details) -> Run:
        return Run(self.emit, clock=self.clock, **details)

    @property
    def types(self) -> list[str]:
        return [event["type"].removeprefix("agentfootprint.") for event in self.raw]

    def kept(self, name: str) -> list[kept.Kept]:
        found = [kept.keep_object(event) for event in self.raw if event["type"].endswith(name)]
        assert all(isinstance(one, kept.Kept) for one in found)
        return found  # type: ignore[return-value]


@pytest.fixture
def told() -> Told:
    return Told()


def test_a_turn_with_a_tool(told):
    run = told.run(agent_id="support", session_id="s1", provider="p", model="m", principal="ada", tenant="t1")
    run.turn_start("Where is it?")
    assert run.llm_start(["look_up", {"name": "ask", "description": "Ask."}]) == 1
    run.llm_end(1, input_tokens=10, output_tokens=2)
    call_id = run.tool_start("look_up")
    run.tool_end(call_id)
    assert run.llm_start() == 2
    run.llm_end(input_tokens=5, output_tokens=1)
    run.turn_end("On its way.")
    run.finish()
    assert told.types == [
        "agent.run_configured",
        "agent.turn_start",
        "agent.iteration_start", "stream.llm_start", "stream.llm_end",
        "stream.tool_start", "stream.tool_end", "agent.iteration_end",
        "agent.iteration_start", "stream.llm_start", "stream.llm_end", "agent.iteration_end",
        "agent.turn_end",
        "integrity.disposition",
    ]  # fmt: skip
    (end,) = told.kept("turn_end")
    assert [said.text for said in end.texts] == ["On its way."]
    assert (end.body.total_input_tokens, end.body.total_output_tokens, end.body.iteration_count) == (15, 3, 2)
    assert end.body.duration_ms > 0
    meta = end.meta
    assert (meta.session_id, meta.principal, meta.tenant) == ("s1", "ada", "t1")
    assert meta.composition_path == ["Agent:support"]
    assert meta.run_offset_ms == meta.wall_clock_ms - 1_800_000_001_000
    assert [one.body.tool_call_count for one in told.kept("llm_end")] == [1, 0]
    assert [one.body.iter_index for one in told.kept("iteration_end")] == [1, 2]
    assert {one.path for event in told.raw if isinstance(one := kept.keep_object(event), kept.Kept)} == {""}
    assert len({event["meta"]["runId"] for event in told.raw}) == 1


def test_a_tool_block_marks_what_it_raises(told):
    run = told.run(agent_id="a")
    with run.tool("good"):
        pass
    with pytest.raises(ZeroDivisionError), run.tool("bad"):
        raise ZeroDivisionError
    assert [one.body.error for one in told.kept("tool_end")] == [False, True]


def test_a_pause_is_continued_as_another_run(told):
    run = told.run(agent_id="a", session_id="s")
    run.turn_start("Refund?")
    run.llm_start(["refund"])
    run.llm_end(1)
    call_id = run.tool_start("refund")
    run.pause(call_id, "checkIn")
    leg = run.resume(call_id, paused_ms=9, approved=True)
    leg.tool_end(call_id)
    leg.llm_start()
    leg.llm_end()
    leg.turn_end("Done.")
    leg.finish()
    assert told.types[6:] == [
        "checkin.request", "pause.request", "integrity.disposition",
        "pause.resume", "agent.run_configured", "checkin.decision", "stream.tool_end", "agent.iteration_end",
        "agent.iteration_start", "stream.llm_start", "stream.llm_end", "agent.iteration_end",
        "agent.turn_end", "integrity.disposition",
    ]  # fmt: skip
    (request,) = told.kept("pause.request")
    assert request.meta.run_id == "consumer-scope"
    assert (request.body.question_payload.tool_call_id, request.body.question_payload.check_in) == (
        call_id,
        True,
    )
    assert leg.run_id != run.run_id
    assert [one.meta.run_id for one in told.kept("turn_end")] == [leg.run_id]


def test_a_composition_has_parts_with_paths_of_their_own(told):
    run = told.run()
    run.composition("Sequence", "pipeline", 2)
    for step in ("one", "two"):
        part = run.part(step, model="m")
        part.turn_start("q")
        part.llm_start()
        part.llm_end()
        part.turn_end("a")
    run.composition_end("Sequence", "pipeline")
    assert "agent.run_configured" not in told.types
    assert [one.path for one in told.kept("turn_start")] == ["one", "two"]
    stages = [int(event["meta"]["runtimeStageId"].rpartition("#")[2]) for event in told.raw]
    assert stages == sorted(stages)
    assert {tuple(event["meta"]["compositionPath"]) for event in told.raw} == {("Sequence:pipeline",)}


def test_a_crash_says_nothing_of_the_error(told):
    run = told.run(agent_id="a")
    run.fail()
    (fatal,) = told.kept("error.fatal")
    assert (fatal.body.stage, fatal.body.scope, fatal.meta.runtime_stage_id) == (
        "__root__",
        "run",
        "__root__#0",
    )


def test_footprints_own_events_pass_the_list(told):
    run = told.run(agent_id="a")
    run.tools_declared({"look_up": "Looked it up"})
    run.tool_choice_row(
        OutcomeRow(iteration=1, called=("x",)), top=3, doors=["present"], wire=["x", "present"]
    )
    run.tool_choice_row({"kind": "pick-error", "iteration": 2, "message": "no"})
    run.delegation_declared(
        "ask", extra_tool_names=[{"name": "n", "aliases": ["m"]}], static_pool=[{"name": "p"}]
    )
    run.delegation_declared("ask", has_factory=False, inherited_surface=[])
    run.delegation_spawned("ask", [{"name": "n"}], call_id="c", child_run_id="r2", denied_tools=["d"])
    run.delegation_refused("ask", "config.extra_tool_names", "shape", call_id="c")
    run.answer_checked([{"toolName": "t", "toolCallId": "c", "outcome": "ok"}], incomplete=True)
    run.permission("t", "deny")
    run.budget_exhausted("max-iterations", action="cut-short", pending=2)
    for event in told.raw:
        line = line_of(event)
        assert line is not None
        assert line.refusal is None, event
    (row, error) = told.kept("tool_choice.row")
    assert (row.body.kind, row.body.top, row.body.wire) == ("outcome", 3, ["x", "present"])
    assert error.texts[0].kind == "classifier"
    (declared, without) = told.kept("delegation.declared")
    assert declared.body.extra_tool_names == [{"name": "n", "aliases": ["m"]}]
    assert without.body.roster_reason is None


def test_a_sender_opens_runs_and_declares_tools():
    sender = AsyncSender("http://127.0.0.1:1", token="t")
    sender.tools_declared([{"name": "x", "displayName": "Did x"}])
    run = sender.run(agent_id="a", session_id="s", model="m", run_id="mine")
    assert run.run_id == "mine"
    assert sender.status.last == 2
    assert sender.status.refused_count == 0
