"""The face for programs without asyncio: the same sender, in a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import weakref
from types import TracebackType
from typing import Self

from runs.sender.buffer import Buffer
from runs.sender.emitter import Emitter
from runs.sender.listed import Line
from runs.sender.pump import PATIENCE, Pump

CLOSED_AT_EXIT_WITHIN = 2.0  # seconds a program that forgot to close is kept from ending


class Sender(Emitter):
    """Reports an agent's events to Footprint from any thread.

        with Sender("https://footprint.example", token=...) as sender:
            run = sender.run(agent_id="support")
            run.turn_start("Where is my order?")

    The thread starts with the first event. A process that forks makes its sender after the fork.
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
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pump: Pump | None = None
        self._sending: asyncio.Task[None] | None = None
        self._ready = threading.Event()

    def start(self) -> None:
        """Begin to connect. `with` and the first event do it."""
        with self._lock:
            if self._thread is not None or self.core.ending:
                return
            self._thread = threading.Thread(target=self._work, name="footprint-sender", daemon=True)
        self._thread.start()
        atexit.register(_close_at_exit, weakref.ref(self))

    def close(self, timeout: float = 5.0) -> bool:
        """Send what is buffered, end the stream, and say whether the server has settled everything in time."""
        if not self.end():
            return not self.core.unsettled
        thread = self._thread
        if thread is not None and thread.is_alive() and self._ready.wait(timeout):
            self._on_loop("end")
            thread.join(timeout)
            if thread.is_alive():
                self._on_loop("cancel")
                thread.join(1.0)
        return self.put_away()

    def _take(self, line: Line | None) -> None:
        super()._take(line)
        if self._thread is None and line is not None:
            try:
                self.start()
            except RuntimeError:  # no more threads: the process is ending
                self.stop("The sender's thread could not be started.")

    def _work(self) -> None:
        asyncio.run(self._send())

    async def _send(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pump = Pump(self, self._patience)
        self._sending = asyncio.create_task(self._pump.run())
        self._ready.set()
        await asyncio.gather(self._sending, return_exceptions=True)

    def _on_loop(self, what: str) -> None:
        assert self._loop is not None
        assert self._pump is not None
        assert self._sending is not None
        try:
            self._loop.call_soon_threadsafe(self._pump.end if what == "end" else self._sending.cancel)
        except RuntimeError:  # it has just ended by itself
            return

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _close_at_exit(sender: weakref.ref[Sender]) -> None:
    if (open_one := sender()) is not None:
        open_one.close(CLOSED_AT_EXIT_WITHIN)
