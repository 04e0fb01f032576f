"""The doorbell: who wakes, from which thread, and that nothing waits for it."""

import asyncio
import json
import threading
from dataclasses import asdict

from runs import announce
from runs.announce import Changed


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
        announce._hub.join(page)
        return page

    page = asyncio.run(leave_in_a_hurry())
    announce.ring_from_sync(Changed(9, 1, 1, words=True))
    announce._hub.leave(page)


class _Wire:
    """A layer that joins processes, as far as the doorbell uses one."""

    def __init__(self) -> None:
        self.groups: dict[str, set[str]] = {}
        self.queues: dict[str, asyncio.Queue[dict]] = {}

    async def new_channel(self, prefix: str) -> str:
        name = f"{prefix}.{len(self.queues)}"
        self.queues[name] = asyncio.Queue()
        return name

    async def group_add(self, group: str, channel: str) -> None:
        self.groups.setdefault(group, set()).add(channel)

    async def group_send(self, group: str, message: dict) -> None:
        for channel in self.groups.get(group, ()):
            self.queues[channel].put_nowait(message)

    async def receive(self, channel: str) -> dict:
        return await self.queues[channel].get()


async def test_a_ring_of_another_process_reaches_this_one_and_its_own_comes_once(monkeypatch):
    wire = _Wire()
    monkeypatch.setattr(announce, "get_channel_layer", lambda: wire)
    monkeypatch.setattr(announce, "_relay", None)
    heard = []
    monkeypatch.setattr(announce._hub, "deliver", heard.append)
    mine, theirs = Changed(4, 1, 7, answers=("a",)), Changed(4, 1, 8, runs=("r",), answers=("a",))
    async with announce.watch(4, slug="a"):
        await announce.ring(mine)
        sent = {"type": announce.MESSAGE, "from": "another", "changed": asdict(theirs)}
        await wire.group_send("project.4", json.loads(json.dumps(sent)))
        await asyncio.sleep(0.02)
    assert heard == [mine, theirs]
