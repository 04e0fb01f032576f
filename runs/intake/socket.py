"""The ingest websocket: one connection is one stream's sender, numbered (hello first) or bare (an event first).

A plain ASGI application: no channel layer, no thread hop a message. It reads frames, passes each line through the
allow-list, hands batches to the writer and tells the sender what was settled, after the commit and in order.
The protocol, for people who write senders: docs/wire.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from runs import measures
from runs.intake import frames, notices, service
from runs.intake.doors import TooMany, WrongToken, doors
from runs.intake.frames import BareEvents, Bye, Events, Hello, Lost, Problem
from runs.intake.numbering import Batch, Item, Missing, Settled
from runs.intake.settle import settle_unnumbered
from runs.intake.writer import now_ms
from runs.rules.kept import Dropped, Kept, Refused, keep
from runs.rules.origin import origin_is_allowed
from runs.store import incoming
from runs.store.tokens import TokenRow, find_token, tokens_in_force, touch_used

Message = dict[str, Any]
P = ParamSpec("P")
T = TypeVar("T")
LOOK_AGAIN_S = (
    10.0  # how long a token that was revoked or a stream taken over may go unnoticed without events
)
MOST_WINDOWS_WAITING = 10  # items brought and not yet settled, repeats among them, in windows
READ_ASIDE_FROM = 64 * 1024  # characters of a frame; reading more may take long enough to be felt by others

ENDS = {
    "revoked": (frames.NO_TOKEN, "the token was revoked"),
    "taken-over": (frames.TAKEN_OVER, "a newer connection of the same sender took this stream over"),
    "full": (
        frames.TOO_MUCH,
        "the project has taken its events of this day (UTC); keep them and try again later",
    ),
    "gone": (frames.NO_TOKEN, "the project is gone"),
    "trouble": (frames.TROUBLE, "the server could not store what came; connect again and resume"),
}


class IngestSocket:
    """One connection. `Closed` ends it from anywhere; every close is announced by a `closing` frame."""

    @classmethod
    def as_asgi(cls) -> Callable[[Message, Any, Any], Awaitable[None]]:
        async def application(scope: Message, receive: Any, send: Any) -> None:
            with measures.connections.track_inprogress():
                await cls(scope, receive, send).serve()

        return application

    def __init__(self, scope: Message, receive: Any, send: Any) -> None:
        self._headers = {name.lower(): value for name, value in scope["headers"]}
        self._secure = scope.get("scheme") == "wss"
        self._receive, self._send = receive, send
        self._visitor = doors.visitor(scope, settings.FOOTPRINT)
        self._token: TokenRow | None = None
        self._stream: incoming.OpenedStream | None = None
        self._stream_name = ""
        self._bare: bool | None = None
        self._top = 0  # the highest seq received
        self._settled = 0
        self._used_up = 0  # numbers to here are stored, and the sender does not know: its buffer was lost
        self._in_flight = 0  # new events brought and not yet settled
        self._bytes_waiting = 0
        self._items_waiting = 0
        self._told: deque[tuple[Settled, bool]] = deque()  # and whether it ends the stream
        self._news = asyncio.Event()
        self._service = service.running()

    @property
    def _limits(self) -> dict[str, int]:
        return self._visitor.limits

    @property
    def stream_id(self) -> int | None:
        return None if self._stream is None else self._stream.id

    async def serve(self) -> None:
        message = await self._receive()
        if message["type"] != "websocket.connect":
            return
        # Accepted first: a close before it would reach the sender as a bare HTTP 403 without a word.
        await self._send({"type": "websocket.accept"})
        try:
            self._visitor.come()
            await self._talk()
        except TooMany as problem:
            await self._close(_Closed(frames.TOO_MUCH, str(problem)))
        except WrongToken as problem:
            await self._close(_Closed(frames.NO_TOKEN, str(problem)))
        finally:
            self._visitor.leave()

    async def _talk(self) -> None:
        reader = asyncio.ensure_future(self._read())
        teller = asyncio.ensure_future(self._tell())
        try:
            done, _ = await asyncio.wait({reader, teller}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except _Closed as closed:
            await self._close(closed)
        except _Left as left:
            notices.tell_end(self.stream_id, left.code, "the sender left without a goodbye")
        except (DatabaseError, InterfaceError):
            await self._close(
                _Closed(frames.TROUBLE, "the database cannot be reached; connect again and resume")
            )
        finally:
            _let_go(self)
            for task in (reader, teller):
                task.cancel()
            await asyncio.gather(reader, teller, return_exceptions=True)

    async def _close(self, closed: _Closed) -> None:
        notices.tell_end(self.stream_id, closed.code, closed.reason)
        with contextlib.suppress(Exception):  # the peer may have left meanwhile
            await self._send({"type": "websocket.send", "text": frames.closing(closed.code, closed.reason)})
            await self._send({"type": "websocket.close", "code": closed.code, "reason": closed.reason[:120]})

    # -- reading ------------------------------------------------------------------------------

    async def _read(self) -> None:
        header = self._headers.get(b"authorization", b"").decode("latin-1")
        if header:
            await self._authorize(header.removeprefix("Bearer ").strip())
        try:
            # Only the sender is hurried: how long a busy database takes to open the stream is not its fault.
            async with asyncio.timeout(self._limits["hello_seconds"]):
                text = await self._next_text()
        except TimeoutError:
            raise _Closed(
                frames.NO_TOKEN, f"expected a hello frame within {self._limits['hello_seconds']} s, got none"
            ) from None
        frame = await _aside(len(text), frames.read_frame, text, bare=None)
        await self._greet(frame)
        if isinstance(frame, BareEvents):
            await self._take(frame, len(text))
        while True:
            text = await self._next_text()
            frame = await _aside(len(text), frames.read_frame, text, bare=self._bare)
            await self._take(frame, len(text))

    async def _next_text(self) -> str:
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            raise _Left(message.get("code") or frames.LEFT)
        text: str | None = message.get("text")
        if text is None:
            raise _Closed(frames.NOT_TEXT, "expected text frames, got a binary one")
        limit = self._limits["frame_bytes"]
        if _is_longer(text, limit):
            raise _Closed(frames.TOO_LARGE, f"a frame may have {limit} bytes, got more; split it")
        return text

    async def _authorize(self, secret: str) -> None:
        self._visitor.ask(secret)
        token = await database_sync_to_async(find_token)(secret)
        self._visitor.be_told(secret, token)
        assert token is not None
        origin = self._headers.get(b"origin")
        if origin is not None:
            allowed = await database_sync_to_async(incoming.allowed_origins)(token.project_id)
            host = self._headers.get(b"host", b"")
            if not origin_is_allowed(origin, host, self._secure, allowed):
                raise _Closed(frames.BAD_ORIGIN, "pages of this origin may not send to this project")
        self._token = token

    async def _greet(self, frame: frames.Frame) -> None:
        if isinstance(frame, Problem):
            raise _Closed(frame.code, frame.reason)
        if isinstance(frame, Hello):
            if self._token is None:
                if frame.token is None:
                    raise _Closed(
                        frames.NO_TOKEN, "expected a token in the header or in the hello frame, got none"
                    )
                await self._authorize(frame.token)
            await self._open(frame.stream, frame.instance, frame.sender, frame.last, bare=False)
            return
        if not isinstance(frame, BareEvents):
            raise _Closed(frames.BAD_PROTOCOL, "expected a hello frame first, got another one")
        if self._token is None:
            raise _Closed(
                frames.NO_TOKEN, "expected a token in the header (or a hello frame with one), got none"
            )
        name = f"bare-{secrets.token_hex(12)}"
        await self._open(name, secrets.token_hex(16), "bare", 0, bare=True)

    async def _open(self, name: str, instance: str, sender: str, last: int, *, bare: bool) -> None:
        token = self._token
        assert token is not None

        def open_stream() -> incoming.OpenedStream | None:
            if token.id not in tokens_in_force([token.id]):
                return None
            touch_used(token.id)
            opened = incoming.open_stream(token.project_id, name, instance, sender, now_ms(), bare=bare)
            if opened is not None and bare:
                settle_unnumbered(token.project_id, opened.id, now_ms())
            return opened

        opened = await asyncio.wrap_future(self._service.writer.call(open_stream))
        if opened is None:
            raise _Closed(frames.NO_TOKEN, "this token is not known here, or was revoked")
        if opened.taken:
            raise _Closed(frames.STREAM_TAKEN, opened.taken)
        self._stream, self._stream_name, self._bare = opened, name, bare
        self._top = self._settled = opened.acked
        self._used_up = opened.acked if last < opened.acked else 0
        _hold(opened.id, self)
        if not bare:
            limits = {
                "frameBytes": self._limits["frame_bytes"],
                "eventBytes": self._limits["event_bytes"],
                "window": self._limits["window"],
            }
            text = frames.welcome(name, opened.acked, opened.keep_text, limits)
            await self._send({"type": "websocket.send", "text": text})

    async def _take(self, frame: frames.Frame, size: int) -> None:
        await self._take_frame(frame, size)
        events = len(frame.lines) if isinstance(frame, Events | BareEvents) else 1
        # Over its rate: not read on for a moment. What it sends meanwhile waits in TCP and then with the sender.
        if pause := self._visitor.pause_after(events, size):
            await asyncio.sleep(pause)

    async def _take_frame(self, frame: frames.Frame, size: int) -> None:
        if isinstance(frame, BareEvents):
            await self._take_bare(frame, size)
        elif isinstance(frame, Events):
            await self._take_events(frame, size)
        elif isinstance(frame, Lost):
            self._top = max(self._top, frame.last)
            assert self._stream is not None
            notices.tell_lost(self._stream.id, frame.first, frame.last)
            self._submit([Missing(frame.first, frame.last)], size)
        elif isinstance(frame, Bye):
            self._submit([Missing(frame.last, frame.last, ends=True)], size, ends=True)
        elif isinstance(frame, Problem):
            raise _Closed(frame.code, frame.reason)
        else:
            raise _Closed(frames.BAD_PROTOCOL, "expected one hello frame a connection, got a second")

    async def _take_events(self, frame: Events, size: int) -> None:
        last = frame.first + len(frame.lines) - 1
        if last > frames.MAX_SEQ:
            raise _Closed(frames.BAD_PROTOCOL, "events.first: expected a smaller number")
        if frame.first <= self._used_up:  # new events would pass for repeats and vanish
            raise _Closed(
                frames.STREAM_TAKEN,
                f"events up to {self._used_up} are stored already, and the sender numbers from {frame.first}; "
                "choose a new stream id",
            )
        # A place in the stream, not a count: what was sent twice is settled already and takes no room.
        self._top = max(self._top, last)
        window = self._limits["window"]
        fresh = last - max(self._settled, frame.first - 1)
        self._in_flight += max(0, fresh)
        if self._in_flight > window:
            raise _Closed(
                frames.TOO_MUCH, f"at most {window} events may be unacknowledged, got more; wait for acks"
            )
        items = await _aside(size, self._items, frame.lines, frame.first)
        self._submit(items, size, fresh=max(0, fresh))

    async def _take_bare(self, frame: BareEvents, size: int) -> None:
        if self._bytes_waiting > self._limits["bare_bytes"]:
            raise _Closed(frames.TOO_MUCH, "more came than could be stored in time; send less at once")
        items = await _aside(size, self._items, frame.lines, self._top + 1)
        self._top += len(items)
        if items:
            self._submit(items, size)

    def _items(self, lines: Sequence[bytes | str], first: int) -> list[Item | Missing]:
        return [Item(seq, self._keep(line)) for seq, line in enumerate(lines, first)]

    def _keep(self, line: bytes | str) -> Kept | Dropped | Refused:
        limit = self._limits["event_bytes"]
        if _is_longer(line, limit):
            return Refused("too-large", f"event: expected at most {limit} bytes, got more")
        return keep(line)

    def _submit(self, items: list[Item | Missing], size: int, *, ends: bool = False, fresh: int = 0) -> None:
        assert self._stream is not None and self._token is not None
        batch = Batch(
            self._token.project_id, self._stream.id, self._stream.epoch, self._token.id, now_ms(), items
        )
        self._bytes_waiting += size
        self._items_waiting += len(items)
        # Repeats and lost frames are outside the window; without a bound they would pile up before the writer.
        if self._items_waiting > MOST_WINDOWS_WAITING * self._limits["window"] and not self._bare:
            raise _Closed(frames.TOO_MUCH, "more came than could be settled in time; wait for acks")
        loop = self._service.loop

        def done(settled: Settled) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended: the sender will bring it again
                loop.call_soon_threadsafe(self._hear, settled, size, len(items), fresh, ends)

        self._service.writer.submit(batch, done)

    # -- telling ------------------------------------------------------------------------------

    def _hear(self, settled: Settled, size: int, items: int, fresh: int, ends: bool) -> None:
        self._bytes_waiting -= size
        self._items_waiting -= items
        self._in_flight -= fresh
        self._settled = max(self._settled, settled.through)
        self._told.append((settled, ends))
        self._news.set()

    def be_taken_over(self) -> None:
        """The same process accepted a newer connection of this stream."""
        self._told.append((Settled(self._settled, end="taken-over"), False))
        self._news.set()

    async def _tell(self) -> None:
        while True:
            try:
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await self._news.wait()
            except TimeoutError:
                await self._look_again()
                continue
            self._news.clear()
            through = 0
            while self._told:
                settled, ends = self._told.popleft()
                for seq, code, reason in settled.refused:
                    await self._send({"type": "websocket.send", "text": frames.refused(seq, code, reason)})
                if settled.end:
                    await self._ack(through)
                    raise _Closed(*ENDS[settled.end])
                through = max(through, settled.through)
                if ends:
                    await self._ack(through)
                    raise _Closed(frames.NORMAL, "the stream has ended")
            await self._ack(through)

    async def _ack(self, through: int) -> None:
        if through and not self._bare:
            await self._send({"type": "websocket.send", "text": frames.ack(through)})

    async def _look_again(self) -> None:
        """Without events no commit tells of a revoked token or a takeover in another process."""
        token, stream = self._token, self._stream
        if token is None or stream is None:
            return

        def look() -> str:
            if token.id not in tokens_in_force([token.id]):
                return "revoked"
            epoch = incoming.stream_epochs([stream.id]).get(stream.id)
            return "gone" if epoch is None else "" if epoch == stream.epoch else "taken-over"

        end = await database_sync_to_async(look)()
        if end:
            raise _Closed(*ENDS[end])


async def _aside(size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `function`, which reads `size` characters: in a thread where that may take long, so that others go on."""
    if size < READ_ASIDE_FROM:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


def _is_longer(text: bytes | str, limit: int) -> bool:
    """Whether `text` has more than `limit` bytes. Only one near the limit needs to be encoded to know."""
    if isinstance(text, bytes) or len(text) > limit:
        return len(text) > limit
    return len(text) * 4 > limit and len(text.encode("utf-8", "surrogatepass")) > limit


class _Closed(Exception):
    """The connection ends with this code; the reason is for the person who reads the sender's log."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class _Left(Exception):
    """The sender is gone; what it brought is settled all the same."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


# The connection that holds each stream in this process, to end an older one at once (others: at their next commit).
_holders: dict[int, IngestSocket] = {}


def _hold(stream_id: int, socket: IngestSocket) -> None:
    older = _holders.get(stream_id)
    _holders[stream_id] = socket
    if older is not None:
        older.be_taken_over()


def _let_go(socket: IngestSocket) -> None:
    stream_id = socket.stream_id
    if stream_id is not None and _holders.get(stream_id) is socket:
        del _holders[stream_id]
