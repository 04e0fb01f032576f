"""One feed for all pages of a process that show the same to the same audience in the same words and zone.

A feed hears the doorbell, reads the store once, prints each changed part once and keeps the latest of each; the pages
take from it what is newer than what they have. So the cost of a change does not grow with the pages that watch it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass

from channels.db import database_sync_to_async
from django.db import DatabaseError, InterfaceError

from runs import announce
from runs.live.sources import Reading, Source, Version
from runs.pages.fragments import Fragment
from runs.store.people import ProjectRow
from runs.store.sittings import Seat, Sitting, project_row, seats

log = logging.getLogger("footprint.live")

SHORTEST_S = 0.03
"""At most so often a page hears something new: some 30 times a second."""

LOOK_EVERY_S = 5.0
"""So often a feed looks by itself: a ring may be lost, a deadline may pass."""

RESTS = 1.0
"""A feed rests so many times as long as the processor worked to read and to tell its pages: many pages make all wait a
little longer, and leave ingest its share. What a source looks at seldom enough by itself is not counted."""


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
        self._pages: dict[asyncio.Event, Sitting] = {}
        self._seats: dict[Sitting, Seat | None] = {}
        self._on_empty = on_empty
        self._first_look = asyncio.Event()
        self._frames: dict[tuple[int, int], Frame] = {}
        self._task = asyncio.get_running_loop().create_task(self._run())

    # -- for the pages ----------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def news(self, sitting: Sitting, woken: asyncio.Event) -> AsyncIterator[None]:
        """Sets `woken` when there is something new. Inside, the feed lives and has looked at least once."""
        self._pages[woken] = sitting
        try:
            await self._first_look.wait()
            yield
        finally:
            del self._pages[woken]
            if not self._pages:
                self._task.cancel()
                self._on_empty()

    def has_asked_for(self, sitting: Sitting) -> bool:
        """Whether the gate was asked for this sitting after everything was read that is in the latest frame."""
        return sitting in self._seats

    def seat(self, sitting: Sitting) -> Seat | None:
        """What the gate answered then."""
        return self._seats[sitting]

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
            rung: announce.Rung | None = None
            while True:
                begun, spent = loop.time(), 0.0
                try:
                    spent = await self._look(all_of_it=rung is not None and (rung.people or rung.words))
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
                working = time.thread_time()
                for _ in range(2):
                    await asyncio.sleep(0)  # the pages that were woken send what is new
                spent += time.thread_time() - working
                await asyncio.sleep(max(SHORTEST_S - (loop.time() - begun), spent * RESTS))
                rung = await ear.next(LOOK_EVERY_S if self._due_s is None else max(self._due_s, SHORTEST_S))
                if rung is not None and rung.people:
                    self._seats = {}
                    self._wake()  # who may see it may have changed, even where it has not

    async def _look(self, *, all_of_it: bool) -> float:
        """Read and wake the pages when there is news. Processor seconds it took to read."""
        self._due_s = None
        spent: float
        reading, found, spent = await database_sync_to_async(self._read)(set(self._pages.values()), all_of_it)
        if reading is None:
            self.gone = True
            self._wake()
        elif self._take(reading):
            self._seats = found
            self._wake()
        return spent

    def _read(
        self, sittings: set[Sitting], all_of_it: bool
    ) -> tuple[Reading | None, dict[Sitting, Seat | None], float]:
        """What is new, who of these may still see it (asked after it was read), and processor seconds."""
        began = time.thread_time()
        stands = None if all_of_it else self.version
        reading = None if stands is None else self.source.read_quickly(stands)
        if reading is None:
            project = project_row(self.project.id)
            if project is not None:
                self.project = project
                reading = self.source.read(project, self.version, list(self.watched))
        found: dict[Sitting, Seat | None] = {}
        if reading is not None and (reading.parts or reading.rows):
            seated = seats(sittings)
            found = {sitting: seated.get(sitting) for sitting in sittings}
        return reading, found, 0.0 if self.source.looks_seldom else time.thread_time() - began

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
