"""The doorbell: who wakes, from which thread, and that nothing waits for it."""

import asyncio
import json
import threading
from dataclasses import asdict

import pytest

from runs import announce
from runs.announce import Changed, line
from runs.announce.hub import here


async def test_a_page_wakes_for_its_own_answer_and_not_for_another():
    async with announce.watch(1, slug="mine") as page, announce.watch(1, slug="other") as other:
        await announce.ring(Changed(1, 1, 10, runs=("run",), answers=("mine",)))
        rung = await page.next(timeout=1)
        assert rung is not None
        assert (rung.epoch, rung.position) == (1, 10)
        assert await other.next(timeout=0.01) is None


async def test_rings_between_two_looks_come_as_one():
    async with announce.watch(1) as page:
        for position in (3, 5, 4):
            await announce.ring(Changed(1, 1, position, runs=("a",)))
        await announce.ring(Changed(1, 1, 6, words=True))
        rung = await page.next(timeout=1)
        assert rung is not None
        assert (rung.position, rung.words, rung.people) == (6, True, False)
        assert await page.next(timeout=0.01) is None


async def test_words_and_people_wake_every_page_of_the_project_and_none_of_another():
    async with announce.watch(1, slug="a") as mine, announce.watch(2, slug="a") as theirs:
        await announce.ring(Changed(1, 1, 1, people=True))
        rung = await mine.next(timeout=1)
        assert rung is not None
        assert rung.people
        assert await theirs.next(timeout=0.01) is None


async def test_a_view_in_a_thread_of_its_own_rings():
    async with announce.watch(1, slug="a") as page:
        threading.Thread(target=announce.ring_from_sync, args=(Changed(1, 1, 2, answers=("a",)),)).start()
        assert await page.next(timeout=2) is not None


def test_a_page_whose_loop_is_gone_hurts_nobody():
    async def leave_in_a_hurry() -> announce.Watch:
        page = announce.Watch([(9, "*")])
        here.join(page)
        return page

    page = asyncio.run(leave_in_a_hurry())
    announce.ring_from_sync(Changed(9, 1, 1, words=True))
    here.leave(page)


class _Wire:
    """A layer that joins processes, as far as the doorbell uses one."""

    def __init__(self) -> None:
        self.groups: dict[str, set[str]] = {}
        self.queues: dict[str, asyncio.Queue[dict]] = {}
        self.deaf: set[str] = set()

    async def new_channel(self, prefix: str) -> str:
        name = f"{prefix}.{len(self.queues)}"
        self.queues[name] = asyncio.Queue()
        return name

    async def group_add(self, group: str, channel: str) -> None:
        self.groups.setdefault(group, set()).add(channel)

    async def group_send(self, group: str, message: dict) -> None:
        for channel in self.groups.get(group, ()):
            await self.send(channel, message)

    async def receive(self, channel: str) -> dict:
        return await self.queues[channel].get()

    async def send(self, channel: str, message: dict) -> None:
        if channel not in self.deaf:
            self.queues[channel].put_nowait(message)

    async def flush(self) -> None:
        self.groups.clear()


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> _Wire:
    wire = _Wire()
    monkeypatch.setattr(line, "get_channel_layer", lambda: wire)
    monkeypatch.setattr(line, "_new_layer", lambda: wire)
    monkeypatch.setattr(line, "_line", None)
    monkeypatch.setattr(line, "REST_S", 0.0)
    return wire


def from_another(changed: Changed) -> dict:
    sent = {"type": line.MESSAGE, "from": "another", "changed": asdict(changed)}
    return json.loads(json.dumps(sent))


async def test_a_ring_of_another_process_reaches_this_one_and_its_own_comes_once(wire, monkeypatch):
    heard: asyncio.Queue[Changed] = asyncio.Queue()
    monkeypatch.setattr(here, "deliver", heard.put_nowait)
    mine, theirs = Changed(4, 1, 7, answers=("a",)), Changed(4, 1, 8, runs=("r",), answers=("a",))
    async with announce.watch(4, slug="a"):
        await announce.ring(mine)
        await wire.group_send("project.4", from_another(theirs))
        assert [await heard.get(), await heard.get()] == [mine, theirs]


async def test_rings_that_wait_for_the_line_go_as_one_for_each_project(wire):
    async with announce.watch(4):
        wire.groups["project.4"].add("other")
        wire.groups["project.5"] = {"other"}
        wire.queues["other"] = other = asyncio.Queue()
        for ring in (
            Changed(4, 1, 7, ("a",)),
            Changed(5, 1, 1, ("x",)),
            Changed(4, 1, 9, ("b",), people=True),
        ):
            await announce.ring(ring)
        told = [line._read((await other.get())["changed"]) for _ in range(2)]
    assert told == [Changed(4, 1, 9, ("a", "b"), people=True), Changed(5, 1, 1, ("x",))]


async def test_a_line_that_fell_silent_is_noticed_and_another_one_hears_again(wire, monkeypatch, caplog):
    monkeypatch.setattr(line, "QUIET_S", 0.05)
    monkeypatch.setattr(line, "ANSWERS_WITHIN_S", 0.05)
    monkeypatch.setattr(line, "FIRST_PAUSE_S", 0.01)
    async with announce.watch(4, slug="a") as page:
        wire.deaf = set(wire.queues)  # as a subscription that was lost without a word
        rung = await page.next(timeout=5)  # all pages look when the next line is open
        assert rung is not None
        await wire.group_send("project.4", from_another(Changed(4, 1, 8, answers=("a",))))
        rung = await page.next(timeout=5)
        assert rung is not None
        assert rung.position == 8
    said = [record.getMessage() for record in caplog.records if record.name == "footprint.announce"]
    assert said[0].startswith("Other processes cannot be told of changes (TimeoutError)")


def test_more_than_a_ring_can_name_is_the_whole_project():
    many = tuple(f"run-{number}" for number in range(line.MOST_NAMED))
    assert line._together(Changed(1, 1, 1, many), Changed(1, 1, 2, ("one-more",))) == Changed(1, 1, 2)
    assert line._together(Changed(1, 1, 1, many), Changed(1, 1, 2, ("run-3",))).runs == many
    assert line._together(Changed(1, 1, 3), Changed(1, 1, 2, ("run-3",))) == Changed(1, 1, 3)
