"""A dashboard of one page for the sender's tests: keeps events by stream and seq, and fails as it is told to.

`ScriptedServer([Drop(after=3), Welcome()])`: the first connection is dropped after three events that are kept but never
acknowledged, every later one behaves.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

GENEROUS = {"frameBytes": 8 * 2**20, "eventBytes": 4 * 2**20, "window": 1000}


@dataclass
class Welcome:
    """A connection that behaves. `ack_after`: waits this many seconds before it acknowledges a frame."""

    limits: dict[str, int] = field(default_factory=lambda: dict(GENEROUS))
    keep_text: bool = True
    ack_after: float = 0.0
    acked: int | None = None  # instead of what is true
    refuse: tuple[int, ...] = ()


@dataclass
class Drop(Welcome):
    """Keeps `after` events, acknowledges none of them, and cuts the connection."""

    after: int = 0


@dataclass
class Farewell:
    """Says `closing` and closes with this code; as the answer to the hello, or after `after` events."""

    code: int
    after: int | None = None


@dataclass
class Stream:
    instance: str
    events: dict[int, dict[str, Any]] = field(default_factory=dict)
    holes: list[tuple[int, int]] = field(default_factory=list)
    acked: int = 0
    bye: int | None = None


class ScriptedServer:
    def __init__(self, script: Sequence[Welcome | Farewell] = ()) -> None:
        self.script = list(script)
        self.streams: dict[str, Stream] = {}
        self.hellos: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.frames: list[str] = []
        self.most_unacknowledged = 0
        self.url = ""

    @property
    def stream(self) -> Stream:
        (stream,) = self.streams.values()
        return stream

    @property
    def types(self) -> list[str]:
        return [event["type"] for _, event in sorted(self.stream.events.items())]

    async def answer(self, socket: ServerConnection) -> None:
        assert socket.request is not None
        self.paths.append(socket.request.path)
        self.headers.append(dict(socket.request.headers.raw_items()))
        act = self.script.pop(0) if self.script else Welcome()
        with suppress(ConnectionClosed):
            await self._talk(socket, act)

    async def _talk(self, socket: ServerConnection, act: Welcome | Farewell) -> None:
        hello = json.loads(await socket.recv())
        self.hellos.append(hello)
        if isinstance(act, Farewell) and act.after is None:
            return await self._say_farewell(socket, act.code)
        stream = self.streams.setdefault(hello["stream"], Stream(hello["instance"]))
        assert stream.instance == hello["instance"]
        welcome = act if isinstance(act, Welcome) else Welcome()
        acked = stream.acked if welcome.acked is None else welcome.acked
        await self._say(
            socket,
            {
                "type": "welcome",
                "protocol": 1,
                "stream": hello["stream"],
                "acked": acked,
                "keepText": welcome.keep_text,
                "limits": welcome.limits,
            },
        )
        taken = 0
        highest = acked
        async for message in socket:
            assert isinstance(message, str)
            self.frames.append(message)
            head, *lines = message.split("\n")
            frame = json.loads(head)
            if frame["type"] == "events":
                for seq, line in enumerate(lines, start=frame["first"]):
                    stream.events.setdefault(seq, json.loads(line))
                    highest = max(highest, seq)
                    taken += 1
            elif frame["type"] == "lost":
                stream.holes.append((frame["from"], frame["to"]))
                highest = max(highest, frame["to"])
            elif frame["type"] == "bye":
                stream.bye = frame["last"]
                await self._say(socket, {"type": "ack", "through": frame["last"]})
                return await socket.close(1000)
            self.most_unacknowledged = max(self.most_unacknowledged, highest - stream.acked)
            if isinstance(act, Farewell) and act.after is not None and taken >= act.after:
                return await self._say_farewell(socket, act.code)
            if isinstance(act, Drop):
                if taken >= act.after:
                    socket.transport.abort()
                    return None
                continue
            for seq in welcome.refuse:
                await self._say(
                    socket, {"type": "refused", "seq": seq, "code": "shape", "reason": "payload: no"}
                )
            await asyncio.sleep(welcome.ack_after)
            stream.acked = max(stream.acked, highest)
            await self._say(socket, {"type": "ack", "through": stream.acked})
        return None

    async def _say(self, socket: ServerConnection, frame: dict[str, Any]) -> None:
        await socket.send(json.dumps(frame))

    async def _say_farewell(self, socket: ServerConnection, code: int) -> None:
        await self._say(socket, {"type": "closing", "code": code, "reason": "the test says so"})
        await socket.close(code)


@asynccontextmanager
async def scripted_server(*script: Welcome | Farewell, port: int = 0) -> AsyncIterator[ScriptedServer]:
    server = ScriptedServer(script)
    async with serve(server.answer, "127.0.0.1", port, max_size=None) as listening:
        host, port = listening.sockets[0].getsockname()[:2]
        server.url = f"ws://{host}:{port}/ws/ingest/"
        yield server
