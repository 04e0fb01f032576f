"""Several server processes behind one port: started, started again when one dies, stopped in order.

The parent binds the port and serves nothing. Each process inherits the listening socket, so connections wait in one
queue and whichever process is free takes the next one (docs/decisions/014-several-processes.md). Both sides hold
the ends of a line: the process says on it when it serves, and whichever side is gone, however it went, the other
one learns it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from runs import measures

log = logging.getLogger("footprint.processes")

MANAGE = Path(__file__).resolve().parent.parent / "manage.py"
FIRST_PAUSE_S, LONGEST_PAUSE_S = (
    0.5,
    30.0,
)  # before a process that died starts again; doubled while it keeps dying
LIVED_WELL_S = 60.0  # who served so long died of something new
STOPPED_WITHIN_S = 25.0  # a process ends itself after 20; then it is killed
SERVES = b"serves"
ENDED_BY_A_STOP = (0, -signal.SIGTERM, -signal.SIGINT)  # the latter two: before it could hear us


class Processes:
    """`run()` serves until SIGTERM or SIGINT; a second one is passed on too, and hurries."""

    def __init__(self, count: int, listening: socket.socket, on_start: Callable[[], None]) -> None:
        """`on_start` is called when the first process serves."""
        self._count = count
        self._listening = listening
        self._on_start = on_start
        self._alive: dict[int, asyncio.subprocess.Process] = {}
        self._stopping = asyncio.Event()
        self._has_served = False
        self._never_served: set[int] = set()

    async def run(self) -> int:
        """The exit code: 0 after a stop in order, 1 when a process had to be killed or none could start."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        kept = [asyncio.create_task(self._keep(place)) for place in range(1, self._count + 1)]
        await self._stopping.wait()
        done, late = await asyncio.wait(kept, timeout=STOPPED_WITHIN_S)
        for process in self._alive.values():
            log.error("Process with pid %d did not stop in time: killed", process.pid)
            process.kill()
        if late:
            await asyncio.wait(late)
        in_order = all(task.result() in ENDED_BY_A_STOP for task in done)
        return 0 if in_order and not late else 1

    def _stop(self) -> None:
        self._stopping.set()
        self._listening.close()
        for process in self._alive.values():
            process.terminate()

    async def _keep(self, place: int) -> int:
        """One process after the other, until we stop. The last one's exit code; 1 when none of us could start."""
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE_S
        while not self._stopping.is_set():
            began = loop.time()
            code, pid, served = await self._one_life(place)
            if self._stopping.is_set():
                return code
            if not served and self._nobody_starts(place):
                log.error("None of %d processes could start; what is above says why", self._count)
                self._stop()
                return 1
            if loop.time() - began > LIVED_WELL_S:
                pause = FIRST_PAUSE_S
            log.warning("Process %d (pid %d) %s; it starts again in %.1f s", place, pid, _end(code), pause)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stopping.wait()
            pause = min(pause * 2, LONGEST_PAUSE_S)
        return 0

    def _nobody_starts(self, place: int) -> bool:
        self._never_served.add(place)
        return not self._has_served and len(self._never_served) == self._count

    async def _one_life(self, place: int) -> tuple[int, int, bool]:
        """From its start to its end: its exit code, its pid, and whether it ever served."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    str(MANAGE),
                    *("serve", "--inherit", str(self._listening.fileno()), str(theirs.fileno())),
                    pass_fds=(self._listening.fileno(), theirs.fileno()),
                    stdin=asyncio.subprocess.DEVNULL,
                    # Ctrl-C in the terminal reaches the parent alone; the processes are stopped by it, in order.
                    start_new_session=True,
                )
            self._alive[process.pid] = process
            if self._stopping.is_set():  # asked meanwhile
                process.terminate()
            try:
                served = await self._hear(ours)
                if served:
                    log.info("Process %d (pid %d) serves", place, process.pid)
                    if not self._has_served:
                        self._has_served = True
                        self._on_start()
                return await process.wait(), process.pid, served
            finally:
                del self._alive[process.pid]
                measures.forget_process(process.pid)

    async def _hear(self, line: socket.socket) -> bool:
        line.setblocking(False)
        try:
            return await asyncio.get_running_loop().sock_recv(line, len(SERVES)) == SERVES
        except OSError:
            return False


def say_serving(line: socket.socket) -> None:
    """In a process, on its loop, when it serves. When the parent is gone it stops as if it had been asked to."""
    line.setblocking(False)
    line.send(SERVES)

    def parent_is_gone() -> None:
        loop.remove_reader(line)
        log.warning("The parent of this process is gone: stopping")
        os.kill(os.getpid(), signal.SIGTERM)

    loop = asyncio.get_event_loop()
    loop.add_reader(line, parent_is_gone)


def why_not(count: int, *, sqlite: bool, redis: bool) -> str | None:
    """Why so many processes cannot serve together here, in a sentence; None when they can."""
    if count < 1:
        return "--processes: expected a number from 1."
    if count == 1:
        return None
    if sqlite:
        return (
            f"{count} processes need PostgreSQL: on SQLite all of them would wait for one file's write lock. "
            "Set DATABASE_URL to postgres://..., or serve with one process."
        )
    if not redis:
        return (
            f"{count} processes need Redis: without it an open page would not hear what another process took in. "
            "Set REDIS_URL to redis://..., or serve with one process."
        )
    return None


def _end(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
