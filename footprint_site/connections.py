"""Daphne's connections, with bounds: what a peer may make this process hold, and for how long.

Left alone, daphne reads whatever comes as fast as it comes and queues it for a room that may be busy, answers pings
into a buffer that nobody empties, joins any number of fragments, keeps a request's body of any size in a file, and
waits for ever for a request that arrives a byte a minute. Here

* a websocket is read while its room takes what was read: beyond INBOX_BYTES waiting, TCP holds the sender back;
* before the room has taken a first frame and asked for more, nothing is read that it has not asked for, and where no
  token came in a header that frame is at most FIRST_FRAME_BYTES;
* a peer that does not read what it is sent is not read either, and the room waits to send it more;
* a message comes in at most MOST_FRAGMENTS pieces;
* a request must be complete within REQUEST_WITHIN seconds, with a body of at most BODY_BYTES.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.server import twisted_loop
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet.interfaces import IPushProducer
from twisted.web.http import HTTPChannel
from zope.interface import implementer

from footprint_site.text_frame import text_frame

INBOX_BYTES = 1024 * 1024
FIRST_FRAME_BYTES = 64 * 1024  # a hello, or what a page says it shows
MOST_FRAGMENTS = 4096
LONGEST_REASON = 123  # bytes of a close frame's reason (RFC 6455)
TOO_LARGE = 1009
REQUEST_WITHIN = 30  # seconds, also between two requests of one connection
BODY_BYTES = 10 * 1024 * 1024  # nothing here takes a file


class Inbox(asyncio.Queue[dict[str, Any]]):
    """What was read for a room and not yet taken by it. `on_change` is called after each change."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        super().__init__()
        self._on_change = on_change
        self._bytes = 0
        self._asking = 0
        self._frames_taken = 0
        self._is_trusted = False  # the room took a frame and wants more of them

    @property
    def wants_more(self) -> bool:
        """Whether the connection should be read."""
        if self._is_trusted:
            return self._bytes < INBOX_BYTES
        return self._asking > 0 and self.empty()

    async def get(self) -> dict[str, Any]:
        self._is_trusted = self._is_trusted or self._frames_taken > 0
        self._asking += 1
        self._on_change()
        try:
            return await super().get()
        finally:
            self._asking -= 1

    def _put(self, item: dict[str, Any]) -> None:
        super()._put(item)
        self._bytes += _size(item)
        self._on_change()

    def _get(self) -> dict[str, Any]:
        item: dict[str, Any] = super()._get()
        self._bytes -= _size(item)
        self._frames_taken += item["type"] == "websocket.receive"
        self._on_change()
        return item


def _size(message: dict[str, Any]) -> int:
    return len(message.get("text") or message.get("bytes") or b"")


@implementer(IPushProducer)
class _Outbox:
    """The transport's word on whether the peer reads what it is sent."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self.drained = asyncio.Event()
        self.drained.set()

    def pauseProducing(self) -> None:  # noqa: N802 - the name is Twisted's
        self.drained.clear()
        self._on_change()

    def resumeProducing(self) -> None:  # noqa: N802
        self.drained.set()
        self._on_change()

    def stopProducing(self) -> None:  # noqa: N802
        self.drained.set()


class WebSocket(WebSocketProtocol):
    """One websocket: read as its room keeps up, closed with any code the registry has, and told why.

    Daphne hands the code to autobahn's `sendClose`, which raises on all but 1000 and 3000-4999, and drops the reason.
    """

    def onConnect(self, request: Any) -> Any:  # noqa: N802 - the names are autobahn's
        self.inbox: Inbox | None = None
        self.outbox = _Outbox(self.regulate)
        self._fragments = 0
        self._largest = self.factory.maxMessagePayloadSize
        if "authorization" not in request.headers:
            self.maxMessagePayloadSize = self.maxFramePayloadSize = FIRST_FRAME_BYTES
        handshake = super().onConnect(request)
        twisted_loop.call_soon(self.regulate)  # after the HTTP side has let go of the connection
        return handshake

    def new_inbox(self) -> Inbox:
        self.inbox = Inbox(self.regulate)
        return self.inbox

    def onOpen(self) -> None:  # noqa: N802
        self.transport.unregisterProducer()  # the HTTP side's
        self.transport.registerProducer(self.outbox, True)
        super().onOpen()

    def onMessageFrameBegin(self, length: int) -> None:  # noqa: N802
        super().onMessageFrameBegin(length)
        self._fragments += 1
        if self._fragments > MOST_FRAGMENTS and not self.failedByMe:
            self._fail_connection(TOO_LARGE, f"a message may come in {MOST_FRAGMENTS} fragments, got more")

    def onMessageEnd(self) -> None:  # noqa: N802
        self._fragments = 0
        super().onMessageEnd()

    def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: N802, N803
        if self.state != self.STATE_OPEN:
            return  # closing: only the peer's own close is awaited
        self.maxMessagePayloadSize = self.maxFramePayloadSize = self._largest
        super().onMessage(payload, isBinary)

    def onClose(self, wasClean: bool, code: int, reason: str) -> None:  # noqa: N802, N803
        self.outbox.drained.set()
        super().onClose(wasClean, code, reason)

    def handle_reply(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.close" and self.state == self.STATE_OPEN:
            reason = (message.get("reason") or "").encode()[:LONGEST_REASON].decode(errors="ignore")
            self.sendCloseFrame(code=message.get("code") or 1000, reasonUtf8=reason.encode())
            self.regulate()
            return
        if message["type"] == "websocket.send" and message.get("text") and self.state == self.STATE_OPEN:
            self.transport.write(text_frame(message["text"]))  # a quarter of what autobahn's way there costs
            return
        super().handle_reply(message)

    def regulate(self) -> None:
        """Read or rest, as the room and the peer keep up. While closing, the peer's close must be heard."""
        if self.transport is None or self.state == self.STATE_CLOSED:
            return
        is_wanted = self.inbox is None or self.inbox.wants_more
        if self.state == self.STATE_CLOSING or (is_wanted and self.outbox.drained.is_set()):
            self.transport.resumeProducing()
        else:
            self.transport.pauseProducing()
            if not is_wanted and self.autoPingTimeoutCall is not None:
                # Its pong may lie unread, and that is our doing. The next ping asks again.
                self._cancelAutoPingTimeoutCall()


class _Request(WebRequest):
    """A request whose body is refused as soon as it is too large: no handler has seen any of it."""

    _body_bytes = 0

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - the names are Twisted's
        super().gotLength(length)
        if length is not None and length > BODY_BYTES:
            self._refuse()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        self._body_bytes += len(data)
        if self._body_bytes > BODY_BYTES:
            self._refuse()
        else:
            super().handleContentChunk(data)

    def _refuse(self) -> None:
        if self.channel is not None:
            self.channel.transport.write(b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\n\r\n")
            self.channel.loseConnection()


class _Channel(HTTPChannel):
    """A connection whose request must be complete in time: bytes that trickle in win no more of it."""

    def resetTimeout(self) -> None:  # noqa: N802 - Twisted calls it with every byte that comes
        pass


class Connections(HTTPFactory):
    """Makes them, for daphne."""

    protocol = _Channel

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.timeOut = REQUEST_WITHIN

    def buildProtocol(self, addr: Any) -> Any:  # noqa: N802
        built = super().buildProtocol(addr)
        built.requestFactory = _Request
        return built
