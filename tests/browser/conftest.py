"""A house for every module: a real server with data of its own, and Chromium to visit it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runs.sender import Sender
from tests.browser.house import House, house
from tests.browser.visitor import Visitor


@pytest.fixture(scope="module")
def home(browser: Any) -> Iterator[House]:
    with house(browser) as built:
        yield built


@pytest.fixture
def visit(home: House, record_property: Callable[[str, object], None]) -> Iterator[Callable[..., Visitor]]:
    """`omar = visit("omar")`: a browser of Omar's, closed at the end; what went wrong in it fails the test."""
    waits: list[float] = []
    with contextlib.ExitStack() as browsers:

        def open_browser(name: str | None, **options: Any) -> Visitor:
            visitor = browsers.enter_context(home.visit(name, **options))
            visitor.waits = waits
            return visitor

        yield open_browser
        record_property("slowest_ms", round(max(waits, default=0)))
        if waits:  # shown by `pytest -rP`
            print(f"{len(waits)} waits, the longest {max(waits):.0f} ms")


@pytest.fixture
def sender(home: House) -> Iterator[Sender]:
    with home.sender() as agent:
        yield agent
