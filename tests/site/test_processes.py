"""`manage.py serve --processes`: real processes behind one port, started again when they die, stopped in order."""

import contextlib
import os
import re
import signal
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from footprint_site.processes import Processes, why_not
from tests.server_database import server_database
from tests.server_process import ServerProcess, server_process
from tests.several import NEEDS_BOTH, until

OWN_SOCKETS = {"DJANGO_SETTINGS_MODULE": "tests.site.settings_serve"}


@pytest.fixture
def three(tmp_path: Path, django_db_blocker: Any) -> Iterator[ServerProcess]:
    """Three processes that serve, on a database of their own."""
    with (
        django_db_blocker.unblock(),
        server_database(tmp_path) as database,
        server_process(
            *("serve", "--port", "0", "--processes", "3"),
            data=tmp_path,
            environment={**OWN_SOCKETS, **database.environment, "REDIS_URL": os.environ["REDIS_URL"]},
        ) as server,
    ):
        assert server.url
        until(lambda: len(pids_of(server)) == 3, "three processes serve", server)
        yield server


def pids_of(server: ServerProcess) -> list[int]:
    """The processes that have served, in the order in which they came up."""
    return [int(pid) for pid in re.findall(r"Process \d \(pid (\d+)\) serves", server.output)]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"


@NEEDS_BOTH
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_reaches_every_process_and_every_websocket(
    three: ServerProcess, number: signal.Signals
) -> None:
    clients = [connect(three.websocket_url + "/echo/") for _ in range(30)]
    for client in clients:
        client.send("hello")
        assert client.recv(timeout=10) == "5"
    assert "with 3 processes" in three.output

    three.send_signal(number)

    assert [closed_with(client) for client in clients] == [1012] * 30
    assert three.wait() == 0
    assert "Traceback" not in three.output
    assert not any(is_alive(pid) for pid in pids_of(three))


@NEEDS_BOTH
def test_one_that_dies_starts_again_and_the_log_says_why(three: ServerProcess) -> None:
    [first, second, third] = pids_of(three)
    os.kill(first, signal.SIGKILL)
    for _ in range(10):  # the port is served all the while
        with urllib.request.urlopen(three.url + "/log-in/") as answer:
            assert answer.status == 200
    until(lambda: len(pids_of(three)) == 4, "another one serves", three)
    said = re.findall(rf"Process \d \(pid {first}\) (.*)", three.output)
    assert said == ["serves", "was ended by SIGKILL; it starts again in 0.5 s"]
    assert is_alive(second)
    assert is_alive(third)
    assert three.stop() == 0


@NEEDS_BOTH
def test_one_that_is_asked_to_stop_by_its_pid_is_renewed_in_order(three: ServerProcess) -> None:
    [first, *_] = pids_of(three)
    os.kill(first, signal.SIGTERM)
    until(lambda: len(pids_of(three)) == 4, "another one serves", three)
    assert f"(pid {first}) ended with exit code 0; it starts again" in three.output
    assert three.stop() == 0


@NEEDS_BOTH
def test_processes_do_not_outlive_a_parent_that_was_killed(three: ServerProcess) -> None:
    with connect(three.websocket_url + "/echo/") as client:
        three.send_signal(signal.SIGKILL)
        assert closed_with(client) == 1012
        until(lambda: not any(is_alive(pid) for pid in pids_of(three)), "all have stopped", three)
    assert three.output.count("The parent of this process is gone: stopping") == 3


def closed_with(client: ClientConnection) -> int | None:
    with contextlib.suppress(ConnectionClosed):
        while True:  # a farewell comes first
            client.recv(timeout=20)
    return client.close_code


async def test_when_none_can_start_the_parent_ends_with_1_instead_of_trying_for_ever(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = tmp_path / "manage.py"
    broken.write_text("raise SystemExit(3)")
    monkeypatch.setattr("footprint_site.processes.MANAGE", broken)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert await Processes(2, listening, on_start=never).run() == 1
    assert "None of 2 processes could start" in caplog.text


def never() -> None:
    raise AssertionError("nothing serves")


@pytest.mark.parametrize(
    ("count", "sqlite", "redis", "sentence"),
    [
        (1, True, False, None),
        (3, False, True, None),
        (0, False, True, "--processes: expected a number from 1."),
        (2, True, True, "2 processes need PostgreSQL: on SQLite"),
        (2, False, False, "2 processes need Redis: without it"),
    ],
)
def test_more_than_one_needs_what_joins_them(
    count: int, sqlite: bool, redis: bool, sentence: str | None
) -> None:
    said = why_not(count, sqlite=sqlite, redis=redis)
    assert said is None if sentence is None else (said or "").startswith(sentence)


def test_on_sqlite_it_refuses_in_a_sentence() -> None:
    with server_process("serve", "--port", "0", "--processes", "2") as server:
        assert server.wait() == 1
        assert "2 processes need PostgreSQL" in server.output
        assert "Traceback" not in server.output
