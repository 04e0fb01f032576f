"""A PostgreSQL and a Redis of the stories' own, each on a free port, to be stopped and started at will.

Never the machine's own ones. Where the programs are missing the story is skipped with the command that brings them.
"""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SOON = 30.0


class OwnPostgres:
    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._folder = programs, folder
        self.port = free_port()
        self._run(
            "initdb", "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"
        )

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder}"
        self._control("-w", "-l", str(self._folder / "log"), "-o", options, "start")

    def stop_at_once(self) -> None:
        """As if it had crashed: it does not tidy up, and recovers when it starts."""
        self._control("-m", "immediate", "stop")

    def ask(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "-D", str(self._folder / "data"), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        # PostgreSQL refuses to run as root. Its server keeps what it inherits, so nothing of ours is handed down.
        user = "postgres" if os.getuid() == 0 else None
        with (self._folder / "said").open("w+") as said:
            ran = subprocess.run(
                [self._programs / program, *arguments],
                user=user,
                cwd=self._folder,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                check=False,
            )
            said.seek(0)
            assert ran.returncode == 0, said.read()


@contextlib.contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    found = shutil.which("pg_ctl")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    places = [place for place in places if (place / "initdb").exists()]
    if not places:
        pytest.skip("needs PostgreSQL's programs; this brings them: sudo apt-get install -y postgresql")
    pytest.importorskip("psycopg", reason="needs psycopg, of the extra `scale`")
    folder = Path(
        tempfile.mkdtemp(prefix="footprint-postgres-")
    )  # not below a folder that only root may enter
    if os.getuid() == 0:
        try:
            owner = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres here")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    try:
        postgres = OwnPostgres(places[-1], folder)
        postgres.start()
        try:
            yield postgres
        finally:
            with contextlib.suppress(AssertionError):  # it is stopped already
                postgres.stop_at_once()
    finally:
        shutil.rmtree(folder)


class OwnRedis:
    def __init__(self, program: str, folder: Path) -> None:
        self._program, self._folder = program, folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        self._process = subprocess.Popen(
            [
                self._program,
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--dir",
                str(self._folder),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + SOON
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                assert time.monotonic() < end, "Redis did not start"
                time.sleep(0.02)

    def freeze(self) -> None:
        """It stays connected and answers nobody."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextlib.contextmanager
def own_redis(folder: Path) -> Iterator[OwnRedis]:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("needs redis-server; this brings it: sudo apt-get install -y redis-server")
    pytest.importorskip("channels_redis", reason="needs channels-redis, of the extra `scale`")
    redis = OwnRedis(program, folder)
    redis.start()
    try:
        yield redis
    finally:
        redis.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
