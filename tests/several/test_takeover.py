"""One stream over several processes: it goes on where its sender comes back, and only its newest connection counts."""

import json
import random
import time
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from runs.models import KeptEvent, Stream
from tests.faults.check import assert_same_record
from tests.faults.conftest import Undisturbed
from tests.faults.house import Agent, bearer, until_acked_again
from tests.lines import turn
from tests.server_process import ServerProcess
from tests.several import NEEDS_BOTH, SOON, until
from tests.several.late_line import LateLine
from tests.several.street import PROJECT, cable_to, port_of, street

pytestmark = NEEDS_BOTH

MOVES = 6


def test_a_stream_that_moves_between_processes_resumes_exactly(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    choose = random.Random(4)
    with street(tmp_path) as built, cable_to(built.servers[0]) as cable:
        agent = Agent(PROJECT, cable)
        agent.start()
        for move in range(MOVES):
            until_acked_again([agent])
            time.sleep(choose.uniform(0, 0.2))
            cable.plug(port_of(built.servers[(move + 1) % 2]))
            # The last cut may have torn its connection only now: then there is none for a moment.
            until(lambda: cable.cut(choose) == 1, "the agent did not connect again")
        until_acked_again([agent])
        agent.finish()
        for server in built.servers:
            assert server.stop() == 0
            assert "Traceback" not in server.output
        record = built.database.whole()
    assert record["Stream"][0]["acked"] == agent.told
    assert_same_record(record, undisturbed([agent]))


def test_the_older_connection_in_another_process_is_told_and_its_events_are_not_taken(tmp_path: Path) -> None:
    with street(tmp_path) as built:
        first, second = built.servers
        old, idle = opened(first, "busy"), opened(first, "idle")
        new, _ = opened(second, "busy"), opened(second, "idle")
        old.send(events(1, turn("of-the-old")))
        assert closed_with(old) == 4409
        new.send(events(1, turn("of-the-new")))
        assert json.loads(new.recv(timeout=SOON)) == {"type": "ack", "through": len(turn())}
        assert closed_with(idle) == 4409  # its process looks by itself now and then
        runs = {run for (run,) in built.database.rows(KeptEvent, "run")}
    assert runs == {"of-the-new"}


def test_a_hello_that_was_long_on_its_way_does_not_end_the_sender(tmp_path: Path) -> None:
    with street(tmp_path) as built:
        line = LateLine(*[port_of(server) for server in built.servers])
        try:
            agent = Agent(PROJECT, line, patience=1.5)  # type: ignore[arg-type]  # it has a url, as a cable has
            agent.start()
            assert line.holds.wait(SOON)
            until_acked_again(
                [agent]
            )  # the sender has given up on the first process and reports to the second
            [(before,)] = built.database.rows(Stream, "epoch")
            line.release()
            until(
                lambda: built.database.rows(Stream, "epoch") >= [(before + 2,)],
                "the ghost, and the sender again",
            )
            until_acked_again([agent])
            agent.finish()
        finally:
            line.close()
        [(acked, kept, missing)] = built.database.rows(Stream, "acked", "kept", "missing")
        assert (acked, kept, missing) == (agent.told, agent.told, 0)
        for server in built.servers:
            assert "Traceback" not in server.output


def opened(server: ServerProcess, stream: str) -> ClientConnection:
    socket = connect(server.websocket_url + "/ws/ingest/", additional_headers=bearer(PROJECT))
    hello = {
        "type": "hello",
        "protocol": 1,
        "stream": stream,
        "instance": "i",
        "sender": "tests/1",
        "last": 0,
    }
    socket.send(json.dumps(hello))
    assert json.loads(socket.recv(timeout=SOON))["type"] == "welcome"
    return socket


def events(first: int, lines: list[str]) -> str:
    return "\n".join([json.dumps({"type": "events", "first": first}), *lines])


def closed_with(socket: ClientConnection) -> int:
    said = json.loads(socket.recv(timeout=SOON))
    assert said["type"] == "closing"
    with pytest.raises(ConnectionClosed):
        socket.recv(timeout=SOON)
    assert said["code"] == socket.close_code
    return int(said["code"])
