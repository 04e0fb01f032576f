"""A sender for tests, on the real ASGI application in this process: every frame, every ack, every close code.

`run(story)` gives an async story its own event loop and ends the writer afterwards, so that each test leaves nothing.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.db import connections

from runs.intake import service
from runs.intake.doors import Doors, doors
from runs.models import Project
from runs.store.tokens import create_token

T = TypeVar("T")
PATIENCE_S = 20.0


def make_project(name: str = "Northwind", **fields: Any) -> Project:
    return Project.objects.create(name=name, **fields)


def make_token(project: Project) -> str:
    return create_token(project.pk, "tests", None)[1]


def run(story: Callable[[], Awaitable[T]]) -> T:
    """Run the story on a loop of its own; afterwards the writer has settled everything and let go of its connection."""

    async def whole() -> T:
        try:
            return await story()
        finally:
            await asyncio.to_thread(service.stop)
            vars(doors).update(vars(Doors()))
            await sync_to_async(connections.close_all)()

    return asyncio.run(whole())


@dataclass
class Wire:
    """One connection of a numbered sender."""

    token: str
    stream: str = "stream-1"
    instance: str = "instance-1"
    header: bool = True
    origin: str | None = None
    host: str = "testserver"
    acked: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)
    closing: dict[str, Any] | None = None
    code: int | None = None
    welcome: dict[str, Any] | None = None

    async def __aenter__(self) -> "Wire":
        from footprint_site.asgi import application

        headers = [(b"host", self.host.encode())]
        if self.header:
            headers.append((b"authorization", b"Bearer " + self.token.encode()))
        if self.origin is not None:
            headers.append((b"origin", self.origin.encode()))
        self._socket = WebsocketCommunicator(application, "/ws/ingest/", headers=headers)
        connected, _ = await self._socket.connect(timeout=PATIENCE_S)
        assert connected
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.code is None:
            await self._socket.disconnect(timeout=PATIENCE_S)

    async def vanish(self) -> None:
        """The connection breaks and the server gives up what it was doing for it."""
        self.code = 1006
        with contextlib.suppress(asyncio.CancelledError, TimeoutError):
            await self._socket.disconnect(timeout=0.1)

    async def hello(self, last: int = 0, **fields: Any) -> dict[str, Any]:
        frame = {
            "type": "hello",
            "protocol": 1,
            "stream": self.stream,
            "instance": self.instance,
            "sender": "tests/1",
            "last": last,
            **({} if self.header else {"token": self.token}),
            **fields,
        }
        await self.say(json.dumps(frame))
        while self.welcome is None and self.code is None:
            await self.hear()
        return self.welcome or {}

    async def say(self, text: str) -> None:
        await self._socket.send_to(text_data=text)

    async def say_bytes(self, data: bytes) -> None:
        await self._socket.send_to(bytes_data=data)

    async def events(self, first: int, lines: Iterable[str]) -> None:
        await self.say("\n".join([json.dumps({"type": "events", "first": first}), *lines]))

    async def hear(self) -> dict[str, Any]:
        """The server's next frame, noted."""
        message = await self._socket.receive_output(timeout=PATIENCE_S)
        if message["type"] == "websocket.close":
            self.code = message["code"]
            return {"type": "close"}
        frame = json.loads(message["text"])
        if frame["type"] == "ack":
            assert frame["through"] >= self.acked, "acks never go back"
            self.acked = frame["through"]
        elif frame["type"] == "refused":
            self.refused.append(frame)
        elif frame["type"] == "closing":
            self.closing = frame
        elif frame["type"] == "welcome":
            self.welcome, self.acked = frame, frame["acked"]
        return frame

    async def is_quiet(self) -> bool:
        """Nothing has come from the server that was not heard."""
        quiet: bool = await self._socket.receive_nothing()
        return quiet

    async def until_acked(self, seq: int) -> None:
        while self.acked < seq:
            await self.hear()
            assert self.code is None, f"closed with {self.code}: {self.closing}"

    async def until_closed(self) -> int:
        while self.code is None:
            await self.hear()
        return self.code

    async def bye(self, last: int) -> None:
        await self.say(json.dumps({"type": "bye", "last": last}))
        assert await self.until_closed() == 1000


async def send_all(wire: Wire, lines: list[str], *, a_frame: int = 100, last: int | None = None) -> None:
    """Send numbered lines from where the server is, a window at a time, and wait for the last ack."""
    total = last or len(lines)
    welcome = await wire.hello(last=total)
    first = welcome["acked"] + 1
    while first <= total:
        chunk = lines[first - 1 : first - 1 + a_frame]
        await wire.events(first, chunk)
        first += len(chunk)
        if first - wire.acked > 800:
            await wire.until_acked(first - 1)
    await wire.until_acked(total)


HELLO = {"type": "hello", "protocol": 1, "stream": "s", "instance": "i", "sender": "x", "last": 0}


def hello(**fields: Any) -> str:
    """A hello frame as text, with these fields instead of its own."""
    return json.dumps({**HELLO, **fields})


def closed(wire: Wire, *frames: str) -> tuple[int, str]:
    """Say these frames and wait to be closed: the code and the announced reason."""

    async def story() -> tuple[int, str]:
        async with wire:
            for frame in frames:
                await wire.say(frame)
            code = await wire.until_closed()
            assert wire.closing is not None
            assert wire.closing["code"] == code
            return code, wire.closing["reason"]

    return run(story)
