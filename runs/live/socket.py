"""The live websocket: one connection an open page.

The page says what it shows and at which version; it is sent what it lacks, then every change, as parts printed by the
page's own templates. Before every send its session, person and role are read again (`gate`).

In    {"type": "watch", "page", "project", "slug", "epoch", "version", "words", "through", "rows", "again"}
Out   {"type": "show", "epoch", "version", "words", "finished", "parts": [{"id", "html", "in"?}], "says"?}
      {"type": "beat"}     nothing new, and the line holds
      {"type": "again"}    everything may be different (a rename): watch again, to be sent the whole
      {"type": "gone"}     there is nothing to see any more (also: not by you); the page loads itself anew
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from django.db import DatabaseError, InterfaceError

from runs import measures
from runs.live.feeds import Feed, Feeds, Frame
from runs.live.gate import Gate
from runs.live.sources import AnswerSource, RunSource, RunsSource, Source, Version
from runs.rules import words
from runs.rules.origin import origin_is_allowed
from runs.store.people import OPERATOR, READER
from runs.store.sittings import Seat, Sitting

log = logging.getLogger("footprint.live")

Message = dict[str, Any]

LOG_IN, FORBIDDEN, NOTHING_HERE, NOT_OURS, TROUBLE = 4401, 4403, 4404, 4400, 1011
FIRST_WORD_S = 10.0
LOOK_EVERY_S = 5.0  # so often a page that hears nothing new is checked all the same
BEAT_EVERY_S = 20.0
LONGEST_FRAME = 16 * 1024
MOST_ROWS_WATCHED = 100


class Watch(msgspec.Struct, tag_field="type", tag="watch"):
    """What a page says it shows."""

    page: Literal["answer", "run", "runs"]
    project: str
    slug: str = ""
    epoch: int = 0
    version: int = 0
    words: int = 0
    through: int = 0
    rows: list[str] = []
    again: bool = False

    @property
    def shown(self) -> Version | None:
        return Version(self.epoch, self.version, self.words) if self.version else None


_read_watch = msgspec.json.Decoder(Watch).decode


class LiveSocket:
    """An ASGI application, to be wrapped in what reads the session's cookie."""

    @classmethod
    def as_asgi(cls) -> Callable[[Message, Any, Any], Awaitable[None]]:
        async def application(scope: Message, receive: Any, send: Any) -> None:
            with measures.watchers.track_inprogress():
                await cls(scope, receive, send).serve()

        return application

    def __init__(self, scope: Message, receive: Any, send: Any) -> None:
        self._headers = {name.lower(): value for name, value in scope["headers"]}
        self._secure = scope.get("scheme") == "wss"
        self._session: str = scope["session"].session_key or ""
        self._receive, self._send = receive, send
        self._asked: Watch | None = None
        self._woken = asyncio.Event()
        self._spoke_at = 0.0

    def _has_asked(self) -> bool:
        return self._asked is not None

    async def serve(self) -> None:
        message = await self._receive()
        if message["type"] != "websocket.connect":
            return
        origin = self._headers.get(b"origin", b"")
        if not origin_is_allowed(origin, self._headers.get(b"host", b""), self._secure):
            await self._send({"type": "websocket.close"})  # before it is accepted: HTTP 403, and nothing said
            return
        await self._send({"type": "websocket.accept"})
        reader = asyncio.ensure_future(self._read())
        shower = asyncio.ensure_future(self._show())
        try:
            done, _ = await asyncio.wait({reader, shower}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except _Closed as closed:
            await self._close(closed)
        except _Left:
            pass
        except (DatabaseError, InterfaceError):  # the gate has said it; the page comes back by itself
            await self._close(_Closed(TROUBLE))
        finally:
            for task in (reader, shower):
                task.cancel()
                with contextlib.suppress(
                    asyncio.CancelledError, _Closed, _Left, DatabaseError, InterfaceError
                ):
                    await task

    # -- hearing the page -------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(FIRST_WORD_S):
                self._hear(await self._next_text())
        except TimeoutError:
            raise _Closed(NOT_OURS) from None
        while True:
            self._hear(await self._next_text())

    async def _next_text(self) -> str:
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            raise _Left
        text: str | None = message.get("text")
        if text is None or len(text) > LONGEST_FRAME:
            raise _Closed(NOT_OURS)
        return text

    def _hear(self, text: str) -> None:
        try:
            self._asked = _read_watch(text.encode("utf-8", "replace"))
        except msgspec.DecodeError:
            raise _Closed(NOT_OURS) from None
        self._woken.set()

    # -- showing it what it lacks -----------------------------------------------------------------

    async def _show(self) -> None:
        await self._woken.wait()
        while True:
            watch = self._asked
            assert watch is not None
            self._asked = None
            await self._follow(watch)

    async def _follow(self, watch: Watch) -> None:
        """Until the page asks for something else, or for the same from the beginning."""
        room = _room()
        sitting = Sitting(self._session, watch.project)
        seat = await self._seat(room, sitting)
        feed = room.feed(seat, watch)
        with _in_view(feed, watch.rows):
            async with feed.news(sitting, self._woken):
                if feed.gone:
                    raise _Closed(NOTHING_HERE)
                # What changes from here on comes with the next frame.
                serial, version = feed.serial, feed.version
                parts = await feed.catch_up(watch.shown, watch.through)
                self._still(await self._seat(room, sitting), seat)
                says = {"says": words.caught_up(len(parts))} if watch.again else {}
                await self._say(feed.frame(parts, version, **says).text)
                while not self._has_asked():
                    await self._wait(LOOK_EVERY_S)
                    if self._has_asked():
                        return
                    if feed.gone:
                        raise _Closed(NOTHING_HERE)
                    frame: Frame | None = feed.frame_since(serial)
                    if frame is not None and feed.has_asked_for(sitting):
                        self._still(feed.seat(sitting), seat)
                    else:
                        self._still(await self._seat(room, sitting), seat)
                    if serial < feed.reset_serial:
                        await self._say(_AGAIN)
                        await self._next_word(BEAT_EVERY_S)
                        if not self._has_asked():
                            raise _Closed(NOT_OURS)  # a page that does not answer is gone
                        return
                    if frame is not None:
                        await self._say(frame.text)
                        serial = frame.serial
                    elif asyncio.get_running_loop().time() - self._spoke_at >= BEAT_EVERY_S:
                        await self._say(_BEAT)

    async def _wait(self, seconds: float) -> None:
        """For news, for a word of the page, or for the time to look again."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self._woken.clear()

    async def _next_word(self, seconds: float) -> None:
        until = asyncio.get_running_loop().time() + seconds
        while not self._has_asked() and (left := until - asyncio.get_running_loop().time()) > 0:
            await self._wait(left)

    async def _seat(self, room: _Room, sitting: Sitting) -> Seat:
        seat = await room.gate.seat(sitting)
        if seat is None:
            raise _Closed(NOTHING_HERE)
        return seat

    def _still(self, now: Seat | None, before: Seat) -> None:
        """With another role or another zone the page has to load itself anew; without a seat it may see nothing."""
        if now is None:
            raise _Closed(NOTHING_HERE)
        if (now.role, now.project.time_zone) != (before.role, before.project.time_zone):
            raise _Closed(FORBIDDEN)

    async def _say(self, text: str) -> None:
        self._spoke_at = asyncio.get_running_loop().time()
        await self._send({"type": "websocket.send", "text": text})

    async def _close(self, closed: _Closed) -> None:
        with contextlib.suppress(Exception):  # the page may have left meanwhile
            if closed.code not in (NOT_OURS, TROUBLE):
                await self._send({"type": "websocket.send", "text": _GONE})
            await self._send({"type": "websocket.close", "code": closed.code})


_BEAT, _AGAIN, _GONE = (json.dumps({"type": word}) for word in ("beat", "again", "gone"))


class _Closed(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Left(Exception):
    """The page was closed."""


@dataclass(slots=True)
class _Room:
    """What the live pages of one event loop share."""

    loop: asyncio.AbstractEventLoop
    gate: Gate = field(default_factory=Gate)
    feeds: Feeds = field(default_factory=Feeds)

    def feed(self, seat: Seat, watch: Watch) -> Feed:
        role = READER if seat.role == READER else OPERATOR  # admins see of these pages what operators see
        key = (watch.page, seat.project.id, watch.slug, role, seat.project.time_zone)
        return self.feeds.feed(key, seat.project, lambda: _source(watch, role))


def _source(watch: Watch, role: str) -> Source:
    if watch.page == "runs":
        return RunsSource(role)
    return RunSource(watch.slug, role) if watch.page == "run" else AnswerSource(watch.slug, role)


@contextlib.contextmanager
def _in_view(feed: Feed, rows: list[str]) -> Iterator[None]:
    """A list's source reads only the rows that some page has in view."""
    seen = rows[:MOST_ROWS_WATCHED]
    feed.watched.update(seen)
    try:
        yield
    finally:
        feed.watched.subtract(seen)
        for row in seen:
            if feed.watched[row] <= 0:
                del feed.watched[row]


_the_room: _Room | None = None


def _room() -> _Room:
    global _the_room
    loop = asyncio.get_running_loop()
    if _the_room is None or _the_room.loop is not loop:
        _the_room = _Room(loop)
    return _the_room
