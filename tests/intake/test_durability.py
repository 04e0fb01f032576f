"""Nothing acknowledged is lost, nothing is counted twice: real servers killed and stopped, connections cut.

FOOTPRINT_KILLS says how often (20): `FOOTPRINT_KILLS=200 pytest tests/intake/test_durability.py` looks harder.
"""

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from runs.models import KeptEvent, Note
from tests import busy_agent
from tests.faults.check import assert_same_record
from tests.faults.house import (
    AGENTS,
    SOON,
    House,
    assert_promises_are_kept,
    bearer,
    house,
    until_acked_again,
)

pytestmark = pytest.mark.faults

KILLS = int(os.environ.get("FOOTPRINT_KILLS", "20"))
KILLS_AT_ACKS = max(1, KILLS // 6)


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
        agents = [home.agent(name) for name in AGENTS]
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
            calm = home.agent(agent.name)
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
        "ChoiceCall",
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
        agent = home.agent(AGENTS[0])
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
