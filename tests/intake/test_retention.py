"""What a project no longer keeps leaves between what senders bring; what is kept, and every promise, stays."""

import asyncio
import json
from io import StringIO

import pytest
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command
from django.db import transaction

from runs.intake import retention, service
from runs.models import (
    LEAVING,
    Answer,
    ChoiceCall,
    ChoiceRow,
    KeptEvent,
    Leg,
    Note,
    Project,
    Run,
    Stream,
    Text,
    Tombstone,
    ToolCall,
)
from runs.rules.retention import DAY_MS
from runs.sender import Run as Agent
from runs.store import retention as steps
from runs.store.retention import Due, Step, projects_due, retain_some
from tests import recordings
from tests.record.story import whole_record
from tests.record.test_deletion import RECORDINGS, told
from tests.wire import PATIENCE_S, Wire, make_project, make_token, run, send_all

pytestmark = pytest.mark.django_db(transaction=True)


def sent(project: Project, names: list[str]) -> None:
    token = make_token(project)

    async def story() -> None:
        for name in names:
            async with Wire(token, stream=name) as wire:
                await send_all(wire, recordings.lines(name))

    run(story)


def told_run(number: int, *, asks: bool = False, ends: bool = True) -> list[str]:
    """One run with a call, its text, and its tool choice."""
    events: list[object] = []
    agent = Agent(events.append, run_id=f"run-{number}", agent_id="support")
    agent.tools_declared({"lookup_order": "looking up the order"})
    agent.turn_start(f"Where is order {number}?")
    agent.llm_start(["lookup_order"])
    agent.llm_end(1)
    agent.tool_start("lookup_order", f"call-{number}")
    if asks:
        agent.pause(f"call-{number}")
    elif ends:
        agent.tool_end(f"call-{number}")
        agent.llm_start()
        agent.llm_end()
        agent.turn_end("On its way.")
        agent.finish()
    return [json.dumps(event) for event in events]


def retained(project: Project, **limits: int | None) -> str:
    Project.objects.filter(pk=project.pk).update(**limits)
    said = StringIO()
    call_command("retain", project=project.key, stdout=said)
    return said.getvalue()


def names() -> list[str]:
    """Runs on record, oldest first."""
    listed = Run.objects.filter(epoch__lt=LEAVING).order_by("first_position")
    return list(listed.values_list("name", flat=True))


def taken(due: Due, after: int) -> Step:
    with transaction.atomic():
        return retain_some(due, after, 0)


def runs_and_answers(project: Project) -> list[object]:
    record = whole_record(project)
    return [record["runs_run"], record["runs_answer"]]


def nothing_hangs_on_what_is_gone(project: Project) -> None:
    gone = set(Tombstone.objects.values_list("stream", "run"))
    assert gone
    assert not Run.objects.filter(epoch__gte=LEAVING).exists()
    assert not Answer.objects.filter(epoch__gte=LEAVING).exists()
    assert not gone & set(KeptEvent.objects.values_list("stream", "run"))
    positions = {pk & ((1 << 40) - 1) for pk in KeptEvent.objects.values_list("pk", flat=True)}
    assert set(Text.objects.values_list("position", flat=True)) <= positions
    runs, answers = (set(model.objects.values_list("pk", flat=True)) for model in (Run, Answer))
    for model in (ToolCall, ChoiceRow, ChoiceCall, Leg):
        assert set(model.objects.values_list("run", flat=True)) <= runs
        assert set(model.objects.values_list("answer", flat=True)) <= answers


def test_the_newest_runs_stay_the_others_go_with_their_chains_and_a_rebuild_tells_the_same() -> None:
    project = make_project()
    sent(project, RECORDINGS)
    acked = dict(Stream.objects.values_list("name", "acked"))
    before = names()

    said = retained(project, keep_runs=3)

    after = names()
    listed = Run.objects.filter(leg_of=None).count()
    assert 3 <= listed < len(before)
    assert after == before[-len(after) :]
    assert f"{len(before) - len(after)} runs deleted" in said
    assert "once 3 newer ones have begun" in said
    nothing_hangs_on_what_is_gone(project)
    assert dict(Stream.objects.values_list("name", "acked")) == acked
    record = told(project)
    call_command("rebuild", project=project.key)
    assert told(project) == record
    assert "0 runs deleted" in retained(project)


def test_old_runs_go_and_young_ones_stay() -> None:
    project = make_project()
    sent(project, ["sequential_tools.jsonl", "followup_conversation.jsonl"])
    young = Run.objects.get(stream__name="sequential_tools.jsonl")
    Run.objects.exclude(pk=young.pk).update(last_ms=young.last_ms - 8 * DAY_MS, opened_ms=1)
    Run.objects.filter(pk=young.pk).update(opened_ms=2)
    retained(project, keep_days=7)
    assert names() == [young.name]
    nothing_hangs_on_what_is_gone(project)


