"""What joins server processes is gone, hangs, or is full: events are taken in and open pages find every change."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.check import assert_nothing_was_lost
from tests.faults.conftest import Undisturbed
from tests.faults.house import TIMES, Agent, House, house, until, until_acked_again
from tests.faults.instances import OwnRedis, own_redis
from tests.faults.pages import assert_shows_what_there_is, log_in, open_answer
from tests.faults.stories import long_answer
from tests.faults.watcher import Watcher

GONE_S = 3.0 * TIMES
TOLD = r"Other processes cannot be told of changes \((ConnectionError|TimeoutError|ChannelFull)\)"


@pytest.mark.parametrize("how", [OwnRedis.kill, OwnRedis.freeze])
def test_redis_is_gone_for_a_while(
    tmp_path: Path, undisturbed: Undisturbed, how: Callable[[OwnRedis], None]
) -> None:
    with (
        own_redis(tmp_path) as redis,
        house(tmp_path / "house", ["first"], environment={"REDIS_URL": redis.url}) as home,
    ):
        agent = home.agent("first", lines=long_answer, pace=80)
        agent.start()
        until_acked_again([agent])
        session = log_in(home)
        watcher = open_answer(home, session)

        how(redis)
        until_acked_again([agent])
        shown = len(watcher.rows)
        until(lambda: len(watcher.rows) > shown, "an open page heard nothing while Redis was gone")
        late = open_answer(home, session)  # a page that is opened meanwhile
        until(lambda: "cannot be told" in home.running.output, "nobody said that Redis is gone")
        time.sleep(GONE_S)
        redis.start() if how is OwnRedis.kill else redis.thaw()
        until(lambda: "are told of changes again" in home.running.output, "it was never told again")

        end_of(home, agent, [watcher, late], session, undisturbed)


def test_the_layer_is_full(tmp_path: Path, undisturbed: Undisturbed) -> None:
    environment = {"DJANGO_SETTINGS_MODULE": "tests.faults.settings_full_layer"}
    with house(tmp_path / "house", ["first"], environment=environment) as home:
        agent = home.agent("first", lines=long_answer, pace=80)
        agent.start()
        until_acked_again([agent])
        session = log_in(home)
        watcher = open_answer(home, session)
        until(lambda: "cannot be told" in home.running.output, "nobody said that the layer is full")
        end_of(home, agent, [watcher], session, undisturbed)


def end_of(
    home: House, agent: Agent, watchers: list[Watcher], session: str, undisturbed: Undisturbed
) -> None:
    agent.finish()
    assert_shows_what_there_is(home, watchers, session)
    home.stop()
    assert_nothing_was_lost(home, [agent], undisturbed([agent]), why=TOLD)
