"""What comes before the server: its port is taken, a stop is quiet, and it may hold many connections."""

import contextlib
import signal
import socket
import sys

FIRST_PORT = 8000
PORTS_TRIED = 100
WAITING = 1024  # connections that wait to be accepted


class PortTaken(Exception):
    """The sentence to show."""


def listen(host: str, port: int | None) -> socket.socket:
    """A listening socket on this port; without one, on the first free port from 8000.

    It listens before the server starts, so nothing can take the port in between. Port 0 is any free one.
    """
    if port is not None:
        try:
            return _bound(host, port)
        except OSError as error:
            raise PortTaken(
                f"{host}:{port} cannot be used ({error.strerror}). "
                "Choose another --port, or leave it out to get a free one."
            ) from None
    for candidate in range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        try:
            return _bound(host, candidate)
        except OSError:
            continue
    raise PortTaken(
        f"No port from {FIRST_PORT} to {FIRST_PORT + PORTS_TRIED - 1} is free on {host}. Choose one with --port."
    )


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(WAITING)
        bound.setblocking(False)
    except OSError:
        bound.close()
        raise
    return bound


def address(listening: socket.socket) -> str:
    """Where a browser on this machine finds it: http://127.0.0.1:8000"""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def stop_quietly_until_served() -> None:
    """A stop before the server is up (while migrating, say) ends the process with 0."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))


def allow_many_connections() -> None:
    """As many open files as this process may have: a thousand pages and senders are more than a shell's usual limit."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # not on every system

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
