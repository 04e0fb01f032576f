"""The server goes away in the middle of a run - stopped, or killed - and comes back on the same port: the pages say so,
come back by themselves and show every row once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from runs.sender import Sender
from tests.browser.agent import LOOK_UP, Turn
from tests.browser.house import House
from tests.browser.visitor import OFFLINE, SOON_MS, Visitor

pytestmark = pytest.mark.browser

EVERY_S = 0.15
AWAY_S = 2.0


class Steady:
    """An agent that goes on calling, whatever becomes of the server."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.told = 0
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def finish(self) -> int:
        self._enough.set()
        self._thread.join()
        return self.told

    def _work(self) -> None:
        while not self._enough.wait(EVERY_S):
            self.told += 1
            self.turn.call(LOOK_UP, error=self.told % 5 == 0)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_the_server_restarts_in_the_middle(
    home: House, visit: Callable[..., Visitor], sender: Sender, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.sender.protocol.LONGEST_PAUSE", 1.0)  # the pages are timed here, not the sender
    question = f"What becomes of me after a {how}?"
    turn = Turn(sender, question)
    turn.pick(LOOK_UP)
    turn.reply(LOOK_UP)
    omar = visit("omar").open_answer(question).is_live()
    rhea = visit("rhea").open_answer(question).is_live()
    on_run = visit("rhea").open_run(question).is_live()
    agent = Steady(turn)
    for visitor in (omar, rhea):
        visitor.soon("#call-3")

    getattr(home, how)()
    for visitor in (omar, rhea, on_run):
        visitor.soon("#live-state[data-state=reconnecting]", "reconnecting; what you see may be old")
    time.sleep(AWAY_S)
    home.start()
    for visitor in (omar, rhea, on_run):
        visitor.soon("#live-state:not([data-state=reconnecting])", "●")
    through = max(omar.rows())
    for visitor in (omar, rhea):
        visitor.page.locator(f"#call-{through + 3}").wait_for()  # the sender is back too
    calls = agent.finish()
    turn.answer("Nothing was lost.")
    for visitor in (omar, rhea):
        visitor.page.locator("#live-state[data-state=finished]").wait_for()
        visitor.page.wait_for_function(
            "last => document.getElementById(`call-${last}`)", arg=calls, timeout=SOON_MS
        )
        shown = visitor.page.locator("#calls-count").inner_text()
        assert visitor.rows() == list(range(1, calls + 1)), shown
        ids = visitor.page.evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)")
        assert len(ids) == len(set(ids))
        visitor.forgive(OFFLINE)
    on_run.soon("#run-head .state-ok")
    on_run.forgive(OFFLINE)
    rhea.has_seen_no_name()
    sender.close(timeout=20)
    assert (sender.status.lost, sender.status.buffered) == (0, 0)
