"""One feed for all pages of a process that show the same to the same audience in the same words and zone.

A feed hears the doorbell, reads the store once, prints each changed part once and keeps the latest of each; the pages
take from it what is newer than what they have. So the cost of a change does not grow with the pages that watch it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass

from channels.db import database_sync_to_async
from django.db import DatabaseError, InterfaceError

from runs import announce
from runs.live.sources import Reading, Source, Version
from runs.pages.fragments import Fragment
from runs.store.people import ProjectRow
from runs.store.sittings import project_row

log = logging.getLogger("footprint.live")

SHORTEST_S = 0.04
"""At most so often a page hears something new: 25 times a second."""

LOOK_EVERY_S = 5.0
"""So often a feed looks by itself: a ring may be lost, a deadline may pass."""

RESTS = 2.0  # a feed rests so many times as long as its reading took


@dataclass(frozen=True, slots=True)
class Part:
    """A part as last printed. `serial` grows with every change in the feed; `position` is a row's own version."""

    serial: int
    fragment: Fragment
    position: int | None


@dataclass(frozen=True, slots=True)
class Frame:
    """What one page is sent: ready text, and where the page then stands."""

    text: str
    serial: int
    changes: int


class Feed:
    def __init__(self, project: ProjectRow, source: Source, on_empty: Callable[[], None]) -> None:
        self.project = project
        self.source = source
        self.version: Version | None = None
        self.serial = 1
        self.reset_serial = 1
        self.gone = False
        self.finished = False
        self.watched: Counter[str] = Counter()  # rows that pages have in view, where a source wants to know
        self._parts: dict[str, Part] = {}
        self._settled = False
        self._due_s: float | None = None
        self._failing = False
        self._began: Version | None = None
        self._pages: set[asyncio.Event] = set()
        self._on_empty = on_empty
        self._first_look = asyncio.Event()
        self._frames: dict[tuple[int, int], Frame] = {}
        self._task = asyncio.get_running_loop().create_task(self._run())

    # -- for the pages ----------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def news(self) -> AsyncIterator[asyncio.Event]:
        """An event that is set when there is something new. Inside, the feed lives and has looked at least once."""
        woken = asyncio.Event()
        self._pages.add(woken)
        try:
            await self._first_look.wait()
            yield woken
        finally:
            self._pages.discard(woken)
            if not self._pages:
                self._task.cancel()
                self._on_empty()

    def frame_since(self, serial: int) -> Frame | None:
        """What changed after `serial`, for every page alike; None when nothing did."""
        if serial >= self.serial:
            return None
        key = (serial, self.serial)
        if key not in self._frames:
            changed = [part.fragment for part in self._parts.values() if part.serial > serial]
            self._frames[key] = self.frame(changed)
        return self._frames[key]

    def frame(self, fragments: Iterable[Fragment], version: Version | None = None, **more: object) -> Frame:
        """`version`: where a page stands that has these, if not where the feed stands now."""
        shown = list(fragments)
        version = version or self.version
        assert version is not None
        body = {
            "type": "show",
            "epoch": version.epoch,
            "version": version.position,
            "words": version.words,
            "finished": self.finished,
            "parts": [
                {"id": part.id, "html": part.html, **({"in": part.container} if part.container else {})}
                for part in shown
            ],
            **more,
        }
        return Frame(json.dumps(body, ensure_ascii=False, separators=(",", ":")), self.serial, len(shown))

    async def catch_up(self, shown: Version | None, through: int) -> list[Fragment]:
        """What a page lacks that shows the answer at `shown`, to stand where the feed stands now."""
        assert self.version is not None and self._began is not None
        if shown is None or not self.version.follows(shown):
            return await self.whole(through)
        if shown == self.version and self._settled:
            return self._rows_after(shown.position)
        parts = [part.fragment for part in self._parts.values() if part.position is None]
        if shown.position >= self._began.position:
            return [*parts, *self._rows_after(shown.position)]
        missed = await database_sync_to_async(self.source.rows_since)(self.project, shown.position)
        return await self.whole(through) if missed is None else [*parts, *(row for _, row in missed)]

    def _rows_after(self, position: int) -> list[Fragment]:
        rows = (part for part in self._parts.values() if part.position is not None)
        return [part.fragment for part in rows if (part.position or 0) > position]

    async def whole(self, through: int) -> list[Fragment]:
        return list(await database_sync_to_async(self.source.whole)(self.project, through) or ())

    # -- by itself ----------------------------------------------------------------------------------

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        async with announce.watch(self.project.id, slug=self.source.slug) as ear:
            while True:
                begun = loop.time()
                try:
                    await self._look()
                except (DatabaseError, InterfaceError) as problem:
                    if not self._failing:  # said once, however long it lasts
                        log.warning(
                            "The record of open pages cannot be read (%s); trying again",
                            type(problem).__name__,
                        )
                    self._failing = True
                except Exception:
                    log.warning("A live page's record could not be read; trying again", exc_info=True)
                else:
                    self._failing = False
                if self.version is not None or self.gone:
                    self._first_look.set()
                took = loop.time() - begun
                await asyncio.sleep(max(SHORTEST_S - took, took * RESTS))
                rung = await ear.next(LOOK_EVERY_S if self._due_s is None else max(self._due_s, SHORTEST_S))
                if rung is not None and rung.people:
                    self._wake()  # who may see it may have changed, even where it has not

    async def _look(self) -> None:
        self._due_s = None
        reading = await database_sync_to_async(self._read)()
        if reading is None:
            self.gone = True
            self._wake()
            return
        if self._take(reading):
            self._wake()

    def _read(self) -> Reading | None:
        project = project_row(self.project.id)
        if project is None:
            return None
        self.project = project
        return self.source.read(project, self.version, list(self.watched))

    def _take(self, reading: Reading) -> bool:
        """Keep what was printed; whether anything is new."""
        serial = self.serial + 1
        moved = self.version is not None and not reading.version.follows(self.version)
        if self.version is None or moved:
            self._parts.clear()
            self._began = reading.version
        new = [
            (fragment, position)
            for position, fragment in (*((None, part) for part in reading.parts), *reading.rows)
            if (old := self._parts.get(fragment.id)) is None or old.fragment.html != fragment.html
        ]
        finished_now = reading.finished != self.finished
        first = self.version is None
        self._settled, self._due_s = reading.settled, reading.due_s
        self.version, self.finished = reading.version, reading.finished
        if not (new or moved or finished_now):
            return False
        self.serial = serial
        for fragment, position in new:
            self._parts[fragment.id] = Part(serial, fragment, position)
        if moved:
            self.reset_serial = serial
        self._frames.clear()
        return not first

    def _wake(self) -> None:
        for woken in self._pages:
            woken.set()


class Feeds:
    """The feeds of one event loop, by what they show to whom."""

    def __init__(self) -> None:
        self._feeds: dict[tuple[object, ...], Feed] = {}

    def feed(self, key: tuple[object, ...], project: ProjectRow, make: Callable[[], Source]) -> Feed:
        if key not in self._feeds:
            self._feeds[key] = Feed(project, make(), lambda: self._forget(key))
        return self._feeds[key]

    def _forget(self, key: tuple[object, ...]) -> None:
        self._feeds.pop(key, None)
