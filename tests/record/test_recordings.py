"""All recorded streams through the real socket, against the facts that an independent reading derived."""

from collections import Counter
from typing import Any

import pytest
from django.db.models import F

from runs.models import Run, ToolCall
from tests import recordings
from tests.record.story import answers_of, whole_record
from tests.wire import Wire, make_project, make_token, run, send_all

pytestmark = pytest.mark.django_db(transaction=True)

OUTCOME_OF = {
    "ok": "ok",
    "answered_by_human": "ok",
    "error": "error",
    "unknown_tool": "error",
    "args_invalid": "error",
    "refused_too_large": "error",
    "denied": "not-run",
    "halted": "not-run",
    "declined": "not-run",
    "paused": "open",
    "open": "open",
}


def send(project: Any, name: str) -> None:
    lines, token = recordings.lines(name), make_token(project)

    async def story() -> None:
        async with Wire(token, stream=name[:60]) as wire:
            await send_all(wire, lines)
            assert wire.refused == []

    run(story)


@pytest.mark.parametrize("name", recordings.names())
def test_each_recording_is_told_as_its_facts_say(name: str) -> None:
    facts = recordings.facts()[name]
    project = make_project()
    send(project, name)
    expected = [{**answer, "incomplete": sorted(answer["incomplete"])} for answer in facts["answers"]]
    told = answers_of(project)
    for fact, answer in zip(expected, told, strict=True):
        summary = fact.pop("calls_summary", None)
        if summary is not None:
            outcomes = Counter(call[2] for call in answer.pop("calls"))
            fact.pop("calls", None)
            assert {"count": sum(outcomes.values()), "outcomes": dict(outcomes)} == summary
    assert told == expected
    # A list by tool finds a run by the place of its calls: the run that opened the answer, also for later legs.
    calls = ToolCall.objects.filter(project=project)
    assert not calls.exclude(run_position=F("answer__run__first_position")).exists()
    runs = Run.objects.filter(project=project).order_by("id").values_list("first_position", flat=True)
    assert list(runs) == sorted(runs), "ids of runs follow their positions"

    totals = Counter(call[2] for answer in answers_of(project) for call in answer["calls"])
    # a status the tool itself declared weighs more than the missing error flag, see rules: effects_status_envelope
    if name != "effects_status_envelope.jsonl":
        counted: Counter[str] = Counter()
        for word, count in facts["tool_outcomes"].items():
            counted[OUTCOME_OF[word]] += count
        assert totals == counted

    before = whole_record(project)
    send(project, name)
    assert whole_record(project) == before, "twice sent, the record is the same"
