"""Who may keep a page open, and what ends it: read again before every send."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session

from runs import announce, models
from runs.announce import Changed
from tests.live.conftest import Record
from tests.sample import LOOK_UP


async def is_told_to_go(page: Any) -> bool:
    """`gone`, then the close, and nothing of the record before."""
    message = await page.hear()
    if message["type"] != "gone":
        return False
    closed = await page.socket.receive_output(3)
    return bool(closed["type"] == "websocket.close")


@pytest.mark.parametrize("who", ["sam", None])
async def test_strangers_and_nobody_are_told_what_nothing_tells(
    record: Record, opens: Any, who: str | None
) -> None:
    page = await opens(who, record.drawn["named"].answer)
    await page.watch()
    assert await is_told_to_go(page)
    nothing = await opens("rhea", record.drawn["named"].answer, slug="a-slug-of-nothing")
    await nothing.watch()
    assert await is_told_to_go(nothing)
    assert nothing.seen == page.seen


@pytest.mark.parametrize(
    "origin",
    ["null", "http://evil.example", "https://testserver", "http://testserver:81", "http://a.testserver", ""],
)
async def test_pages_of_other_origins_are_refused_before_anything_is_said(
    record: Record, opens: Any, origin: str
) -> None:
    page = await opens("rhea", record.drawn["named"].answer, origin=origin)
    assert not page.connected


@pytest.mark.parametrize(
    "word", ["{", "[]", '{"type":"watch"}', '{"type":"watch","page":"admin","project":"x"}', "x" * 20_000]
)
async def test_what_is_no_watch_is_closed(record: Record, opens: Any, word: str) -> None:
    page = await opens("rhea", record.drawn["named"].answer)
    await page.socket.send_to(word)
    assert (await page.socket.receive_output(3))["code"] == 4400


async def remove(record: Record) -> None:
    await models.Membership.objects.filter(user=record.people.rhea).adelete()


async def make_operator(record: Record) -> None:
    await models.Membership.objects.filter(user=record.people.rhea).aupdate(role="operator")


async def log_out(record: Record) -> None:
    await Session.objects.all().adelete()


async def new_password(record: Record) -> None:
    record.people.rhea.set_password("another-word-now")
    await sync_to_async(record.people.rhea.save)()


async def deactivate(record: Record) -> None:
    record.people.rhea.is_active = False
    await sync_to_async(record.people.rhea.save)()


@pytest.mark.parametrize("happens", [remove, make_operator, log_out, new_password, deactivate])
async def test_what_ends_a_right_ends_the_open_page_before_the_next_word(
    record: Record, opens: Any, happens: Any
) -> None:
    answer = record.drawn["running"].answer
    page = await opens("rhea", answer)
    await page.watch()
    await page.hear()
    await happens(record)
    await record.call(answer, LOOK_UP)
    assert await is_told_to_go(page)
    assert "call-3" not in page.parts


async def test_a_ring_about_people_ends_it_without_any_news(record: Record, opens: Any) -> None:
    page = await opens("rhea", record.drawn["named"].answer)
    await page.watch()
    await page.hear()
    await remove(record)
    await announce.ring(Changed(record.project.id, 1, 0, people=True))
    assert await is_told_to_go(page)


async def test_a_deleted_run_ends_its_open_pages(record: Record, opens: Any) -> None:
    answer = record.drawn["failed"].answer
    page = await opens("rhea", answer)
    await page.watch()
    await page.hear()
    await models.ToolCall.objects.filter(answer=answer).adelete()
    await models.Answer.objects.filter(pk=answer.pk).adelete()
    await announce.ring(Changed(record.project.id, 1, 0, people=True))
    assert await is_told_to_go(page)
