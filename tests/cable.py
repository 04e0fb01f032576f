"""A cable between senders and a server that can be cut: a TCP proxy with an address that stays while servers change."""

import contextlib
import random
import socket
import struct
import threading


class Cable:
    """`plug(port)` says where it leads; without that, whoever connects is hung up on."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._port: int | None = None
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._torn: set[socket.socket] = set()  # the next piece from these arrives half
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def plug(self, port: int | None) -> None:
        self._port = port

    def cut(self, choose: random.Random) -> int:
        """Cut every connection, at once or in the middle of the next piece. How many."""
        with self._lock:
            pairs = list(self._pairs)
        for client, server in pairs:
            if choose.random() < 0.5:
                self._torn.add(client)
            else:
                _hang_up(client, server)
        return len(pairs)

    def close(self) -> None:
        self._listening.close()
        for pair in list(self._pairs):
            _hang_up(*pair)

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
                with self._lock:
                    self._pairs.add((client, server))
                for source, target in ((client, server), (server, client)):
                    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    arguments = (source, target, (client, server))
                    threading.Thread(target=self._carry, args=arguments, daemon=True).start()

    def _carry(
        self, source: socket.socket, target: socket.socket, pair: tuple[socket.socket, socket.socket]
    ) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65_536):
                if source in self._torn:
                    target.sendall(piece[: len(piece) // 2])
                    break
                target.sendall(piece)
        with self._lock:
            self._pairs.discard(pair)
            self._torn.discard(source)
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
