"""What changed, and the open pages of this process that listen for it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed, as ids and positions only. `runs` and `answers` are slugs; a leg's ring names the chain's run.

    `words`: a display name changed. `people`: a membership or a role changed, or texts were forgotten, or a run was
    deleted: every page of the project looks again at what it may show.
    """

    project_id: int
    epoch: int
    position: int
    runs: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    words: bool = False
    people: bool = False


@dataclass(slots=True)
class Rung:
    """What one page heard since it last looked: the rings put together."""

    epoch: int = 0
    position: int = 0
    words: bool = False
    people: bool = False

    def add(self, changed: Changed) -> None:
        self.epoch = max(self.epoch, changed.epoch)
        self.position = max(self.position, changed.position)
        self.words |= changed.words
        self.people |= changed.people


class Watch:
    """One open page's ear. Made by `watch`, used on the loop it was made on."""

    def __init__(self, topics: Iterable[tuple[int, str]]) -> None:
        self.topics = tuple(topics)
        self._loop = asyncio.get_running_loop()
        self._rung: Rung | None = None
        self._woken = asyncio.Event()

    async def next(self, timeout: float) -> Rung | None:
        """What was rung since the last call, at once when there is something; None after `timeout` seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), timeout)
        rung, self._rung = self._rung, None
        self._woken.clear()
        return rung

    def hear(self, changed: Changed) -> None:
        """From any thread."""
        with contextlib.suppress(RuntimeError):  # its loop has ended: nobody listens
            self._loop.call_soon_threadsafe(self._note, changed)

    def _note(self, changed: Changed) -> None:
        self._rung = self._rung or Rung()
        self._rung.add(changed)
        self._woken.set()


EVERYTHING = "*"
RUNS = "runs"


def _topics(changed: Changed) -> Iterable[tuple[int, str]]:
    if changed.words or changed.people or not (changed.runs or changed.answers):
        yield changed.project_id, EVERYTHING
        return
    yield changed.project_id, RUNS
    for slug in (*changed.runs, *changed.answers):
        yield changed.project_id, slug


class Hub:
    """Every open page of this process by what it listens to. A ring costs what the pages it wakes cost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: dict[tuple[int, str], set[Watch]] = {}

    def join(self, page: Watch) -> None:
        with self._lock:
            for topic in page.topics:
                self._pages.setdefault(topic, set()).add(page)

    def leave(self, page: Watch) -> None:
        with self._lock:
            for topic in page.topics:
                listening = self._pages.get(topic, set())
                listening.discard(page)
                if not listening:
                    self._pages.pop(topic, None)

    def deliver(self, changed: Changed) -> None:
        with self._lock:
            woken = {page for topic in _topics(changed) for page in self._pages.get(topic, ())}
        for page in woken:
            page.hear(changed)

    def deliver_everywhere(self) -> None:
        """Wake every page: rings may have been missed."""
        with self._lock:
            woken = {page for pages in self._pages.values() for page in pages}
        for page in woken:
            page.hear(Changed(page.topics[0][0], 0, 0))


here = Hub()