def test_who_is_at_work_or_waits_for_a_person_stays() -> None:
    project = make_project()
    token = make_token(project)
    stories = [told_run(1, asks=True), told_run(2, ends=False), told_run(3), told_run(4)]

    async def story() -> None:
        for number, lines in enumerate(stories):
            async with Wire(token, stream=f"s{number}") as wire:
                await send_all(wire, lines)

    run(story)
    retained(project, keep_runs=1)
    assert names() == ["run-1", "run-2", "run-4"]

    # Silent for longer than the project's limit: it has ended as far as anybody can tell.
    Answer.objects.filter(run__name="run-2").update(ending="silent")
    Run.objects.filter(name="run-2").update(last_ms=1)
    retained(project)
    assert names() == ["run-1", "run-4"]


def test_a_rebuild_between_two_bites_brings_no_half_run_back(monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project(keep_runs=1)
    sent(project, RECORDINGS)
    monkeypatch.setattr(steps, "ROWS_A_STEP", 7)
    [due] = projects_due(0)
    step = taken(due, 0)
    assert step.deleted is not None
    assert not set(step.deleted.runs) & set(Run.objects.filter(epoch=1).values_list("slug", flat=True))
    for _ in range(3):
        assert taken(due, step.after).cleared == 7

    monkeypatch.setattr("runs.record.rebuild.A_STEP", 50)
    kept = runs_and_answers(project)
    call_command("rebuild", project=project.key)
    assert runs_and_answers(project) == kept
    retained(project)
    nothing_hangs_on_what_is_gone(project)
    assert Project.objects.get().epoch == 2
    record = whole_record(project)
    call_command("rebuild", project=project.key)
    assert whole_record(project) == record


def test_the_server_retains_between_what_senders_bring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each bite is bounded, whoever sends is acknowledged meanwhile, and open pages are told."""
    monkeypatch.setattr(retention, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(retention, "LEAST_PAUSE_S", 0.001)
    monkeypatch.setattr(steps, "ROWS_A_STEP", 20)
    rung = []

    async def ring(changed: object) -> None:
        rung.append(changed)

    monkeypatch.setattr("runs.announce.ring", ring)
    cleared = []
    some = steps.clear_some

    def counted(project_id: int, limit: int) -> int:
        cleared.append(some(project_id, limit))
        return cleared[-1]

    monkeypatch.setattr(steps, "clear_some", counted)
    project = make_project(keep_runs=2)
    token = make_token(project)
    lines = [line for number in range(1, 31) for line in told_run(number)]

    async def story() -> None:
        async with Wire(token) as wire:
            await send_all(wire, lines, a_frame=7)
            assert wire.acked == len(lines)
        async with asyncio.timeout(PATIENCE_S):
            while await sync_to_async(is_left)():
                await asyncio.sleep(0.02)

    def is_left() -> bool:
        return names() != ["run-29", "run-30"] or Run.objects.filter(epoch__gte=LEAVING).exists()

    run(story)
    nothing_hangs_on_what_is_gone(project)
    assert max(cleared) <= 20
    assert sum(len(changed.runs) for changed in rung if changed.people) == 28
    assert Stream.objects.get().acked == len(lines)
    assert Note.objects.filter(kind="deleted").count() == 28
    assert KeptEvent.objects.filter(type="footprint.tools.declared").count() == 30


def test_what_a_stopped_server_left_is_cleared_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the limit was lifted meanwhile: what is gone is gone."""
    project = make_project(keep_runs=1)
    sent(project, ["sequential_tools.jsonl", "followup_conversation.jsonl"])
    [due] = projects_due(0)
    assert taken(due, 0).deleted is not None
    Project.objects.update(keep_runs=None)
    monkeypatch.setattr(retention, "LOOK_EVERY_S", 0.02)

    async def next_server() -> None:
        service.running()
        async with asyncio.timeout(PATIENCE_S):
            while await sync_to_async(Run.objects.filter(epoch__gte=LEAVING).exists)():
                await asyncio.sleep(0.02)

    run(next_server)
    nothing_hangs_on_what_is_gone(project)
    before = names()
    assert "Every run is kept." in retained(project) or "no limit is set" in retained(project)
    assert names() == before


def test_the_command_knows_its_projects() -> None:
    with pytest.raises(CommandError, match="no such project"):
        call_command("retain", project="0" * 12)
    make_project()
    said = StringIO()
    call_command("retain", stdout=said)
    assert "Everything is kept: no limit is set." in said.getvalue()
