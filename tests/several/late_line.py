"""A line on which the first connection's words arrive late: its handshake passes, what the client says then is held
back until `release()`, also when the client has long hung up. Every later connection goes to another server."""

import contextlib
import socket
import threading


class LateLine:
    def __init__(self, first: int, later: int) -> None:
        """The ports of the servers."""
        self._ports = [first]
        self._later = later
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._may_arrive = threading.Event()
        self.holds = threading.Event()  # the client has said something that is held back
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def release(self) -> None:
        self._may_arrive.set()

    def close(self) -> None:
        self._may_arrive.set()
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                is_first = bool(self._ports)
                server = socket.create_connection(
                    ("127.0.0.1", self._ports.pop() if is_first else self._later)
                )
                upstream = (self._carry_late if is_first else self._carry, client, server)
                for carry, source, target in (upstream, (self._carry, server, client)):
                    threading.Thread(target=carry, args=(source, target), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65_536):
                target.sendall(piece)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def _carry_late(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            target.sendall(source.recv(65_536))  # the request that opens a websocket
            held = b""
            while piece := source.recv(65_536):
                held += piece
                self.holds.set()
            self._may_arrive.wait()
            target.sendall(held)
            self._may_arrive.clear()
            self._may_arrive.wait()  # nobody has told the server that the client is gone
