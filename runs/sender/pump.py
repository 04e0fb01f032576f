"""The one loop that connects, sends and listens, for both faces of the sender."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from runs.sender.emitter import Emitter
from runs.sender.protocol import Finished, Stop, Verdict

log = logging.getLogger("footprint.sender")
# The library's own log would print every frame, and the token, at level DEBUG.
_quiet = logging.getLogger("footprint.sender.socket")
_quiet.setLevel(logging.WARNING)

PATIENCE: Final = 30.0  # seconds without a word that the server owes us; then the connection is given up
LAST_WORDS: Final = 1.0
ABNORMAL: Final = 1006


class _Connect(connect):
    """Never follows a redirect: the token is for the address that was given."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class Pump:
    """Lives on one loop. `run()` returns when the stream is finished or stopped for good."""

    def __init__(self, emitter: Emitter, patience: float = PATIENCE) -> None:
        self._emitter = emitter
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()
        self._rung = False
        self._heard = 0.0
        emitter.ring = self._ring

    async def run(self) -> None:
        try:
            while self._emitter.state != "stopped":
                verdict = await self._connection()
                if isinstance(verdict, Finished | Stop):
                    return
                await self._pause(verdict.after)
        except Exception as problem:
            self._emitter.stop(f"The sender failed ({type(problem).__name__}).")

    def end(self) -> None:
        """The agent ends: send what there is, say goodbye. From the loop's own thread."""
        self._hurry.set()
        self._wake.set()

    def _ring(self) -> None:
        """From any thread: there is something to send."""
        if self._rung:
            return
        self._rung = True
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody sends any more
            self._loop.call_soon_threadsafe(self._wake.set)

    async def _pause(self, seconds: float) -> None:
        if self._hurry.is_set():  # whoever closes waits: one try at once, the further ones with their pauses
            await asyncio.sleep(seconds)
            return
        # Not wait_for: on Python 3.11 it swallows a cancellation that comes together with the event.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()

    async def _connection(self) -> Verdict:
        """One connection from its opening to its end, however it ends."""
        emitter = self._emitter
        emitter.state = "connecting"
        code, sentence = ABNORMAL, None
        with emitter.held() as core:
            hello = core.hello()
        try:
            # No compression: an agent's processor has better things to do.
            async with _Connect(
                emitter.url,
                additional_headers={"Authorization": f"Bearer {emitter.token}"} if emitter.token else None,
                compression=None,
                logger=_quiet,
                open_timeout=self._patience,
                close_timeout=2,
            ) as socket:
                await socket.send(hello.decode())
                self._heard = self._loop.time()
                await self._talk(socket)
                await socket.close()
                code = socket.close_code or ABNORMAL
        except ConnectionClosed as end:
            code = end.rcvd.code if end.rcvd else ABNORMAL
        except InvalidStatus as answer:
            sentence = (
                f"The server answered HTTP {answer.response.status_code} instead of opening a websocket."
            )
        except Exception as problem:  # no network, no such host, no TLS, a proxy: all the same to the agent
            sentence = f"The connection could not be made ({type(problem).__name__})."
        with emitter.held() as core:
            verdict = core.disconnected(code)
        emitter.judge(verdict, sentence)
        return verdict

    async def _talk(self, socket: ClientConnection) -> None:
        """Until either direction has nothing more to do. Raises ConnectionClosed when the other side closes."""
        directions = [asyncio.create_task(self._listen(socket)), asyncio.create_task(self._send(socket))]
        try:
            done, _ = await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
            if directions[0] not in done:  # sending found it closed: hear the server's last words
                await asyncio.wait(directions[:1], timeout=LAST_WORDS)
            for direction in done:
                direction.result()
        finally:
            for direction in directions:
                direction.cancel()
            await asyncio.gather(*directions, return_exceptions=True)

    async def _send(self, socket: ClientConnection) -> None:
        while True:
            self._wake.clear()
            self._rung = False  # before looking: what is emitted from here on rings again
            while True:
                with self._emitter.held() as core:
                    waited_for = core.expects_word
                    frame = core.frame()
                if frame is None:
                    break
                if not waited_for:
                    self._heard = self._loop.time()
                await socket.send(frame.decode())
            await self._wake.wait()

    async def _listen(self, socket: ClientConnection) -> None:
        while True:
            try:
                async with asyncio.timeout(self._patience / 4):
                    text = await socket.recv()
            except TimeoutError:
                with self._emitter.held() as core:
                    if core.expects_word and self._loop.time() - self._heard > self._patience:
                        return
                continue
            self._heard = self._loop.time()
            with self._emitter.held() as core:
                refusal = core.received(text)
                leave = core.must_reconnect
                welcomed = core.welcomed
            if refusal is not None:
                self._emitter.tell_refusal("The server did not keep event %s.", refusal.seq)
            if leave:
                return
            if welcomed and self._emitter.state == "connecting":
                self._emitter.state, self._emitter.error = "connected", None
            self._wake.set()
