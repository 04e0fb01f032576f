"""Senders that cost little: prepared frames over raw websockets, as many unacknowledged as the window allows."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Sequence

from websockets.asyncio.client import ClientConnection, connect

from bench.workload import Stream


def send_all(url: str, token: str, streams: Sequence[Stream], *, patience: float = 600.0) -> float:
    """Send every stream over a connection of its own, all at once; seconds from the first frame to the last ack."""
    return asyncio.run(asyncio.wait_for(_send_all(url, token, streams), patience))


async def _send_all(url: str, token: str, streams: Sequence[Stream]) -> float:
    senders = await asyncio.gather(*(RawSender.opened(url, token, stream) for stream in streams))
    began = time.perf_counter()
    await asyncio.gather(*(sender.play() for sender in senders))
    took = time.perf_counter() - began
    await asyncio.gather(*(sender.close() for sender in senders))
    return took


class RawSender:
    """One connection that has said hello."""

    def __init__(self, socket: ClientConnection, stream: Stream, window: int, acked: int) -> None:
        self.socket = socket
        self.stream = stream
        self.acked = acked
        self._window = window
        self._news = asyncio.Event()

    @classmethod
    async def opened(cls, url: str, token: str, stream: Stream) -> RawSender:
        socket = await connect(
            url,
            additional_headers={"Authorization": f"Bearer {token}"},
            compression=None,
            max_size=None,
            ping_interval=None,
            open_timeout=60,
        )
        hello = {
            "type": "hello",
            "protocol": 1,
            "stream": stream.name,
            "instance": secrets.token_hex(8),
            "sender": "bench/1",
            "last": stream.last,
        }
        await socket.send(json.dumps(hello))
        welcome = json.loads(await socket.recv())
        assert welcome["type"] == "welcome", welcome
        return cls(socket, stream, welcome["limits"]["window"], welcome["acked"])

    async def play(self) -> None:
        """Send every frame; ends with the last ack. Raises when the server refuses anything or hangs up."""
        listening = asyncio.create_task(self._listen())
        try:
            for frame in self.stream.frames:
                while frame.last - self.acked > self._window and not listening.done():
                    self._news.clear()
                    await self._news.wait()
                if listening.done():
                    break
                await self.socket.send(frame.text)
            await listening
        finally:
            listening.cancel()

    async def hear(self, through: int) -> None:
        """Until this seq is acknowledged."""
        while self.acked < through:
            said = json.loads(await self.socket.recv())
            if said["type"] != "ack":
                raise RuntimeError(f"the server said {said['type']}: {said.get('reason')}")
            self.acked = said["through"]
            self._news.set()

    async def _listen(self) -> None:
        try:
            await self.hear(self.stream.last)
        finally:
            self._news.set()

    async def close(self) -> None:
        await self.socket.close()
