"""A real server in a process of its own, as people start it: `with server_process() as server: server.url`."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STARTED_WITHIN = 30.0
STOPPED_WITHIN = 30.0


class ServerProcess:
    def __init__(self, arguments: list[str], data: Path, environment: Mapping[str, str]) -> None:
        self.data = data
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env={**_own_environment(), "FOOTPRINT_DATA": str(data), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.output = ""
        self._has_address = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def url(self) -> str:
        """http://127.0.0.1:port, as soon as it is served."""
        if not self._has_address.wait(STARTED_WITHIN):
            raise AssertionError(f"the server did not start:\n{self.output}")
        found = re.search(r"http://[0-9.]+:\d+", self.output)
        if found is None:
            raise AssertionError(f"the server ended instead of starting:\n{self.output}")
        return found.group()

    @property
    def websocket_url(self) -> str:
        return "ws" + self.url.removeprefix("http")

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        """The exit code, once it has ended by itself."""
        code = self._process.wait(STOPPED_WITHIN)
        self._reader.join(STOPPED_WITHIN)
        return code

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop; the exit code."""
        if self._process.poll() is None:
            self.send_signal(number)
        return self.wait()

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout:
            for line in self._process.stdout:
                self.output += line
                if "http://" in line:
                    self._has_address.set()
        self._has_address.set()


def _own_environment() -> dict[str, str]:
    """This one's, but for what would point the server at another database or layer than its own."""
    return {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "REDIS_URL")}


@contextmanager
def server_process(
    command: str = "serve",
    *arguments: str,
    data: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[ServerProcess]:
    """Started on a free port and, unless `data` says where, on data of its own; stopped at the end whatever happens."""
    with tempfile.TemporaryDirectory(prefix="footprint-") as folder:
        server = ServerProcess(
            [command, *(arguments or ("--port", "0"))], data or Path(folder), environment or {}
        )
        try:
            yield server
        finally:
            server.kill()


def make_token_on(server: ServerProcess) -> str:
    """A project on the server's own database, and a token for it."""
    assert server.url  # it has made its database by then
    made = subprocess.run(
        [sys.executable, "manage.py", "shell", "-c", _MAKE_TOKEN],
        cwd=ROOT,
        env={**_own_environment(), "FOOTPRINT_DATA": str(server.data)},
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.split("token ")[1].split()[0]


_MAKE_TOKEN = """
from runs.models import Project
from runs.store.tokens import create_token
print("token", create_token(Project.objects.create(name="Northwind").pk, "", None)[1])
"""
