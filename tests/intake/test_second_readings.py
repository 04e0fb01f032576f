"""Second readings: only where a project wants them, only for answers without a reading of their own, kept apart."""

import asyncio
import json
import re
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.management import call_command
from django.db import transaction

from runs.intake import second_readings
from runs.intake.second_readings import SecondReadings
from runs.models import Answer, ChoiceCall, ChoiceRow, Project, SecondReading
from runs.store import forget
from tests import recordings
from tests.lines import line
from tests.people import People
from tests.record.choice_rows import recorded_rows
from tests.wire import Wire, make_token, run, send_all

pytestmark = pytest.mark.django_db(transaction=True)

RECORDING = "sequential_tools.jsonl"


def call(work: Callable[[], Any]) -> Future[Any]:
    """The writer's thread: here, at once, in a transaction of its own."""

    async def in_transaction() -> Any:
        return await sync_to_async(transaction.atomic(work))()

    done: Future[Any] = Future()
    task = asyncio.get_running_loop().create_task(in_transaction())
    task.add_done_callback(
        lambda task: (
            done.set_exception(task.exception()) if task.exception() else done.set_result(task.result())
        )
    )
    return done


def look() -> int:
    return run(SecondReadings(call).look)


def tell(project: Project, lines: list[str], stream: str = "one") -> None:
    token = make_token(project)

    async def story() -> None:
        async with Wire(token, stream=stream) as wire:
            await send_all(wire, lines)

    run(story)


def wants(project: Project, reader: str = "lexical") -> None:
    Project.objects.filter(pk=project.pk).update(second_reader=reader)


def page_of(people: People, who: str) -> str:
    answer = Answer.objects.get()
    return people.browser(who).get(f"/p/{people.northwind.key}/answers/{answer.slug}/").content.decode()


def test_off_by_default(people: People) -> None:
    tell(people.northwind, recordings.lines(RECORDING))
    assert look() == 0
    assert not SecondReading.objects.exists()


@pytest.mark.parametrize("reader", ["lexical", "embedding"])
def test_each_model_call_that_was_offered_tools_is_read(people: People, reader: str) -> None:
    tell(people.northwind, recordings.lines(RECORDING))
    wants(people.northwind, reader)
    starts = [json.loads(one) for one in recordings.lines(RECORDING) if "llm_start" in one]
    offered = [
        [tool["name"] for tool in start["payload"]["tools"]]
        for start in starts
        if start["type"].endswith("llm_start") and start["payload"].get("tools")
    ]
    assert look() == len(offered) > 1
    bodies = [json.loads(row.body) for row in SecondReading.objects.order_by("position")]
    assert [body["offered"] for body in bodies] == offered
    assert {(body["source"], body["classifier"]["name"]) for body in bodies} == {("dashboard", reader)}
    assert not {key for body in bodies for key in body} & {"served", "narrowed"}
    assert look() == 0, "nothing is read twice"


def test_they_are_never_mixed_with_the_runs_own_rows(people: People) -> None:
    tell(people.northwind, recordings.lines(RECORDING))
    wants(people.northwind)
    look()
    assert not ChoiceRow.objects.exists() and not ChoiceCall.objects.exists()
    assert Answer.objects.get().choice_rows == 0


def test_operators_see_them_as_the_dashboards_and_readers_see_nothing(people: People) -> None:
    tell(people.northwind, recordings.lines(RECORDING))
    before = page_of(people, "rhea")
    wants(people.northwind)
    look()
    operator = page_of(people, "omar")
    assert "Second readings, by the dashboard" in operator and "<dd>dashboard</dd>" in operator
    assert "The agent never had it" in operator
    token = re.compile(r'X-CSRFToken[^}]*|name="csrfmiddlewaretoken" value="[^"]*"')
    assert token.sub("", page_of(people, "rhea")) == token.sub("", before)


def test_an_answer_with_readings_of_its_own_is_left_alone(people: People) -> None:
    lines = [line("agent.turn_start", {"userPrompt": "Where is my order?"})]
    lines += [
        line("stream.llm_start", {"iteration": 1, "tools": [{"name": "tool_1", "description": "order"}]})
    ]
    lines += [line("footprint.tool_choice.row", row) for row in recorded_rows(2)]
    lines += [line("stream.llm_end", {"iteration": 1}), line("agent.turn_end", {"finalContent": "Here."})]
    tell(people.northwind, lines)
    wants(people.northwind)
    assert look() == 0


def test_a_running_answer_is_waited_for_and_then_read(people: People) -> None:
    lines = recordings.lines(RECORDING)
    tell(people.northwind, lines[:-10])
    wants(people.northwind)
    assert look() == 0
    tell(people.northwind, lines)
    assert look() > 1


def test_without_a_kept_question_there_is_nothing_to_read(people: People) -> None:
    Project.objects.filter(pk=people.northwind.pk).update(keep_text=False)
    tell(people.northwind, recordings.lines(RECORDING))
    wants(people.northwind)
    assert look() == 0


def test_they_outlive_a_rebuild_and_leave_with_their_run(people: People) -> None:
    tell(people.northwind, recordings.lines(RECORDING))
    wants(people.northwind)
    made = look()
    call_command("rebuild", project=people.northwind.key)
    assert "Second readings, by the dashboard" in page_of(people, "omar")
    assert look() == 0 and SecondReading.objects.count() == made
    forget.delete_run(people.northwind.pk, Answer.objects.get().run.slug)
    assert not SecondReading.objects.exists()


def test_another_reader_reads_again_and_turning_off_stops(people: People) -> None:
    tell(people.northwind, recordings.lines(RECORDING))
    ada = people.browser("ada")
    address = f"/p/{people.northwind.key}/settings/"
    form = {"name": "Northwind", "keep_text": "on", "silent_after_s": "300", "time_zone": "UTC"}
    assert ada.post(address, form | {"second_reader": "lexical"}).status_code == 302
    made = look()
    assert ada.post(address, form | {"second_reader": "embedding"}).status_code == 302
    assert look() == made
    assert ada.post(address, form | {"second_reader": ""}).status_code == 302
    tell(people.northwind, recordings.lines("parallel_tools.jsonl"), "two")
    assert look() == 0
    assert ada.post(address, form | {"second_reader": "gpt"}).status_code == 422


def test_a_missing_library_is_said_once_and_nothing_fails(
    people: People, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(name: str) -> Any:
        raise ImportError("No module named 'bm25s'")

    monkeypatch.setattr(second_readings, "classifier_of", missing)
    tell(people.northwind, recordings.lines(RECORDING))
    wants(people.northwind)
    readings = SecondReadings(call)
    assert run(readings.look) == run(readings.look) == 0
    assert caplog.text.count("No second readings by lexical") == 1
