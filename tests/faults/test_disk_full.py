"""The disk is full: nothing is acknowledged, the log says why, and it goes on when there is room again."""

import contextlib
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import pytest

from tests.faults.check import assert_nothing_was_lost
from tests.faults.conftest import Undisturbed
from tests.faults.house import (
    AGENTS,
    TIMES,
    House,
    assert_promises_are_kept,
    house,
    until,
    until_acked_again,
)
from tests.server_database import on_postgres

SIZE = 24 * 1024 * 1024 * TIMES
FULL_S = 3.0 * TIMES

pytestmark = pytest.mark.skipif(
    on_postgres(), reason="this story fills the disk of SQLite's files, and the tests are on PostgreSQL"
)


class Disk(Protocol):
    def __init__(self, folder: Path) -> None: ...
    def there(self) -> AbstractContextManager[None]: ...
    def fill(self, home: House) -> None: ...
    def make_room(self, home: House) -> None: ...


class SmallDisk:
    """A file system of its own; a ballast takes all that is left of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def there(self) -> Iterator[None]:
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "footprint-faults", str(self.folder)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as problem:
            said = getattr(problem, "stderr", "") or str(problem)
            pytest.skip(
                f"a small file system cannot be mounted here ({said.strip()}); the quota's story runs"
            )
        try:
            yield
        finally:
            subprocess.run(["umount", str(self.folder)], check=True)

    def fill(self, home: House) -> None:
        with (self.folder / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(b"\0" * 65_536)

    def make_room(self, home: House) -> None:
        (self.folder / "ballast").unlink()


class Quota:
    """The server's files may not grow beyond their present size."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def there(self) -> Iterator[None]:
        yield

    def fill(self, home: House) -> None:
        _, hard = resource.prlimit(home.running.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(home.running.pid, resource.RLIMIT_FSIZE, (4096, hard))

    def make_room(self, home: House) -> None:
        _, hard = resource.prlimit(home.running.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(home.running.pid, resource.RLIMIT_FSIZE, (hard, hard))


@pytest.mark.parametrize(("kind", "code"), [(SmallDisk, "SQLITE_FULL"), (Quota, "SQLITE_IOERR_WRITE")])
def test_a_full_disk_stops_the_acks_and_loses_nothing(
    tmp_path: Path, undisturbed: Undisturbed, kind: type[Disk], code: str
) -> None:
    folder = tmp_path / "house"
    folder.mkdir()
    disk = kind(folder)
    with disk.there(), house(folder) as home:
        agents = [home.agent(name) for name in AGENTS]
        for agent in agents:
            agent.start()
        until_acked_again(agents)

        disk.fill(home)
        until(lambda: "cannot be written" in home.running.output, "the full disk was not noticed")
        before = [agent.sender.status.acked for agent in agents]
        time.sleep(FULL_S)
        for agent, acked in zip(agents, before, strict=True):
            assert agent.sender.status.acked - acked <= 100, "what was under way when it filled up, no more"
        assert_promises_are_kept(home, agents)

        disk.make_room(home)
        until_acked_again(agents)
        for agent in agents:
            agent.finish()
        home.stop()
        assert_nothing_was_lost(
            home, agents, undisturbed(agents), why=rf"cannot be written \(OperationalError, {code}\)"
        )
        assert any("can be written again" in line for line in home.said)
