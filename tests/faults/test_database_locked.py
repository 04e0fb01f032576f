"""Another process holds the database's lock for longer than anybody waits for it."""

import sqlite3
import time
from pathlib import Path
from typing import Any

from tests.faults.check import assert_nothing_was_lost
from tests.faults.conftest import Undisturbed
from tests.faults.house import House, house, until_acked_again
from tests.server_database import on_postgres

LOCKED_S = 10.5  # the database's own patience is 10


def test_a_locked_database_stops_the_acks_and_loses_nothing(tmp_path: Path, undisturbed: Undisturbed) -> None:
    with house(tmp_path / "house", ["first"]) as home:
        agent = home.agent("first", pace=40)
        agent.start()
        until_acked_again([agent])
        with locked(home):
            time.sleep(0.2)
            before = agent.sender.status.acked
            time.sleep(LOCKED_S)
            assert agent.sender.status.acked == before
        until_acked_again([agent])
        agent.finish()
        home.stop()
        code = "55P03" if on_postgres() else "SQLITE_BUSY"
        assert_nothing_was_lost(
            home, [agent], undisturbed([agent]), why=rf"cannot be written \(OperationalError, {code}\)"
        )


class locked:  # noqa: N801 - reads as what it is
    def __init__(self, home: House) -> None:
        self._home = home

    def __enter__(self) -> None:
        if on_postgres():
            import psycopg

            self._held: Any = psycopg.connect(self._home.database.environment["DATABASE_URL"])
            self._held.execute("LOCK TABLE runs_project IN EXCLUSIVE MODE")
        else:
            path = self._home.database.data / "footprint.sqlite3"
            self._held = sqlite3.connect(path, timeout=30, isolation_level=None)
            self._held.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self._held.rollback()
        self._held.close()
