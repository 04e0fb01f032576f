"""Peers that are slow, endless or hostile, against a real server: each is answered or closed, and others are served."""

import base64
import contextlib
import os
import re
import socket
import struct
import urllib.request
from collections.abc import Iterator

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from footprint_site import connections
from tests.server_process import ServerProcess, make_token_on, server_process

SHORT = {"DJANGO_SETTINGS_MODULE": "tests.site.settings_serve"}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with server_process(environment={"FOOTPRINT_HOSTS": "127.0.0.1"}) as started:
        yield started
        assert "Traceback" not in started.output
        assert started.stop() == 0


@contextlib.contextmanager
def raw(server: ServerProcess, said: bytes = b"") -> Iterator[socket.socket]:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=40) as peer:
        peer.sendall(said)
        yield peer


def everything(peer: socket.socket) -> bytes:
    """What the server says until it closes."""
    heard = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := peer.recv(65536):
            heard += chunk
    return heard


def upgrade(path: str = "/ws/ingest/", *headers: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        *headers,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def frame(opcode: int, payload: bytes = b"", *, final: bool = True) -> bytes:
    """One masked frame of a client, with a mask of zeros."""
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + struct.pack("!H", size)
    return bytes([(0x80 if final else 0) | opcode]) + length + bytes(4) + payload


def memory_of(server: ServerProcess) -> int:
    """Its resident memory, in MiB."""
    with open(f"/proc/{server.pid}/status") as status:
        found = re.search(r"VmRSS:\s+(\d+) kB", status.read())
    assert found is not None
    return int(found[1]) // 1024


def is_served(server: ServerProcess) -> bool:
    with urllib.request.urlopen(server.url + "/log-in/", timeout=20) as answer:
        return bool(answer.status == 200)


# -- HTTP ---------------------------------------------------------------------------------------


def test_headers_without_end_are_refused(server: ServerProcess) -> None:
    with raw(server, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X-Long: " + b"x" * 20_000) as peer:
        assert everything(peer) == b""  # one line too long ends the connection without a word
    with raw(server, b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: x\r\n" % n for n in range(600))) as peer:
        assert everything(peer).startswith(b"HTTP/1.1 400")
    assert is_served(server)


def test_a_body_above_the_limit_is_refused_before_it_is_read(server: ServerProcess) -> None:
    head = b"POST /log-in/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    with raw(server, head + b"Content-Length: 10000000000\r\n\r\n") as peer:
        assert everything(peer).startswith(b"HTTP/1.1 413")
    with raw(server, head + b"Transfer-Encoding: chunked\r\n\r\n") as peer:
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        with contextlib.suppress(ConnectionError):
            for _ in range(12):
                peer.sendall(chunk)
        # A peer that is still sending may lose the answer to the reset; that it ends is what counts.
        assert everything(peer)[:12] in (b"HTTP/1.1 413", b"")
    assert is_served(server)


def test_a_request_that_trickles_in_wins_no_time() -> None:
    """The bound is half a minute; its clock is turned here, on the protocol alone."""
    from twisted.internet.task import Clock
    from twisted.internet.testing import StringTransport

    clock = Clock()
    channel = connections._Channel()
    channel.callLater = clock.callLater
    channel.timeOut = connections.REQUEST_WITHIN
    transport = StringTransport()
    channel.makeConnection(transport)
    for byte in b"GET / HTTP/1.1\r\nHost: a":
        clock.advance(1)
        channel.dataReceived(bytes([byte]))
    assert not transport.disconnecting
    clock.advance(connections.REQUEST_WITHIN)
    assert transport.disconnecting


# -- websockets ---------------------------------------------------------------------------------


def test_compression_is_not_offered_so_nothing_can_unfold(server: ServerProcess) -> None:
    with raw(server, upgrade("/ws/ingest/", "Sec-WebSocket-Extensions: permessage-deflate")) as peer:
        head = peer.recv(4096)
        assert head.startswith(b"HTTP/1.1 101")
        assert b"extensions" not in head.lower()
        peer.sendall(bytes([0xC1, 0x80, 0, 0, 0, 0]))  # a compressed frame all the same
        closed = everything(peer)
    assert struct.pack("!H", 1002) in closed


def test_the_first_frame_of_a_stranger_is_small(server: ServerProcess) -> None:
    with connect(server.websocket_url + "/ws/ingest/") as peer:
        with contextlib.suppress(ConnectionClosed):
            peer.send("x" * (connections.FIRST_FRAME_BYTES + 1))
        with pytest.raises(ConnectionClosed) as closed:
            peer.recv(timeout=20)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


@pytest.mark.parametrize("size", [0, 1])
def test_a_message_of_endless_fragments_is_closed(server: ServerProcess, size: int) -> None:
    with raw(server, upgrade()) as peer:
        assert peer.recv(4096).startswith(b"HTTP/1.1 101")
        with contextlib.suppress(ConnectionError):
            peer.sendall(frame(1, b"{", final=False))
            peer.sendall(frame(0, b"x" * size, final=False) * (connections.MOST_FRAGMENTS + 1))
        assert struct.pack("!H", 1009) in everything(peer)
    assert is_served(server)


def test_who_pings_and_never_reads_is_not_read_either(server: ServerProcess) -> None:
    """Each ping is answered; the answers wait with the peer, not here."""
    token = make_token_on(server)
    before = memory_of(server)
    with raw(server, upgrade("/ws/ingest/", f"Authorization: Bearer {token}")) as peer:
        assert peer.recv(4096).startswith(b"HTTP/1.1 101")
        hello = b'{"type":"hello","protocol":1,"stream":"s","instance":"i","sender":"x","last":0}'
        peer.sendall(frame(1, hello))
        assert b"welcome" in peer.recv(4096)
        peer.settimeout(1)
        pings = frame(9, b"x" * 125) * 8000  # a megabyte
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 64:
                peer.sendall(pings)
                sent += 1
        assert sent < 64
        assert is_served(server)
        assert memory_of(server) - before < 32


def test_what_a_busy_room_has_not_asked_for_waits_with_its_sender() -> None:
    """A token held to one event a second; its sender brings what it likes."""
    slow = {"FOOTPRINT_EVENTS_PER_SECOND": "1"}
    with server_process(environment=slow) as server:
        token = make_token_on(server)
        with raw(server, upgrade("/ws/ingest/", f"Authorization: Bearer {token}")) as peer:
            assert peer.recv(4096).startswith(b"HTTP/1.1 101")
            peer.sendall(frame(1, b'{"type":"agentfootprint.stream.token"}' * 1))
            before = memory_of(server)
            peer.settimeout(1)
            bare = frame(1, b'{"type":"agentfootprint.stream.token","x":"' + b"x" * 60_000 + b'"}') * 16
            sent = 0
            with contextlib.suppress(TimeoutError):
                while sent < 64:
                    peer.sendall(bare)
                    sent += 1
            assert sent < 64
            assert is_served(server)
            assert memory_of(server) - before < 32
        assert server.stop() == 0


@pytest.mark.parametrize(
    "headers",
    [
        {
            "Origin": "http://evil.example",
            "Host": "evil.example",
        },  # its name points here, for the browser the same origin
        {"Origin": "http://evil.example", "Host": ""},
    ],
)
@pytest.mark.parametrize("path", ["/ws/ingest/", "/ws/live/"])
def test_a_browser_under_a_name_that_is_not_ours_gets_no_websocket(
    server: ServerProcess, path: str, headers: dict[str, str]
) -> None:
    request = upgrade(path, f"Origin: {headers['Origin']}").replace(
        b"Host: 127.0.0.1", f"Host: {headers['Host']}".encode()
    )
    with raw(server, request) as peer:
        assert re.match(rb"HTTP/1.1 40[03]", peer.recv(4096))


def test_another_origin_gets_no_live_page(server: ServerProcess) -> None:
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(server.websocket_url + "/ws/live/", origin="http://evil.example"),
    ):
        pass
    assert refused.value.response.status_code == 403


def test_live_pages_are_followed_through_a_proxy_that_speaks_https() -> None:
    with server_process(environment={"FOOTPRINT_PROXY": "1"}) as server:
        for proto, answer in ((b"https", b"HTTP/1.1 101"), (b"http", b"HTTP/1.1 403")):
            request = upgrade(
                "/ws/live/", "Origin: https://127.0.0.1", f"X-Forwarded-Proto: {proto.decode()}"
            )
            with raw(server, request) as peer:
                assert peer.recv(4096).startswith(answer)
        assert server.stop() == 0


def test_a_peer_that_leaves_its_handshake_open_is_dropped_and_a_hundred_do_no_harm(
    server: ServerProcess,
) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(
                raw(server, b"GET /ws/ingest/ HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n")
            )
        assert is_served(server)
