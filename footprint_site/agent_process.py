"""The demo's agent: a process of its own, as a real one would be. Started, started again when it dies, stopped."""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Sequence

log = logging.getLogger("footprint.demo")

LOOKED_AFTER_EVERY = 0.5  # seconds
LONGEST_PAUSE = 30.0  # seconds between two tries of an agent that keeps dying
STOPPED_WITHIN = 5.0  # seconds; then it is killed


class AgentProcess:
    """Lives on the server's loop. The token goes through the environment, so no process list shows it.

    The agent's stdin is a pipe that ends when this process does, however it ends: an agent that reads it can leave too.
    """

    def __init__(self, command: Sequence[str], token: str) -> None:
        self._command = list(command)
        self._environment = {**os.environ, "FOOTPRINT_TOKEN": token}
        self._process: subprocess.Popen[bytes] | None = None
        self._watch: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._spawn()
        self._watch = asyncio.get_event_loop().create_task(self._look_after())

    async def stop(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            await asyncio.to_thread(process.wait, STOPPED_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            await asyncio.to_thread(process.wait)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def _spawn(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            # Ctrl-C in the terminal reaches the server alone; the agent is stopped by it, in order.
            start_new_session=True,
        )

    async def _look_after(self) -> None:
        pause = 1.0
        lived = 0.0
        while True:
            await asyncio.sleep(LOOKED_AFTER_EVERY)
            assert self._process is not None
            if self._process.poll() is None:
                lived += LOOKED_AFTER_EVERY
                continue
            pause = 1.0 if lived > LONGEST_PAUSE else min(pause * 2, LONGEST_PAUSE)
            log.warning("The demo agent ended (%s); it starts again in %d s", self._process.returncode, pause)
            await asyncio.sleep(pause)
            lived = 0.0
            self._spawn()


def demo_agent(url: str, token: str) -> AgentProcess:
    """The shipped agent, sending to the server at this http address through its real websocket."""
    ingest = "ws" + url.removeprefix("http") + "/ws/ingest/"
    return AgentProcess([sys.executable, "-m", "runs.sender.demo_agent", "--url", ingest], token)
