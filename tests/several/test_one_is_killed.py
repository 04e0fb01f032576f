"""One of three processes is killed while senders report and pages are open: the two others take over."""

import os
import random
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from runs.models import Answer
from tests.faults.check import assert_same_record
from tests.faults.conftest import Undisturbed
from tests.faults.house import AGENTS, Agent, token, until_acked_again
from tests.faults.pages import LOG_IN
from tests.faults.stories import LONG, long_answer
from tests.faults.watcher import Watcher
from tests.server_process import ServerProcess, run_on
from tests.several import NEEDS_BOTH, until
from tests.several.street import Street, cable_to, street

pytestmark = NEEDS_BOTH

KILLS = max(2, int(os.environ.get("FOOTPRINT_KILLS", "20")) // 10)
PAGES = 9
PACE = 40  # a long answer's events; the other agent tells its busy day


@pytest.fixture
def three(tmp_path: Path) -> Iterator[tuple[Street, ServerProcess]]:
    """Three processes behind one port."""
    with street(tmp_path, 1, arguments=["--processes", "3"], project=False) as built:
        [server] = built.servers
        until(lambda: len(pids_of(server)) == 3, "three processes serve", server)
        yield built, server


def pids_of(server: ServerProcess) -> list[int]:
    return [int(pid) for pid in re.findall(r"\(pid (\d+)\) serves", server.output)]


def test_nothing_acknowledged_is_lost_and_pages_come_back(
    three: tuple[Street, ServerProcess], undisturbed: Undisturbed
) -> None:
    built, server = three
    choose = random.Random(5)
    with cable_to(server) as cable:
        agents = [Agent(AGENTS[0], cable, lines=long_answer, pace=PACE), Agent(AGENTS[1], cable)]
        for agent in agents:
            built.database.make_project(agent.name.encode().hex().ljust(64, "0"), token(agent.name))
            agent.start()
        until_acked_again(agents)
        session = run_on(server, LOG_IN)
        address = address_of_first_answer(built)
        pages = [Watcher(server.url, session, *address) for _ in range(PAGES)]
        for page in pages:
            assert page.shown.wait(30)

        for kill in range(KILLS):
            until_acked_again(agents)
            shown = [len(page.rows) for page in pages]
            os.kill(choose.choice(alive(server)), signal.SIGKILL)
            until_acked_again(agents)
            until(lambda before=shown: grown(pages, before), "every page goes on", server)
            until(lambda many=4 + kill: len(pids_of(server)) == many, "another one serves", server)

        for agent in agents:
            agent.finish()
        assert_all_show_the_same(pages, Watcher(server.url, session, *address), server)
    assert server.stop() == 0
    assert "Traceback" not in server.output
    assert len(re.findall("was ended by SIGKILL; it starts again", server.output)) == KILLS
    assert_same_record(built.database.whole(), undisturbed(agents))


def address_of_first_answer(built: Street) -> tuple[str, str]:
    """The project's key and the long answer's."""
    until(lambda: bool(found_answers(built)), "there is an answer", *built.servers)
    return found_answers(built)[0]


def found_answers(built: Street) -> list[tuple[str, str]]:
    return built.database.rows(Answer, "project__key", "slug", run__name=LONG)


def alive(server: ServerProcess) -> list[int]:
    dead = {int(pid) for pid in re.findall(r"\(pid (\d+)\) was ended", server.output)}
    return [pid for pid in pids_of(server) if pid not in dead]


def grown(pages: list[Watcher], before: list[int]) -> bool:
    return all(len(page.rows) > count for page, count in zip(pages, before, strict=True))


def assert_all_show_the_same(pages: list[Watcher], fresh: Watcher, server: ServerProcess) -> None:
    assert fresh.shown.wait(30)
    for page in pages:
        until(lambda one=page: one.rows == fresh.rows, "a page shows what there is", server)
    for page in (*pages, fresh):
        page.leave()
