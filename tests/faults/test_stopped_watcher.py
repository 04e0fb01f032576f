"""Somebody's open page stands still for long (a closed lid, a frozen tab): it costs the server nothing that grows, and
catches up when it goes on."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.faults.check import assert_nothing_was_lost
from tests.faults.conftest import Undisturbed
from tests.faults.house import TIMES, House, house, until, until_acked_again
from tests.faults.pages import address_of_answer, assert_shows_what_there_is, log_in, open_answer
from tests.faults.stories import long_answer
from tests.server_process import ROOT

STOPPED_S = 6.0 * TIMES
MOST_GROWTH = 64 * 1024 * 1024  # bytes; what one page is owed meanwhile is a fraction of it
PACE = 60 if TIMES == 1 else 12  # an answer of at most a thousand calls


def test_a_stopped_watcher_catches_up(tmp_path: Path, undisturbed: Undisturbed) -> None:
    with house(tmp_path / "house", ["first"]) as home:
        agent = home.agent("first", lines=long_answer, pace=PACE)
        agent.start()
        until_acked_again([agent])
        session = log_in(home)
        awake = open_answer(home, session)
        key, slug = address_of_answer(home)
        sleeper = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.watcher", home.running.url, session, key, slug],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert sleeper.stdout is not None
            assert sleeper.stdout.readline() == "watching\n"
            before = memory(home)
            sleeper.send_signal(signal.SIGSTOP)
            shown = len(awake.rows)
            time.sleep(STOPPED_S)
            until(lambda: len(awake.rows) > shown, "one stopped page stopped another")
            until_acked_again([agent])
            assert memory(home) - before < MOST_GROWTH
            sleeper.send_signal(signal.SIGCONT)
            agent.finish()
            assert_shows_what_there_is(home, [awake], session)
            said, _ = sleeper.communicate(f"{len(awake.rows)}\n", timeout=90)
            assert {int(number): row for number, row in json.loads(said).items()} == awake.rows
        finally:
            sleeper.kill()
            sleeper.wait()
        home.stop()
        # Whoever stands still for less than a minute is waited for; there is nothing to say.
        assert_nothing_was_lost(home, [agent], undisturbed([agent]), why=None)


def memory(home: House) -> int:
    """Bytes the server holds in memory."""
    pages = int(Path(f"/proc/{home.running.pid}/statm").read_text().split()[1])
    return pages * 4096
