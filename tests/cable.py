"""A cable between two ends that can be cut, slow, bad or dead: a TCP proxy with an address that stays while servers
change. It keeps what came back through it."""

import contextlib
import queue
import random
import socket
import struct
import threading
import time

HEARD = 16 * 1024 * 1024  # bytes kept of what came back


class Cable:
    """`plug(port)` says where it leads; without that, whoever connects is hung up on.

    `latency` (seconds, one way) and `resets` (the share of pieces at which a connection is reset) hold from the next
    connection on.
    """

    def __init__(self, *, latency: float = 0.0, resets: float = 0.0, seed: int = 1) -> None:
        self.latency = latency
        self.resets = resets
        self.reset_count = 0
        self.heard = bytearray()
        self._choose = random.Random(seed)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._port: int | None = None
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._torn: set[socket.socket] = set()  # the next piece from these arrives half
        self._dead: set[socket.socket] = set()  # nothing passes any more, and nobody is told
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        port: int = self._listening.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def plug(self, port: int | None) -> None:
        self._port = port

    def cut(self, choose: random.Random) -> int:
        """Cut every connection, at once or in the middle of the next piece. How many."""
        pairs = self._now()
        for client, server in pairs:
            if choose.random() < 0.5:
                self._torn.add(client)
            else:
                _hang_up(client, server)
        return len(pairs)

    def go_dead(self) -> int:
        """From now on nothing passes on the connections there are, not even that one side has gone. How many."""
        pairs = self._now()
        for pair in pairs:
            self._dead.update(pair)
        return len(pairs)

    def close(self) -> None:
        self._listening.close()
        for pair in self._now():
            _hang_up(*pair)

    def _now(self) -> list[tuple[socket.socket, socket.socket]]:
        with self._lock:
            return list(self._pairs)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                try:
                    if self._port is None:
                        raise ConnectionRefusedError
                    server = socket.create_connection(("127.0.0.1", self._port))
                except OSError:
                    _hang_up(client)
                    continue
                with contextlib.suppress(OSError):  # it may be gone again already
                    for end in (client, server):
                        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._lock:
                    self._pairs.add((client, server))
                # From here on a reset may close both: what could fail would end the accepting of all others.
                for source, target in ((client, server), (server, client)):
                    arguments = (source, target, (client, server))
                    threading.Thread(target=self._carry, args=arguments, daemon=True).start()

    def _carry(
        self, source: socket.socket, target: socket.socket, pair: tuple[socket.socket, socket.socket]
    ) -> None:
        late: queue.SimpleQueue[tuple[float, bytes]] | None = None
        if self.latency:
            late = queue.SimpleQueue()
            threading.Thread(target=_carry_late, args=(late, target, pair), daemon=True).start()
        with contextlib.suppress(OSError):
            while piece := source.recv(65_536):
                if source in self._dead:
                    continue
                if source is pair[1] and len(self.heard) < HEARD:
                    self.heard += piece
                if source in self._torn:
                    target.sendall(piece[: len(piece) // 2])
                    break
                if self.resets and self._choose.random() < self.resets:
                    self.reset_count += 1
                    break
                if late is not None:
                    late.put((time.monotonic() + self.latency, piece))
                else:
                    target.sendall(piece)
        if source in self._dead:
            return  # the other side hears nothing of it
        with self._lock:
            self._pairs.discard(pair)
            self._torn.discard(source)
        if late is not None:
            late.put((time.monotonic() + self.latency, b""))
        else:
            _hang_up(*pair)


def _carry_late(
    pieces: "queue.SimpleQueue[tuple[float, bytes]]",
    target: socket.socket,
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """Hand on each piece when it is due; an empty one is the end."""
    with contextlib.suppress(OSError):
        while True:
            due, piece = pieces.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not piece:
                break
            target.sendall(piece)
    _hang_up(*pair)


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )  # a reset, not a goodbye
            end.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            end.close()
