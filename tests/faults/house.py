"""A server on data of its own at the end of a cable, and agents that go on telling whatever becomes of it."""

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from runs.models import KeptEvent, Stream
from runs.sender import Buffer, Sender
from runs.sender.pump import PATIENCE
from tests import busy_agent
from tests.cable import Cable
from tests.server_database import ServerDatabase, server_database
from tests.server_process import ServerProcess

TIMES = max(1, int(os.environ.get("FOOTPRINT_FAULTS", "1")))  # how much longer and harder
A_SECOND = 220  # events of each agent
ROUND = 500  # what an agent has told in the end is a multiple of this, so that undisturbed runs can be shared
AGENTS = ("first", "second")
SOON = 30.0

Lines = Callable[[], Iterator[str]]


@dataclass
class House:
    """Killed and started again on the same data."""

    database: ServerDatabase
    cable: Cable
    names: Sequence[str] = AGENTS
    environment: Mapping[str, str] = field(default_factory=dict)
    projects: dict[str, int] = field(default_factory=dict)
    server: ServerProcess | None = None
    said_before: str = ""  # by servers that are gone
    agents: list["Agent"] = field(default_factory=list)

    def agent(self, name: str, **options: Any) -> "Agent":
        """One that reports here, and stops when the house is left."""
        self.agents.append(Agent(name, self.cable, **options))
        return self.agents[-1]

    def start(self) -> None:
        arguments = ["serve", "--port", "0", *(["--no-migrate"] if self.projects else [])]
        environment = {**self.database.environment, **self.environment}
        if self.server is not None:
            self.said_before += self.server.output
        self.server = ServerProcess(arguments, self.database.data, environment)
        port = int(self.server.url.rpartition(":")[2])
        if not self.projects:
            for name in self.names:
                self.projects[name] = self.database.make_project(
                    name.encode().hex().ljust(64, "0"), token(name)
                )
        self.cable.plug(port)

    def kill(self, *, inside: bool, choose: random.Random) -> bool:
        """Kill -9 at this moment, or (`inside`) at the next one when a transaction is open. Whether one was.

        The server is frozen first, so that what was found holds when it dies.
        """
        until = time.monotonic() + SOON
        while True:
            self.freeze()
            found = self.database.is_being_written()
            if found or not inside:
                break
            assert time.monotonic() < until, "no transaction was ever open"
            self.thaw()
            time.sleep(choose.uniform(0.001, 0.01))
        self.cable.plug(None)
        self.running.kill()
        assert "Traceback" not in self.running.output, self.running.output
        return found

    def freeze(self) -> None:
        """Stand still, in the middle of whatever it does; returns when it does."""
        self.running.send_signal(signal.SIGSTOP)
        _, status = os.waitpid(self.running.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), self.running.output

    def thaw(self) -> None:
        self.running.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        self.cable.plug(None)
        assert self.running.stop() == 0
        assert "Traceback" not in self.running.output, self.running.output

    @property
    def running(self) -> ServerProcess:
        assert self.server is not None
        return self.server

    @property
    def said(self) -> list[str]:
        """The lines of the log, of every server there was."""
        return (self.said_before + self.running.output).splitlines()

    def stream(self, name: str) -> dict[str, Any]:
        found = self.database.rows(
            Stream, "acked", "kept", "refused", "dropped", "missing", project=self.projects[name]
        )
        return (
            dict(zip(("acked", "kept", "refused", "dropped", "missing"), found[0], strict=True))
            if found
            else {}
        )


@contextlib.contextmanager
def house(
    folder: Path,
    names: Sequence[str] = AGENTS,
    *,
    cable: Cable | None = None,
    environment: Mapping[str, str] | None = None,
    database_url: str | None = None,
) -> Iterator[House]:
    """`folder` is made; `database_url` instead of the tests' own."""
    folder.mkdir(exist_ok=True)
    cable = cable or Cable()
    with server_database(folder, database_url) as database:
        built = House(database, cable, names, environment or {})
        try:
            built.start()
            yield built
        finally:
            for agent in built.agents:
                agent.give_up()
            cable.close()
            if built.server is not None:
                built.server.kill()


def token(name: str) -> str:
    return f"fp_{name}-0123456789"


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token(name)}"}


class Agent:
    """The shipped sender with a thread that tells it events at a steady pace, whatever becomes of the server."""

    def __init__(
        self,
        name: str,
        cable: Cable,
        *,
        lines: Lines = busy_agent.lines,
        pace: float = A_SECOND,
        patience: float = PATIENCE,
        buffer: Buffer | None = None,
    ) -> None:
        buffer = Buffer(name=name) if buffer is None else buffer
        buffer.stream, buffer.instance = f"stream-{name}", f"instance-{name}"
        self.name = name
        self.lines = lines
        self.sender = Sender(cable.url, token=token(name), buffer=buffer, patience=patience)
        self.told = 0
        self.took = 0.0
        self._pace = pace
        self._enough = threading.Event()
        self._given_up = False
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """No more events; everything that was told is settled."""
        self.rest()
        self.end()

    def rest(self) -> None:
        """No more events for now, and what was told is a round number."""
        self._enough.set()
        self._thread.join()

    def give_up(self) -> None:
        """The story has ended, one way or another."""
        self._given_up = True
        self._enough.set()
        self.sender.close(timeout=0)

    def tell(self, count: int) -> None:
        """That many at once."""
        for line in islice(self.lines(), count):
            self.sender.emit_text(line)
        self.told = count

    def end(self) -> None:
        assert self.sender.close(timeout=120), self.sender.status
        status = self.sender.status
        assert (status.last, status.acked, status.lost, status.refused_count) == (self.told, self.told, 0, 0)

    def _work(self) -> None:
        began = time.monotonic()
        for line in self.lines():
            while not self._enough.is_set() and self.told >= (time.monotonic() - began) * self._pace:
                self._enough.wait(0.01)
            if self._enough.is_set():
                self.took = self.took or time.monotonic() - began
                if self.told % ROUND == 0 or self._given_up:
                    return
            self.sender.emit_text(line)
            self.told += 1


def until(found: Callable[[], bool], what: str, within: float = SOON) -> None:
    end = time.monotonic() + within
    while not found():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def until_acked_again(agents: Sequence[Agent]) -> None:
    before = [agent.sender.status.acked for agent in agents]
    for agent, acked in zip(agents, before, strict=True):
        until(lambda a=agent, n=acked: a.sender.status.acked > n, f"no ack: {agent.sender.status}")


def assert_promises_are_kept(home: House, agents: Sequence[Agent]) -> None:
    """What each agent heard is settled is in the database, and the stream's numbers have no hole."""
    for agent in agents:
        heard = agent.sender.status.acked
        acked = home.stream(agent.name)["acked"]
        assert heard <= acked
        seqs = home.database.rows(KeptEvent, "seq", project=home.projects[agent.name])
        assert [seq for (seq,) in seqs] == list(range(1, acked + 1))
