"""The pages that a person keeps open, as far as their live sockets go: each message is looked at as it comes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from channels.testing import WebsocketCommunicator

from footprint_site.asgi import application
from runs.models import Project
from tests.readers.look import Look

PATIENCE_S = 20.0
AT_THE_BEGINNING = 1  # shown by a page that was loaded before anything of the project was on record
NOTHING = 0  # shown by a page that has to be sent the whole

ID = re.compile(r'\bid="([^"]+)"')

Headers = list[tuple[bytes, bytes]]


@dataclass
class OpenPage:
    kind: str  # answer, run or runs
    slug: str
    project: Project
    headers: Headers
    look: Look
    rows: list[str] = field(default_factory=list)  # a list's runs in view
    shown: set[str] = field(default_factory=set)  # ids of what it was sent
    by_itself: int = 0  # frames with parts that came because the record went on
    finished: bool = False
    gone: bool = False  # told that it shows nothing any more
    words: int = 0  # the version of the app's words it shows
    _socket: WebsocketCommunicator | None = None

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    async def connect(self, shows: int = NOTHING) -> None:
        """Connect, anew if it was connected, and hear what the page lacks that shows this version."""
        again = self.is_open
        await self.close()
        self._socket = WebsocketCommunicator(application, "/ws/live/", self.headers)
        await self._socket.send_input({"type": "websocket.connect"})
        assert await self._message() == {}  # the accept, with its headers
        await self._watch(shows, again=again)
        frame = self._take(await self._message())
        assert frame.get("type") in ("show", "gone"), f"{self.kind} page {self.slug} was told {frame}"

    async def hear_the_end(self) -> None:
        """Hear what comes by itself until the page is told that its run or answer has ended."""
        while not self.finished:
            if self.gone:
                return
            await self._hear()

    async def hear_news(self) -> None:
        """Hear something that comes by itself."""
        before = self.by_itself
        while self.by_itself == before:
            await self._hear()

    async def close(self) -> None:
        """Leave, and look at what was sent until then."""
        if self._socket is not None:
            await self._socket.disconnect(timeout=PATIENCE_S)
            while not self._socket.output_queue.empty():
                self._take(await self._message())
        self._socket = None

    async def _watch(self, shows: int, *, again: bool) -> None:
        assert self._socket is not None
        about = {
            "type": "watch", "page": self.kind, "project": self.project.key, "slug": self.slug,
            "epoch": self.project.epoch, "version": shows, "words": self.words, "rows": self.rows, "again": again,
        }  # fmt: skip
        await self._socket.send_json_to(about)

    async def _hear(self) -> None:
        frame = self._take(await self._message())
        if frame.get("type") == "again":
            await self._watch(NOTHING, again=False)
        self.by_itself += bool(frame.get("parts"))

    def _take(self, frame: dict[str, Any]) -> dict[str, Any]:
        self.gone |= frame.get("type") == "gone"
        for part in frame.get("parts", ()):
            self.shown.update(ID.findall(part["html"]))
        self.finished = frame.get("finished", self.finished)
        self.words = frame.get("words", self.words)
        return frame

    async def _message(self) -> dict[str, Any]:
        assert self._socket is not None
        message = await self._socket.receive_output(timeout=PATIENCE_S)
        return self.look.at_message(f"{self.kind} page {self.slug}", message)


@dataclass
class Browser:
    """Everything a person keeps open in one project. `pages` also has what was closed."""

    headers: Headers
    project: Project
    look: Look
    pages: list[OpenPage] = field(default_factory=list)

    def of(self, kind: str) -> list[OpenPage]:
        return [page for page in self.pages if page.kind == kind]

    async def open(self, kind: str, *slugs: str) -> None:
        """Open those pages of a kind that were not open yet."""
        known = {page.slug for page in self.of(kind)}
        new = [self._page(kind, slug) for slug in slugs if slug not in known]
        await asyncio.gather(*(page.connect() for page in new))

    async def list_runs(self, slugs: list[str]) -> None:
        """Load the list with these rows in view."""
        page = next(iter(self.of("runs")), None) or self._page("runs", "")
        page.rows = slugs
        await page.connect()

    async def hear_what_is_new(self, ended: Collection[str]) -> None:
        """Hear by themselves: the list some news, and each page of what has ended that it has."""
        lists = [page.hear_news() for page in self.of("runs")]
        pages = [page.hear_the_end() for page in self.pages if page.is_open and page.slug in ended]
        await asyncio.gather(*lists, *pages)

    async def reconnect(self) -> None:
        """Every page was away since the beginning and is back."""
        back = [page for page in self.pages if page.is_open and not page.gone]
        await asyncio.gather(*(page.connect(AT_THE_BEGINNING) for page in back))

    async def close(self) -> None:
        await asyncio.gather(*(page.close() for page in self.pages))

    def _page(self, kind: str, slug: str) -> OpenPage:
        page = OpenPage(kind, slug, self.project, self.headers, self.look)
        self.pages.append(page)
        return page
