"""More than was agreed: a sender over its window, and one whose buffer overflows while the server is away."""

import json
import time
from itertools import islice
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from runs.sender import Buffer
from runs.sender.emitter import SENDER
from tests import busy_agent
from tests.faults.check import assert_nothing_was_lost, assert_what_was_lost_is_said
from tests.faults.conftest import Undisturbed
from tests.faults.house import ROUND, SOON, bearer, house, until_acked_again

COUNT = 2 * ROUND
WINDOW = 200
ROOM = 150
AWAY_S = 3.0


def test_a_sender_over_its_window_is_told_and_resumes(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """Every other time it brings more than the window at once, is closed, and comes back where the server is."""
    lines = list(islice(busy_agent.lines(), COUNT))
    codes: list[int] = []
    acked = 0
    with house(tmp_path / "house", ["first"], environment={"FOOTPRINT_WINDOW": str(WINDOW)}) as home:
        address = home.running.websocket_url + "/ws/ingest/"
        while not codes or codes[-1] != 1000:
            assert len(codes) < 100, "it gets nowhere"
            with connect(address, additional_headers=bearer("first")) as socket:
                greedy = len(codes) % 2 == 0
                acked, code = converse(socket, lines, acked, [100, WINDOW + 50] if greedy else [100])
                codes.append(code)
        assert codes.count(4429) >= 3
        agent = home.agent("first")  # the one that tells the same undisturbed
        agent.told = agent.sender.core.buffer.acked = COUNT
        home.stop()
        why = r"A connection of stream \d+ ended with 4429: at most 200 events may be unacknowledged"
        assert_nothing_was_lost(home, [agent], undisturbed([agent]), why=why)


def converse(socket: Any, lines: list[str], acked: int, pieces: list[int]) -> tuple[int, int]:
    """Send so many events a frame from where the server is, or bye. What was acknowledged, and the code it closed
    with (1006: we left)."""
    hello = {"type": "hello", "protocol": 1, "stream": "stream-first", "instance": "instance-first"}
    socket.send(json.dumps({**hello, "sender": SENDER, "last": len(lines)}))
    welcome = json.loads(socket.recv(timeout=SOON))
    assert welcome["acked"] >= acked
    through = first = welcome["acked"]
    try:
        for count in pieces:
            piece = lines[first : first + count]
            if piece:
                socket.send("\n".join([json.dumps({"type": "events", "first": first + 1}), *piece]))
            first += len(piece)
        leaving = through == len(lines)
        if leaving:
            socket.send(json.dumps({"type": "bye", "last": len(lines)}))
        while leaving or through < first:
            frame = json.loads(socket.recv(timeout=SOON))
            if frame["type"] == "closing":
                return through, frame["code"]
            assert frame["type"] == "ack"
            through = frame["through"]
    except ConnectionClosed as closed:
        return through, closed.rcvd.code if closed.rcvd else 1006
    return through, 1006


def test_what_a_full_buffer_gave_up_is_said(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """The server is away for longer than the buffer has room. No answer that lacks a word is called complete."""
    with house(tmp_path / "house", ["first"]) as home:
        agent = home.agent("first", buffer=Buffer(name="first", max_events=ROOM))
        agent.start()
        until_acked_again([agent])
        home.stop()
        time.sleep(AWAY_S)
        home.start()
        until_acked_again([agent])
        agent.rest()
        assert agent.sender.close(timeout=60)
        lost = agent.sender.status.lost
        assert lost > 100
        home.stop()
        differing = assert_what_was_lost_is_said(
            home, [agent], undisturbed([agent]), why="were given up by their sender"
        )
        assert differing, "so many events were lost, and no answer differs"
        # What was on its way when it was given up may have arrived all the same, a frame at every try.
        assert 0 < home.stream("first")["missing"] <= lost
