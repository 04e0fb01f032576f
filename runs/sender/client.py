"""The asyncio face: a sender on the agent's own loop."""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Self

from runs.sender.buffer import Buffer
from runs.sender.emitter import Emitter
from runs.sender.pump import PATIENCE, Pump


class AsyncSender(Emitter):
    """Reports an agent's events to Footprint from an asyncio program.

        async with AsyncSender("https://footprint.example", token=...) as sender:
            run = sender.run(agent_id="support")
            run.turn_start("Where is my order?")

    `emit` may be called from any thread, before the sender is started too; it waits for nothing.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        name: str = "agent",
        buffer: Buffer | str | os.PathLike[str] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(url, token=token, name=name, buffer=buffer)
        self._patience = patience
        self._pump: Pump | None = None
        self._sending: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to connect, on the running loop. `async with` does it."""
        if self._sending is None and not self.core.ending:
            self._pump = Pump(self, self._patience)
            self._sending = asyncio.create_task(self._pump.run(), name="footprint-sender")

    async def close(self, timeout: float = 5.0) -> bool:
        """Send what is buffered, end the stream, and say whether the server has settled everything in time."""
        if not self.end():
            return not self.core.unsettled
        try:
            if self._sending is not None and self._pump is not None:
                self._pump.end()
                await asyncio.wait([self._sending], timeout=timeout)
        finally:
            if self._sending is not None:
                self._sending.cancel()
                await asyncio.gather(self._sending, return_exceptions=True)
            settled = self.put_away()
        return settled

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
