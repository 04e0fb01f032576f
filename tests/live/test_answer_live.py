"""An answer page that is followed: Rhea and Omar keep it open while the record goes on."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from runs import announce, models
from runs.announce import Changed
from runs.pages.answer import parts as answer_parts
from tests.live.conftest import Record
from tests.sample import LOOK_UP, MODELS_SIDE, REFUND, SECRET


async def test_a_new_call_appears_and_its_end_changes_the_same_row(record: Record, opens: Any) -> None:
    answer = record.drawn["running"].answer
    page = await opens("rhea", answer)
    await page.watch()
    assert (await page.hear())["parts"] == []
    call = await record.call(answer, LOOK_UP, "open")
    await page.hear_until("call-3", "running")
    await record.end(call, "error")
    await page.hear_until("call-3", "did not work")
    assert "Looking up the order" in page.parts["call-3"]
    await page.hear_until("calls-count", "3 calls")


async def test_what_rests_on_what_follows_at_once(record: Record, opens: Any) -> None:
    answer = record.drawn["running"].answer
    page = await opens("rhea", answer)
    await page.watch()
    await page.hear()
    await record.call(answer, REFUND, "error")
    await page.hear_until("rests-on", "Refunding the customer was tried and did not work.")


async def test_a_page_that_shows_the_latest_is_sent_nothing(record: Record, opens: Any) -> None:
    answer = record.drawn["named"].answer
    page = await opens("rhea", answer)
    await page.watch()
    first = await page.hear()
    assert (first["parts"], first["finished"]) == ([], True)
    assert await page.is_quiet()


async def test_what_is_finished_stays_so_when_something_else_of_its_run_comes(
    record: Record, opens: Any
) -> None:
    """A ring right after the end is answered from the rows alone; that answer knows of the end too."""
    answer = record.drawn["named"].answer
    page = await opens("omar", answer)
    await page.watch()
    assert (await page.hear())["finished"]
    await record.ring(answer)
    assert await page.is_quiet()


async def test_away_and_back_nothing_is_missing_and_nothing_twice(record: Record, opens: Any) -> None:
    answer = record.drawn["running"].answer
    page = await opens("rhea", answer)
    await page.watch()
    await page.hear()
    await record.call(answer, LOOK_UP)
    await page.hear_until("call-3", "worked")
    await page.hear_until(
        "calls-count", "3 calls"
    )  # rows run ahead of the version, which comes with the counts
    await page.close()
    for _ in range(3):
        await record.call(answer, LOOK_UP)
    back = await opens("rhea", answer, **page.about | {"through": 3})
    await back.watch(again=True)
    first = await back.hear()
    rows = [part["id"] for part in first["parts"] if part.get("in") == "call-rows"]
    assert rows == ["call-4", "call-5", "call-6"]
    assert first["says"].startswith("Reconnected; ")


async def test_back_after_the_feed_went_on_without_it(record: Record, opens: Any) -> None:
    """Another page keeps the feed alive; the one that comes back gets its own gap from it or from the store."""
    answer = record.drawn["running"].answer
    stays = await opens("omar", answer)
    await stays.watch()
    await stays.hear()
    left_at = await opens("omar", answer)
    for _ in range(2):
        await record.call(answer, SECRET)
    await stays.hear_until("call-4", "worked")
    await left_at.watch()
    first = await left_at.hear()
    assert [part["id"] for part in first["parts"] if part.get("in") == "call-rows"] == ["call-3", "call-4"]


async def test_a_rename_shows_while_watching(record: Record, opens: Any) -> None:
    answer = record.drawn["named"].answer
    page = await opens("rhea", answer)
    await page.watch()
    await page.hear()

    def rename() -> None:
        project = record.project
        models.DisplayName.objects.create(
            project=project, tool=LOOK_UP, text="Finding your parcel", position=project.position
        )
        models.Project.objects.filter(pk=project.pk).update(words_version=2)

    await sync_to_async(rename)()
    await announce.ring(Changed(record.project.id, 1, 0, words=True))
    assert (await page.hear())["type"] == "again"
    await page.watch(version=0)
    await page.hear_until("call-rows", "Finding your parcel")
    assert "Finding your parcel" in page.parts["rests-on"]
    assert "Looking up the order" not in page.parts["call-rows"]


async def test_no_frame_tells_a_reader_the_models_words(record: Record, opens: Any) -> None:
    answer = record.drawn["choices"].answer
    page = await opens("rhea", answer, version=0)
    await page.watch()
    await page.hear()
    await record.call(answer, SECRET, "open")
    await page.hear_until("call-3", "a call without a name")
    assert page.parts.keys() >= {"call-rows", "rests-on", "answer-effects"}
    assert not [text for text in page.seen if MODELS_SIDE in text]
    assert not page.parts.keys() & {"spawns", "timeline", "answer-facts", "host-check", "model-call-1"}


async def test_an_operator_follows_the_tool_choice_too(record: Record, opens: Any) -> None:
    answer = record.drawn["running"].answer
    page = await opens("omar", answer)
    await page.watch()
    await page.hear()

    def choose() -> None:
        answer.refresh_from_db()
        record.pen.choice(
            answer, "outcome", 7, {"called": [SECRET], "miss": {"wanted": [SECRET]}}, missed=True
        )
        models.Answer.objects.filter(pk=answer.pk).update(version=record.pen.position)

    await sync_to_async(choose)()
    await record.ring(answer)
    await page.hear_until("model-call-1", "Asked for, and not shown")


async def test_texts_that_are_forgotten_leave_open_pages(record: Record, opens: Any) -> None:
    page = await opens("rhea", record.drawn["named"].answer)
    await page.watch()
    await page.hear()
    await models.Text.objects.all().adelete()
    await announce.ring(Changed(record.project.id, 1, 0, people=True))
    await page.hear_until("answer-said", "forgotten")
    assert "NW-77" not in page.parts["answer-question"]


async def test_another_epoch_sends_the_whole(record: Record, opens: Any) -> None:
    page = await opens("rhea", record.drawn["named"].answer)
    await page.watch()
    await page.hear()

    def rebuilt() -> None:
        for model in (models.Run, models.Answer, models.ToolCall, models.DeclaredName, models.SeenName):
            model.objects.update(epoch=2)
        models.Project.objects.filter(pk=record.project.pk).update(epoch=2)

    await sync_to_async(rebuilt)()
    await announce.ring(Changed(record.project.id, 2, 0, people=True))
    assert (await page.hear())["type"] == "again"
    await page.watch(version=0)
    whole = await page.hear()
    assert whole["epoch"] == 2
    assert "call-4" in page.parts["call-rows"]


async def test_what_is_committed_while_a_feed_reads_reaches_who_comes_then(
    record: Record, opens: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts read before a commit and rows read after it: a page that stands at the older version lacks the row."""
    monkeypatch.setattr("runs.live.sources.SMALL_EVERY_S", 0.0)  # every look is at the whole
    monkeypatch.setattr("runs.live.sources.WHOLE_SHARE", float("inf"))
    answer = record.drawn["running"].answer
    late = await opens("rhea", answer)
    read_small = answer_parts.read_small

    def and_then_a_call_comes(*args: Any, **named: Any) -> Any:
        monkeypatch.setattr(answer_parts, "read_small", read_small)
        found = read_small(*args, **named)
        record._call(answer, LOOK_UP, "error")
        return found

    stays = await opens("rhea", answer)
    await stays.watch()
    await stays.hear()
    monkeypatch.setattr(answer_parts, "read_small", and_then_a_call_comes)
    await record.ring(answer)
    await stays.hear_until("call-3", "did not work")
    await late.watch()
    await late.hear_until("call-3", "did not work")
    await record.ring(answer)
    await late.hear_until("rests-on", "Looking up the order was tried and did not work.")
