"""Nothing acknowledged is lost, nothing is counted twice: real servers killed and stopped, connections cut.

FOOTPRINT_KILLS says how often (20): `FOOTPRINT_KILLS=200 pytest tests/intake/test_durability.py` looks harder.
"""

import contextlib
import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from runs.models import KeptEvent, Note, Stream
from runs.sender import Buffer, Sender
from tests import busy_agent
from tests.cable import Cable
from tests.server_database import ServerDatabase, server_database
from tests.server_process import ServerProcess

KILLS = int(os.environ.get("FOOTPRINT_KILLS", "20"))
KILLS_AT_ACKS = max(1, KILLS // 6)
A_SECOND = 220  # events of each agent
AGENTS = ("first", "second")
SOON = 30.0


@dataclass
class House:
    """A server on data of its own at the end of a cable; killed and started again on the same data."""

    database: ServerDatabase
    cable: Cable
    projects: dict[str, int] = field(default_factory=dict)
    server: ServerProcess | None = None

    def start(self) -> None:
        arguments = ["serve", "--port", "0", *(["--no-migrate"] if self.projects else [])]
        self.server = ServerProcess(arguments, self.database.data, self.database.environment)
        port = int(self.server.url.rpartition(":")[2])
        if not self.projects:
            for name in AGENTS:
                self.projects[name] = self.database.make_project(
                    name.encode().hex().ljust(64, "0"), token(name)
                )
        self.cable.plug(port)

    def kill(self, *, inside: bool, choose: random.Random) -> bool:
        """Kill -9 at this moment, or (`inside`) at the next one when a transaction is open. Whether one was.

        The server is frozen first, so that what was found holds when it dies.
        """
        server = self.running
        until = time.monotonic() + SOON
        while True:
            server.send_signal(signal.SIGSTOP)
            _, status = os.waitpid(server.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status), server.output
            found = self.database.is_being_written()
            if found or not inside:
                break
            assert time.monotonic() < until, "no transaction was ever open"
            server.send_signal(signal.SIGCONT)
            time.sleep(choose.uniform(0.001, 0.01))
        self.cable.plug(None)
        server.kill()
        assert "Traceback" not in server.output, server.output
        return found

    def stop(self) -> None:
        self.cable.plug(None)
        assert self.running.stop() == 0
        assert "Traceback" not in self.running.output, self.running.output

    @property
    def running(self) -> ServerProcess:
        assert self.server is not None
        return self.server

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
def house(folder: Path) -> Iterator[House]:
    folder.mkdir()
    cable = Cable()
    with server_database(folder) as database:
        built = House(database, cable)
        try:
            built.start()
            yield built
        finally:
            cable.close()
            if built.server is not None:
                built.server.kill()


def token(name: str) -> str:
    return f"fp_{name}-0123456789"


class Agent:
    """The shipped sender with a thread that tells it events at a steady pace, whatever becomes of the server."""

    def __init__(self, name: str, cable: Cable) -> None:
        buffer = Buffer(name=name)
        buffer.stream, buffer.instance = f"stream-{name}", f"instance-{name}"
        self.name = name
        self.sender = Sender(cable.url, token=token(name), buffer=buffer)
        self.told = 0
        self.took = 0.0
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """No more events; everything that was told is settled."""
        self._enough.set()
        self._thread.join()
        self.end()

    def tell(self, count: int) -> None:
        """That many at once."""
        for line in islice(busy_agent.lines(), count):
            self.sender.emit_text(line)
        self.told = count

    def end(self) -> None:
        assert self.sender.close(timeout=120), self.sender.status
        status = self.sender.status
        assert (status.last, status.acked, status.lost, status.refused_count) == (self.told, self.told, 0, 0)

    def _work(self) -> None:
        began = time.monotonic()
        for line in busy_agent.lines():
            while self.told >= (time.monotonic() - began) * A_SECOND:
                if self._enough.wait(0.01):
                    self.took = time.monotonic() - began
                    return
            self.sender.emit_text(line)
            self.told += 1


def until(found: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + SOON
    while not found():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def until_acked_again(agents: list[Agent]) -> None:
    before = [agent.sender.status.acked for agent in agents]
    for agent, acked in zip(agents, before, strict=True):
        until(lambda a=agent, n=acked: a.sender.status.acked > n, f"no ack: {agent.sender.status}")


def assert_promises_are_kept(home: House, agents: list[Agent]) -> None:
    """What each agent heard is settled is in the database, and the stream's numbers have no hole."""
    for agent in agents:
        heard = agent.sender.status.acked
        acked = home.stream(agent.name)["acked"]
        assert heard <= acked
        seqs = home.database.rows(KeptEvent, "seq", project=home.projects[agent.name])
        assert [seq for (seq,) in seqs] == list(range(1, acked + 1))


def assert_same_record(one: dict[str, list[Any]], other: dict[str, list[Any]]) -> None:
    """Row for row; a failure shows the first row that differs, not all of them."""
    assert one.keys() == other.keys()
    for table, rows in one.items():
        for row, twin in zip(rows, other[table], strict=False):
            differing = {name: (value, twin[name]) for name, value in row.items() if value != twin[name]}
            assert differing == {}, f"{table}: {row}"
        assert len(rows) == len(other[table]), table


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Senders that try again at once: most of the test would be their pauses."""
    monkeypatch.setattr("runs.sender.protocol.FIRST_PAUSE", 0.1)
    monkeypatch.setattr("runs.sender.protocol.LONGEST_PAUSE", 0.4)


@pytest.fixture(autouse=True)
def databases(django_db_blocker: Any) -> Iterator[None]:
    """The databases here are the servers' own, not the one of the tests."""
    with django_db_blocker.unblock():
        yield


@pytest.mark.usefixtures("impatient")
def test_killed_servers_and_cut_connections_leave_the_record_of_an_undisturbed_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    choose = random.Random(2)
    inside = cut = 0
    with house(tmp_path / "disturbed") as home:
        agents = [Agent(name, home.cable) for name in AGENTS]
        for agent in agents:
            agent.start()
        for number in range(KILLS):
            until_acked_again(agents)
            time.sleep(choose.uniform(0, 0.3))
            cut += home.cable.cut(choose) == len(agents)

            until_acked_again(agents)
            time.sleep(choose.uniform(0, 0.3))
            inside += home.kill(inside=number % 3 == 0, choose=choose)
            if number % 2:  # else the next server is the first to open the files
                assert_promises_are_kept(home, agents)
            home.start()
        for agent in agents:
            agent.finish()
            assert agent.told / agent.took >= 200
        home.stop()
        assert home.database.problems() == []
        disturbed = home.database.whole()

    with house(tmp_path / "undisturbed") as home:
        for agent in agents:
            calm = Agent(agent.name, home.cable)
            calm.tell(agent.told)
            calm.end()
        home.stop()
        undisturbed = home.database.whole()

    with capsys.disabled():
        told = " + ".join(str(agent.told) for agent in agents)
        pace = min(agent.told / agent.took for agent in agents)
        print(
            f"\n{KILLS} kills, {inside} of them inside a transaction; {cut} cuts; "
            f"{told} events, {pace:.0f} a second from each agent"
        )
    assert inside >= min(5, KILLS // 3)
    assert cut == KILLS
    assert_same_record(disturbed, undisturbed)
    assert disturbed["Note"] == disturbed["Hole"] == []
    for table in (
        "Answer",
        "ToolCall",
        "Leg",
        "ChoiceRow",
        "Roster",
        "Spawn",
        "Violation",
        "DeclaredName",
        "Text",
    ):
        assert disturbed[table], f"the agent's day has no {table}"


@pytest.mark.usefixtures("impatient")
def test_a_stop_in_the_middle_tells_senders_to_come_back_and_loses_nothing(tmp_path: Path) -> None:
    with house(tmp_path / "house") as home:
        agent = Agent(AGENTS[0], home.cable)
        agent.start()
        until_acked_again([agent])
        address = home.running.websocket_url + "/ws/ingest/"
        with connect(address, additional_headers=bearer(AGENTS[1])) as idle:
            idle.send(hello("idle", 0))
            assert json.loads(idle.recv(timeout=SOON))["type"] == "welcome"
            home.stop()
            assert json.loads(idle.recv(timeout=SOON)) == {
                "type": "closing",
                "code": 1012,
                "reason": "the server restarts; connect again and resume",
            }
            with pytest.raises(ConnectionClosed) as closed:
                idle.recv(timeout=SOON)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1012
        assert_promises_are_kept(home, [agent])
        home.start()
        until_acked_again([agent])
        agent.finish()
        home.stop()
        assert home.stream(agent.name) == {
            "acked": agent.told,
            "kept": agent.told,
            "refused": 0,
            "dropped": 0,
            "missing": 0,
        }
        assert_promises_are_kept(home, [agent])
        assert home.database.rows(Note, "kind") == []


# -- every ack, exactly --

LOST = "lost"  # the sender had to drop it, and says so
SKIPPED = "skipped"  # it never comes, and nobody says so


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token(name)}"}


def hello(stream: str, last: int) -> str:
    return json.dumps(
        {"type": "hello", "protocol": 1, "stream": stream, "instance": "i", "sender": "tests/1", "last": last}
    )


def plan(count: int) -> list[str]:
    """What becomes of each number, from 1: an event to keep, one to drop, one to refuse, a hole told or not."""
    listed = busy_agent.lines()
    told = []
    for seq in range(1, count + 1):
        if seq % 17 == 0:
            told.append('{"type":"agentfootprint.context.injected","payload":{},"meta":{"runId":"r"}}')
        elif seq % 29 == 0:
            told.append('{"type":"agentfootprint.agent.turn_start","payload":7,"meta":{"runId":"r"}}')
        elif seq % 41 in (0, 1) and seq > 1:
            told.append(LOST)
        elif seq % 53 == 0:
            told.append(SKIPPED)
        else:
            told.append(next(listed))
    return [*told, next(listed)]


def frames_from(first: int, planned: list[str]) -> Iterator[str]:
    """The frames that bring everything from this number on, at most 20 events each."""
    seq = first
    while seq <= len(planned):
        start, what = seq, planned[seq - 1]
        while seq <= len(planned) and (
            planned[seq - 1] == what
            if what in (LOST, SKIPPED)
            else planned[seq - 1] not in (LOST, SKIPPED) and seq < start + 20
        ):
            seq += 1
        if what == LOST:
            yield json.dumps({"type": "lost", "from": start, "to": seq - 1})
        elif what != SKIPPED:
            yield "\n".join([json.dumps({"type": "events", "first": start}), *planned[start - 1 : seq - 1]])


def assert_settled(home: House, planned: list[str], first: int, through: int) -> None:
    """Everything from `first` to `through` stands in the database as it was meant, now."""
    project = home.projects[AGENTS[0]]
    assert home.stream(AGENTS[0])["acked"] >= through
    kept = {
        seq for (seq,) in home.database.rows(KeptEvent, "seq", project=project, seq__range=(first, through))
    }
    fates: dict[int, str] = dict.fromkeys(kept, "kept")
    for kind, start, end in home.database.rows(Note, "kind", "first", "last", project=project):
        for seq in range(max(start, first), min(end, through) + 1):
            assert seq not in fates, "settled once"
            fates[seq] = kind
    for seq in range(first, through + 1):
        assert fates.get(seq, "dropped") == fate_of(planned[seq - 1]), f"seq {seq}"


def fate_of(line: str) -> str:
    if line in (LOST, SKIPPED):
        return "lost" if line == LOST else "gap"
    if "context.injected" in line:
        return "dropped"
    return "refused" if '"payload":7' in line else "kept"


def test_what_is_acknowledged_is_settled_at_that_moment_and_after_a_kill(tmp_path: Path) -> None:
    planned = plan(800)
    choose = random.Random(3)
    acked = acks = kills = 0
    with house(tmp_path / "house") as home:
        while acked < len(planned):
            kill_at = acks + choose.randint(2, 6) if kills < KILLS_AT_ACKS else None
            with connect(
                home.running.websocket_url + "/ws/ingest/", additional_headers=bearer(AGENTS[0])
            ) as socket:
                socket.send(hello("exact", len(planned)))
                welcome = json.loads(socket.recv(timeout=SOON))
                assert welcome["acked"] >= acked, "an ack outlives the server"
                assert_settled(home, planned, acked + 1, welcome["acked"])
                acked = welcome["acked"]
                frames = frames_from(acked + 1, planned)
                for frame in islice(frames, 5):  # so that something is always under way when an ack comes
                    socket.send(frame)
                while acked < len(planned):
                    told = json.loads(socket.recv(timeout=SOON))
                    if told["type"] != "ack":
                        assert told["type"] == "refused"
                        continue
                    if acks == kill_at:
                        home.running.send_signal(signal.SIGKILL)
                    assert_settled(home, planned, acked + 1, told["through"])
                    acked = told["through"]
                    acks += 1
                    if acks - 1 == kill_at:
                        home.running.wait()
                        assert_settled(home, planned, 1, acked)
                        kills += 1
                        break
                    for frame in islice(frames, 1):
                        socket.send(frame)
            if acked < len(planned):
                home.start()
        assert_settled(home, planned, 1, len(planned))
        counted = home.stream(AGENTS[0])
        for fate in ("kept", "dropped", "refused"):
            assert counted[fate] == sum(fate_of(line) == fate for line in planned)
    assert kills == KILLS_AT_ACKS
    assert acks > 20, "a few at a time"
