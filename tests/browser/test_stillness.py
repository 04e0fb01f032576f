"""Thirty seconds of live events in several tabs at once: nothing moves by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

import pytest

from runs.sender import Sender
from tests.browser.agent import DELEGATE, LOOK_UP, MAIL, REFUND, Turn
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.browser

SECONDS = 30
MOST = 0.05


def test_live_events_move_nothing(visit: Callable[..., Visitor], sender: Sender) -> None:
    question = "Why does it take so long, and what is going on with my order?"
    turn = Turn(sender, question)
    tabs = {
        "an operator's answer": visit("omar").open_answer(question).is_live(),
        "a reader's answer": visit("rhea").open_answer(question).is_live(),
        "an operator's run": visit("omar").open_run(question).is_live(),
        "a reader's run": visit("rhea").open_run(question).is_live(),
        "a phone": visit("omar", viewport={"width": 390, "height": 844}).open_answer(question).is_live(),
        "the list": visit("rhea").go("runs/").is_live(),
    }
    until = time.monotonic() + SECONDS
    for number in count(1):
        tool = (LOOK_UP, REFUND, MAIL)[number % 3]
        turn.pick(tool)
        time.sleep(0.15)
        helps = number % 6 == 3
        turn.reply(*((tool, DELEGATE) if helps else (tool,)))
        if helps:
            turn.delegate([LOOK_UP, REFUND] if number % 12 == 3 else [LOOK_UP])
        call = turn.run.tool_start(tool)
        time.sleep(0.15)
        turn.run.tool_end(call, error=number % 5 == 0, not_executed=number % 7 == 0)
        if number % 9 == 0:
            Turn(sender, f"And another one, number {number}?").answer("Yes.")
        if time.monotonic() > until:
            break
    turn.answer("It is on its way. " * 12)
    for name in ("an operator's answer", "a reader's answer", "a phone"):
        tabs[name].page.locator("#live-state[data-state=finished]").wait_for()
    moved = {name: tab.shift() for name, tab in tabs.items()}
    print({name: round(shift, 4) for name, shift in moved.items()})  # shown by `pytest -rP`
    for name, tab in tabs.items():
        assert moved[name] < MOST, f"{name}: {tab.shifted()}"
