"""PostgreSQL crashes and is gone for a while, holds a lock for too long, or takes longer than it allows itself."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.check import assert_nothing_was_lost
from tests.faults.conftest import Undisturbed
from tests.faults.house import AGENTS, TIMES, House, assert_promises_are_kept, house, until, until_acked_again
from tests.faults.instances import OwnPostgres, own_postgres
from tests.faults.pages import address_of_answer, assert_shows_what_there_is, get, log_in, open_answer
from tests.faults.stories import long_answer

GONE_S = 4.0 * TIMES


@pytest.fixture(scope="module")
def postgres() -> Iterator[OwnPostgres]:
    with own_postgres() as running:
        yield running


def test_postgres_crashes_and_comes_back(
    tmp_path: Path, undisturbed: Undisturbed, postgres: OwnPostgres
) -> None:
    with house(tmp_path / "house", database_url=postgres.url) as home:
        agents = [home.agent(name) for name in AGENTS]
        for agent in agents:
            agent.start()
        until_acked_again(agents)

        postgres.stop_at_once()
        time.sleep(GONE_S)
        assert all(agent.sender.status.buffered for agent in agents)
        postgres.start()
        until_acked_again(agents)
        assert_promises_are_kept(home, agents)

        for agent in agents:
            agent.finish()
        home.stop()
        assert_nothing_was_lost(home, agents, undisturbed(agents), why="The database cannot be written")
        assert any("can be written again" in line for line in home.said)


def test_open_pages_outlive_postgres(tmp_path: Path, undisturbed: Undisturbed, postgres: OwnPostgres) -> None:
    with house(tmp_path / "house", ["first"], database_url=postgres.url) as home:
        agent = home.agent("first", lines=long_answer, pace=80)
        agent.start()
        until_acked_again([agent])
        session = log_in(home)
        watcher = open_answer(home, session)
        key, _ = address_of_answer(home)
        assert get(home, session, "runs/", key)[0] == 200

        postgres.stop_at_once()
        until(lambda: 1011 in watcher.closed_with, "an open page was left without a word")
        status, body = get(home, session, "runs/", key)
        assert status == 503
        assert "The database cannot be reached" in body
        postgres.start()

        until_acked_again([agent])
        agent.finish()
        assert_shows_what_there_is(home, [watcher], session)
        assert get(home, session, "runs/", key)[0] == 200
        home.stop()
        assert_nothing_was_lost(home, [agent], undisturbed([agent]), why="The database cannot be written")


def test_a_statement_that_takes_too_long_is_nobodys_fault(
    tmp_path: Path, undisturbed: Undisturbed, postgres: OwnPostgres
) -> None:
    """Somebody holds the project for longer than a statement may take. Nothing is refused for it."""
    with house(tmp_path / "house", ["first"], database_url=postgres.url) as home:
        database = home.database.environment["DATABASE_URL"].rpartition("/")[2]
        home.stop()
        postgres.ask(f'ALTER DATABASE "{database}" SET statement_timeout = 250')
        home.start()
        agent = home.agent("first")
        agent.start()
        until_acked_again([agent])

        let_go = threading.Event()
        holder = threading.Thread(target=hold_the_project, args=(home, let_go))
        holder.start()
        until(lambda: "57014" in home.running.output, "no statement was cancelled")
        until(lambda: "its connection ends" in home.running.output, "one event alone was never given up")
        let_go.set()
        holder.join()

        until_acked_again([agent])
        agent.finish()
        home.stop()
        assert_nothing_was_lost(
            home, [agent], undisturbed([agent]), why=r"its connection ends|ended with 1011", lines=(1, 100)
        )


def hold_the_project(home: House, let_go: threading.Event) -> None:
    import psycopg

    with psycopg.connect(home.database.environment["DATABASE_URL"]) as connection:
        connection.execute("SET statement_timeout = 0")
        connection.execute("SELECT * FROM runs_project FOR UPDATE")
        let_go.wait(60)
        connection.rollback()
