"""The network is slow, bad, gone or dead: nobody says goodbye, and nothing is lost."""

import os
import random
import time
from pathlib import Path

from tests.cable import Cable
from tests.faults.check import assert_nothing_was_lost
from tests.faults.conftest import Undisturbed
from tests.faults.house import AGENTS, TIMES, House, house, until, until_acked_again

LATENCY_S = 2.0
BAD_S = 6.0 * TIMES
GONE_S = 3.0 * TIMES


def test_two_seconds_of_latency(tmp_path: Path, undisturbed: Undisturbed) -> None:
    with house(tmp_path / "house", ["first"], cable=Cable(latency=LATENCY_S)) as home:
        agent = home.agent("first")
        agent.start()
        until_acked_again([agent])
        agent.finish()
        home.stop()
        assert_nothing_was_lost(home, [agent], undisturbed([agent]), why=None)


def test_one_piece_in_twenty_is_a_reset(tmp_path: Path, undisturbed: Undisturbed) -> None:
    began = time.monotonic()
    with house(tmp_path / "house", cable=Cable(resets=0.05)) as home:
        agents = [home.agent(name) for name in AGENTS]
        for agent in agents:
            agent.start()
        time.sleep(BAD_S)
        until(lambda: home.cable.reset_count >= 5, "the cable was not bad at all")
        for agent in agents:
            agent.finish()
        home.stop()
        why = r"A connection of stream \d+ ended with 1006: the sender left without a goodbye"
        # Once a minute for each stream, however long all of it took.
        most = len(agents) * (2 + int(time.monotonic() - began) // 60)
        assert_nothing_was_lost(home, agents, undisturbed(agents), why=why, lines=(1, most))


def test_gone_for_a_while(tmp_path: Path, undisturbed: Undisturbed) -> None:
    choose = random.Random(5)
    with house(tmp_path / "house") as home:
        agents = [home.agent(name) for name in AGENTS]
        for agent in agents:
            agent.start()
        until_acked_again(agents)
        port = int(home.running.url.rpartition(":")[2])
        home.cable.plug(None)
        assert home.cable.cut(choose) == len(agents)
        time.sleep(GONE_S)
        home.cable.plug(port)
        until_acked_again(agents)
        for agent in agents:
            agent.finish()
        home.stop()
        assert_nothing_was_lost(home, agents, undisturbed(agents), why="ended with 1006", lines=(2, 2))


def test_half_open_connections(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """Nothing passes any more and neither side is told. The sender gives up first, and takes its stream over."""
    with house(tmp_path / "house") as home:
        agents = [home.agent(name, patience=1.5) for name in AGENTS]
        for agent in agents:
            agent.start()
        until_acked_again(agents)
        sockets = open_files(home)
        assert home.cable.go_dead() == len(agents)
        until_acked_again(agents)
        for agent in agents:
            agent.finish()
        until(lambda: open_files(home) <= sockets - len(agents), "the server holds on to dead connections")
        home.stop()
        why = r"ended with 4409: a newer connection of the same sender took this stream over"
        assert_nothing_was_lost(home, agents, undisturbed(agents), why=why, lines=(2, 2))


def open_files(home: House) -> int:
    return len(os.listdir(f"/proc/{home.running.pid}/fd"))
