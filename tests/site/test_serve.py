"""`manage.py serve`, as a real process: it starts where it can, and stops in order with websockets open."""

import json
import os
import signal
import socket
import urllib.request

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.server_process import server_process

OWN_SOCKETS = {"DJANGO_SETTINGS_MODULE": "tests.site.settings_serve"}


def closed_with(client) -> tuple[int, str]:
    with pytest.raises(ConnectionClosed) as closed:
        client.recv(timeout=20)
    return closed.value.rcvd.code, closed.value.rcvd.reason


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_closes_every_websocket_with_1012_and_ends_with_0(number):
    with server_process(environment=OWN_SOCKETS) as server:
        clients = [connect(server.websocket_url + "/echo/") for _ in range(20)]
        for client in clients:
            client.send("hello")
            assert client.recv(timeout=10) == "5"

        server.send_signal(number)

        for client in clients:
            assert json.loads(client.recv(timeout=20))["type"] == "closing"
            assert closed_with(client) == (1012, "the server restarts")
        assert server.wait() == 0
        assert "Traceback" not in server.output


def test_a_client_that_never_answers_does_not_hold_the_server():
    with server_process(environment=OWN_SOCKETS) as server:
        host, port = server.url.removeprefix("http://").split(":")
        silent = socket.create_connection((host, int(port)))
        silent.sendall(
            b"GET /echo/ HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        assert b"101" in silent.recv(1024)

        assert server.stop() == 0
        silent.close()


def test_a_room_that_does_not_let_go_does_not_hold_the_server():
    with (
        server_process(environment=OWN_SOCKETS) as server,
        connect(server.websocket_url + "/stubborn/") as client,
    ):
        server.send_signal(signal.SIGTERM)
        assert closed_with(client) == (1012, "the server restarts")
        assert server.wait() == 0
        assert "did not close in time" in server.output


def test_frames_up_to_twice_our_limit_reach_the_room_so_that_it_can_refuse_them():
    with (
        server_process(environment={**OWN_SOCKETS, "FOOTPRINT_FRAME_BYTES": "3000000"}) as server,
        connect(server.websocket_url + "/echo/") as client,
    ):
        client.send("hello")  # the first frame of a stranger is small (tests/site/test_connections.py)
        assert client.recv(timeout=10) == "5"
        client.send("x" * 5_000_000)
        assert client.recv(timeout=20) == "5000000"
        client.send("x" * 7_000_000)
        assert closed_with(client)[0] == 1009


def test_a_room_may_close_with_any_code_and_a_reason():
    with (
        server_process(environment=OWN_SOCKETS) as server,
        connect(server.websocket_url + "/refusing/") as client,
    ):
        assert closed_with(client) == (1009, "a frame above the limit")
        assert server.stop() == 0


def test_an_address_without_a_websocket_is_refused():
    with server_process() as server:
        with pytest.raises(InvalidStatus) as refused:
            connect(server.websocket_url + "/ws/nothing/")
        assert refused.value.response.status_code == 403
        assert server.stop() == 0


def test_it_serves_pages_and_static_files_with_debug_off():
    with server_process() as server:
        with urllib.request.urlopen(server.url + "/log-in/") as answer:
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        with urllib.request.urlopen(server.url + "/static/admin/css/base.css") as answer:
            assert answer.headers["Content-Type"].startswith("text/css")
            assert len(answer.read()) == int(answer.headers["Content-Length"])
        assert server.stop() == 0
        assert "Warning" not in server.output


def test_a_taken_port_is_said_in_a_sentence_when_it_was_asked_for():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with server_process("serve", "--port", str(port)) as server:
            assert server.wait() == 1
            assert f"127.0.0.1:{port} cannot be used" in server.output
            assert "Traceback" not in server.output


def test_without_a_port_the_next_free_one_is_taken(monkeypatch):
    from footprint_site import starting

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(starting, "FIRST_PORT", port)
        with starting.listen("127.0.0.1", None) as found:
            assert port < found.getsockname()[1] < port + starting.PORTS_TRIED


def test_secrets_are_made_once_and_only_for_this_user(tmp_path):
    for _ in range(2):
        with server_process(data=tmp_path / "data") as server:
            assert server.url
            secret = (tmp_path / "data" / "secret-key").read_text()
            assert server.stop() == 0
    assert (tmp_path / "data" / "secret-key").read_text() == secret
    assert os.stat(tmp_path / "data" / "secret-key").st_mode & 0o777 == 0o600
    assert os.stat(tmp_path / "data").st_mode & 0o777 == 0o700
