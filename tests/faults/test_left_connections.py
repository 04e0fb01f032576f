"""Connections opened and left, hundreds at a time: whoever works is served meanwhile, and they are let go."""

import random
import socket
import time
from pathlib import Path

import pytest

from tests.faults.check import assert_nothing_was_lost
from tests.faults.conftest import Undisturbed
from tests.faults.house import TIMES, House, bearer, house, until, until_acked_again
from tests.faults.test_network import open_files

LEFT = min(1_000, 150 * TIMES)  # of each kind
OPEN = b"GET /ws/ingest/ HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
KEY = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
BEARER = b"Authorization: " + bearer("first")["Authorization"].encode() + b"\r\n"
KINDS = {
    "without a word": b"",
    "in the middle of its request": OPEN,
    "without a token": OPEN + KEY + b"\r\n",
    "without a hello": OPEN + KEY + BEARER + b"\r\n",
}


def test_connections_opened_and_left(tmp_path: Path, undisturbed: Undisturbed) -> None:
    with house(tmp_path / "house", ["first"], environment={"FOOTPRINT_HELLO_SECONDS": "2"}) as home:
        agent = home.agent("first")
        agent.start()
        until_acked_again([agent])
        before = open_files(home)
        left = [leave(home, request) for request in KINDS.values() for _ in range(LEFT)]
        until(lambda: open_files(home) >= before + LEFT, "they were not let in")
        until_acked_again([agent])
        # Each that became a websocket is told why it must go, and goes.
        until(
            lambda: open_files(home) <= before + 2 * LEFT + 5,
            "the server holds on to websockets without a word",
        )
        until_acked_again([agent])
        closings = [one.recv(65_536) for one in left[2 * LEFT :]]
        assert all(b'"code":4401' in said for said in closings)
        for one in left:
            one.close()
        until(lambda: open_files(home) <= before, "the server holds on to connections that are gone")
        agent.finish()
        home.stop()
        assert_nothing_was_lost(
            home, [agent], undisturbed([agent]), why="A connection without a stream ended with 4401"
        )


def test_a_server_with_few_files_to_open_serves_whoever_comes_back(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    """More connections than the process may have: it goes on, and has room again when they are gone."""
    resource = pytest.importorskip("resource", reason="limits of a process are a thing of Unix")
    with house(tmp_path / "house", ["first"]) as home:
        agent = home.agent("first")
        agent.start()
        until_acked_again([agent])
        _, hard = resource.prlimit(home.running.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(home.running.pid, resource.RLIMIT_NOFILE, (open_files(home) + 30, hard))
        left = [leave(home, b"") for _ in range(100)]
        until_acked_again([agent])
        time.sleep(0.5)
        for one in left:
            one.close()
        home.cable.cut(random.Random(1))
        until_acked_again([agent])
        agent.finish()
        home.stop()
        assert_nothing_was_lost(home, [agent], undisturbed([agent]), why="ended with 1006")


def leave(home: House, request: bytes) -> socket.socket:
    port = int(home.running.url.rpartition(":")[2])
    opened = socket.create_connection(("127.0.0.1", port))
    opened.settimeout(10)
    if request:
        opened.sendall(request)
    return opened
