"""A backup of a server at work holds what was acknowledged before it began; a restore takes nobody by surprise."""

import itertools
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from runs.sender import Buffer, Sender
from tests import busy_agent
from tests.server_process import ROOT, make_token_on, server_process

PLAIN = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "REDIS_URL")}


def manage(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**PLAIN, "FOOTPRINT_DATA": str(data)},
        capture_output=True,
        text=True,
    )


def seqs(database: Path) -> list[int]:
    with closing(sqlite3.connect(database)) as connection:
        return [seq for (seq,) in connection.execute("SELECT seq FROM runs_keptevent ORDER BY seq")]


def acked(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT max(acked) FROM runs_stream").fetchone()[0]


class Talking:
    """A sender that never stops."""

    def __init__(self, url: str, token: str) -> None:
        self.sender = Sender(url, token=token, buffer=Buffer(name="busy"))
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._talk)

    def _talk(self) -> None:
        for line in itertools.islice(busy_agent.lines(), 100_000):
            if self._enough.wait(0.001):
                return
            self.sender.emit_text(line)

    def __enter__(self) -> "Talking":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join()
        self.sender.close(timeout=30)

    def until_acked(self, seq: int) -> None:
        waits = threading.Event()
        for _ in range(3000):
            if self.sender.status.acked >= seq:
                return
            waits.wait(0.01)
        raise AssertionError(self.sender.status)


def test_a_backup_of_a_server_at_work_and_the_way_back(tmp_path: Path) -> None:
    data, file, elsewhere = tmp_path / "data", tmp_path / "backup.sqlite3", tmp_path / "elsewhere"
    with server_process(data=data) as server:
        token = make_token_on(server)
        with Talking(server.url, token) as agent:
            agent.until_acked(200)
            before = agent.sender.status.acked
            made = manage(data, "backup", str(file))
            assert made.returncode == 0, made.stderr
            agent.until_acked(before + 200)  # nobody waited for it

            in_use = manage(data, "restore", str(file), "--yes")
            assert in_use.returncode == 1
            assert "is in use. Stop the server" in in_use.stderr
            after = agent.sender.status.acked
            agent.until_acked(after + 50)  # and the server noticed nothing
        assert server.stop() == 0
        assert "Traceback" not in server.output

    assert "backup.sqlite3 is whole: 1 project, 1 stream, " in made.stdout
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(tmp_path.glob("backup*")) == [file]
    held = acked(file)
    assert held >= before
    assert seqs(file) == list(range(1, held + 1))

    # On a new machine.
    brought = manage(elsewhere, "restore", str(file))
    assert brought.returncode == 0, brought.stderr
    restored = elsewhere / "footprint.sqlite3"
    assert seqs(restored) == list(range(1, held + 1))
    with server_process(data=elsewhere) as server, Sender(server.url, token=token) as sender:
        sender.run(agent_id="support").turn_start("And now?")  # the token and the project came along
        assert sender.close(timeout=30), sender.status

    # And in the place of the old one.
    whole = seqs(data / "footprint.sqlite3")
    refused = manage(data, "restore", str(file))
    assert refused.returncode == 1
    assert "With --yes it is replaced, and kept as footprint.sqlite3.before-" in refused.stderr
    assert seqs(data / "footprint.sqlite3") == whole
    assert manage(data, "restore", str(file), "--yes").returncode == 0
    assert seqs(data / "footprint.sqlite3") == list(range(1, held + 1))
    [aside] = data.glob("footprint.sqlite3.before-*")
    assert seqs(aside) == whole
    assert stat.S_IMODE(aside.stat().st_mode) == 0o600


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "file"
    missing = manage(data, "backup", str(file))
    assert missing.returncode == 1
    assert "There is no database at" in missing.stderr

    file.write_text("not a database at all, and long enough to be looked at as one " * 20)
    for said in (manage(data, "restore", str(file)), manage(data, "restore", str(tmp_path / "nowhere"))):
        assert said.returncode == 1
        assert "is not a Footprint database, or not a whole one." in said.stderr
    assert not (data / "footprint.sqlite3").exists()

    manage(data, "migrate", "-v", "0")
    there = manage(data, "backup", str(file))
    assert "exists. Choose another name" in there.stderr
    assert "is no folder" in manage(data, "backup", str(tmp_path / "no" / "file")).stderr

    newer = tmp_path / "newer"
    assert manage(data, "backup", str(newer)).returncode == 0
    with closing(sqlite3.connect(newer)) as connection, connection:
        connection.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('runs', '9999_later', '2030-01-01')"
        )
    said = manage(tmp_path / "third", "restore", str(newer))
    assert "of a newer version of Footprint (it has seen runs.9999_later)" in said.stderr

    cut = tmp_path / "cut"
    cut.write_bytes(newer.read_bytes()[: newer.stat().st_size // 2])
    assert manage(tmp_path / "third", "restore", str(cut)).returncode == 1
    assert not (tmp_path / "third" / "footprint.sqlite3").exists()


def test_on_postgresql_both_say_its_own_tools_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from footprint_site.management.commands import backup, restore

    class There:
        vendor = "postgresql"

    monkeypatch.setattr(backup, "connection", There)
    monkeypatch.setattr(restore, "connection", There)
    with pytest.raises(CommandError, match=r'pg_dump --format=custom --file=a\.dump "\$DATABASE_URL"'):
        call_command("backup", "a.dump")
    with pytest.raises(CommandError, match="pg_restore --clean --if-exists --no-owner"):
        call_command("restore", "a.dump")
