"""The page of a run and the list of runs, followed."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async

from runs import models
from tests.live.conftest import OpenPage, Record
from tests.sample import LOOK_UP, MODELS_SIDE, SECRET


async def follow(opens: Any, who: str, record: Record, **about: Any) -> OpenPage:
    answer = record.drawn["running"].answer
    page: OpenPage = await opens(who, answer, version=0, **about)
    await page.watch()
    await page.hear()
    return page


async def test_a_run_is_followed_call_by_call(record: Record, opens: Any) -> None:
    story = record.drawn["running"]
    page = await follow(opens, "rhea", record, page="run", slug=story.run.slug)
    await record.call(story.answer, LOOK_UP, "error")
    await page.hear_until("run-now", "did not work")
    await record.call(story.answer, SECRET)
    await page.hear_until("run-now", "a call without a name")
    assert not [text for text in page.seen if MODELS_SIDE in text]
    assert "run-timeline" not in page.parts


async def test_an_operator_sees_names_and_what_was_spawned(record: Record, opens: Any) -> None:
    story = record.drawn["running"]
    page = await follow(opens, "omar", record, page="run", slug=story.run.slug)
    assert page.parts.keys() >= {"run-spawns", "run-timeline", "run-facts"}
    await record.call(story.answer, SECRET)
    await page.hear_until("run-now", "purge_zz")


async def test_the_rows_in_view_change_in_place_and_newer_runs_are_announced(
    record: Record, opens: Any
) -> None:
    story, other = record.drawn["running"], record.drawn["named"]
    page = await follow(opens, "rhea", record, page="runs", slug="", rows=[story.run.slug])
    assert f"run-{other.run.slug}" not in page.parts
    before = page.parts["runs-newest"]
    await record.call(story.answer, LOOK_UP, "error")
    await page.hear_until(f"run-{story.run.slug}", "✕</span>1")

    def another() -> models.Answer:
        answer = record.pen.answer(record.pen.run("newer"), "And now?", "Now.")
        record.pen.done()
        return answer

    answer = await sync_to_async(another)()
    await record.ring(answer)
    await page.hear_until("runs-newest", str(answer.run.first_position))
    assert page.parts["runs-newest"] != before
    assert MODELS_SIDE not in "".join(page.seen)
