"""A rebuild gives the same rows, row by row, and changes nothing that people or senders see."""

import pytest
from django.core.management import call_command

from runs.models import Answer, Project, Run
from tests import recordings
from tests.record.story import answers_of, whole_record
from tests.wire import Wire, make_project, make_token, run, send_all

pytestmark = pytest.mark.django_db(transaction=True)

SOME = [name for name in recordings.names() if not name.startswith("long_run")]


def test_a_rebuild_gives_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every recording in one project, with a hole, a refusal and a bye; steps small enough to cut runs in two."""
    project, token = make_project(), None
    token = make_token(project)

    async def story() -> None:
        for name in SOME:
            async with Wire(token, stream=name[:60]) as wire:
                await send_all(wire, recordings.lines(name))
        lines = recordings.lines("sequential_tools.jsonl")
        async with Wire(token, stream="with-a-hole") as wire:
            await wire.hello()
            await wire.events(1, lines[:30])
            await wire.events(
                33, ['{"type": "agentfootprint.stream.tool_end", "payload": {"toolCallId": 7}}']
            )
            await wire.events(34, lines[33:])
            await wire.bye(len(lines) + 2)

    run(story)
    before, answers = whole_record(project), answers_of(project)
    slugs = set(Run.objects.values_list("slug", flat=True)) | set(
        Answer.objects.values_list("slug", flat=True)
    )
    monkeypatch.setattr("runs.record.rebuild.A_STEP", 97)
    call_command("rebuild", project=project.key)
    assert whole_record(project) == before
    assert answers_of(project) == answers
    assert {row for model in (Run, Answer) for row in model.objects.values_list("slug", flat=True)} == slugs
    assert set(Run.objects.values_list("epoch", flat=True)) == {Project.objects.get().epoch} == {2}


def test_ingest_goes_on_during_and_after_a_rebuild() -> None:
    project = make_project()
    token = make_token(project)
    lines = recordings.lines("followup_conversation.jsonl")

    async def story(first: int, last: int) -> None:
        async with Wire(token, stream="one") as wire:
            await send_all(wire, lines[:last], last=last)

    run(lambda: story(1, 40))
    call_command("rebuild")
    run(lambda: story(41, len(lines)))
    told = answers_of(project)
    expected = recordings.facts()["followup_conversation.jsonl"]["answers"]
    assert [answer["calls"] for answer in told] == [answer["calls"] for answer in expected]
    assert all(answer["complete"] for answer in told)
