"""A small ingest server for the sender's tests, that behaves or misbehaves as told."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve

LIMITS = {"frameBytes": 8_000_000, "eventBytes": 4_000_000, "window": 1000}

Act = Callable[["Ingest", ServerConnection], Awaitable[None]]


async def behave(ingest: "Ingest", socket: ServerConnection) -> None:
    """As the wire says."""
    await ingest.converse(socket)


def close_with(code: int, after: int = 0) -> Act:
    """Close with this code, after so many events of the connection."""

    async def act(ingest: "Ingest", socket: ServerConnection) -> None:
        if after:
            await ingest.converse(socket, events=after)
        await socket.close(code)

    return act


def vanish(after: int) -> Act:
    """Cut the line after so many events, without committing the last frame."""

    async def act(ingest: "Ingest", socket: ServerConnection) -> None:
        await ingest.converse(socket, events=after)
        socket.transport.abort()

    return act


async def say_nothing(ingest: "Ingest", socket: ServerConnection) -> None:
    """Accept and never answer, until the sender has had enough."""
    await socket.wait_closed()


class Ingest:
    """Commits what comes, as one stream after another; each connection follows the next act, then `behave`."""

    def __init__(self, *acts: Act, window: int = 1000) -> None:
        self.acts = list(acts)
        self.limits = {**LIMITS, "window": window}
        self.streams: dict[str, dict[int, Any]] = {}
        self.acked: dict[str, int] = {}
        self.hellos: list[dict[str, Any]] = []
        self.byes: list[int] = []
        self.headers: list[str | None] = []
        self.paths: list[str] = []
        self.closed_with: list[int | None] = []
        self.met = asyncio.Event()
        self._server: Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{next(iter(self._server.sockets)).getsockname()[1]}"

    @property
    def events(self) -> list[Any]:
        """Every event of every stream in the order of their numbers; a lost one is None."""
        return [event for stream in self.streams.values() for _, event in sorted(stream.items())]

    async def __aenter__(self) -> "Ingest":
        self._server = await serve(self._meet, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _meet(self, socket: ServerConnection) -> None:
        assert socket.request is not None
        self.headers.append(socket.request.headers.get("Authorization"))
        self.paths.append(socket.request.path)
        self.met.set()
        await (self.acts.pop(0) if self.acts else behave)(self, socket)
        await socket.wait_closed()
        self.closed_with.append(socket.close_code)

    async def converse(self, socket: ServerConnection, events: int | None = None) -> None:
        """Welcome, commit and ack; return after so many events, of which the last frame is not committed."""
        hello = json.loads(await socket.recv())
        self.hellos.append(hello)
        stream = self.streams.setdefault(hello["stream"], {})
        acked = self.acked.get(hello["stream"], 0)
        await self.say(socket, type="welcome", protocol=1, acked=acked, keepText=True, limits=self.limits)
        seen = 0
        async for message in socket:
            assert isinstance(message, str)
            head, *lines = message.split("\n")
            frame = json.loads(head)
            new: dict[int, Any] = {}
            match frame["type"]:
                case "events":
                    new = {frame["first"] + place: json.loads(line) for place, line in enumerate(lines)}
                    assert max(new) - acked <= self.limits["window"]
                case "lost":
                    new = dict.fromkeys(range(frame["from"], frame["to"] + 1))
                case "bye":
                    self.byes.append(frame["last"])
                    await self.say(socket, type="ack", through=acked)
                    await self.say(socket, type="closing", code=1000, reason="Goodbye.")
                    await socket.close(1000)
                    return
            seen += len(lines)
            if events is not None and seen >= events:
                return
            assert min(new) == acked + 1
            stream.update(new)
            acked = self.acked[hello["stream"]] = max(new)
            await self.say(socket, type="ack", through=acked)

    async def say(self, socket: ServerConnection, **frame: Any) -> None:
        await socket.send(json.dumps(frame))
