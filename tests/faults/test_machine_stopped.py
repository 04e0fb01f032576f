"""The machine stops at some moment: what lies on its disk then opens clean and holds all that was acknowledged."""

import random
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from tests.faults.check import assert_nothing_was_lost
from tests.faults.conftest import Undisturbed
from tests.faults.house import AGENTS, TIMES, house, until_acked_again
from tests.server_database import on_postgres

MOMENTS = 20 * TIMES
FILES = ("footprint.sqlite3", "footprint.sqlite3-wal")


@pytest.mark.skipif(
    on_postgres(), reason="this story is about SQLite's files, and the tests are on PostgreSQL"
)
def test_the_files_of_any_moment_open_clean_and_hold_every_acknowledged_event(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    choose = random.Random(4)
    writing = 0
    with house(tmp_path / "house") as home:
        agents = [home.agent(name) for name in AGENTS]
        for agent in agents:
            agent.start()
        until_acked_again(agents)
        for moment in range(MOMENTS):
            time.sleep(choose.uniform(0, 0.2))
            home.freeze()
            heard = {agent.name: agent.sender.status.acked for agent in agents}
            writing += home.database.is_being_written()
            copy = tmp_path / f"copy-{moment}"
            copy.mkdir()
            for name in FILES:
                shutil.copy(home.database.data / name, copy)
            home.thaw()
            assert_holds(copy, heard, home.projects)
            until_acked_again(agents)
        for agent in agents:
            agent.finish()
        home.stop()
        # Frozen and thawed, it never knew: there is nothing to say.
        assert_nothing_was_lost(home, agents, undisturbed(agents), why=None)
    assert writing > 0, "some of the moments were inside a transaction"


def assert_holds(copy: Path, heard: dict[str, int], projects: dict[str, int]) -> None:
    database = sqlite3.connect(copy / FILES[0])
    try:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        for name, acked in heard.items():
            [(there,)] = database.execute(
                "SELECT acked FROM runs_stream WHERE project_id = ?", [projects[name]]
            ).fetchall()
            assert there >= acked
            seqs = database.execute(
                "SELECT seq FROM runs_keptevent WHERE project_id = ? ORDER BY seq", [projects[name]]
            ).fetchall()
            assert [seq for (seq,) in seqs] == list(range(1, there + 1))
    finally:
        database.close()
