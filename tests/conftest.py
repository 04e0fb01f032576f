"""Shared by all tests: what is skipped and why, and a real browser."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests import requirements


def pytest_configure(config: pytest.Config) -> None:
    """People are made for nearly every test; a hash that is slow on purpose would be most of the suite's time.

    What two test processes would share, each gets for itself."""
    from django.conf import settings

    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # One Redis may serve several test processes at once; also the servers they start, which inherit the environment.
    prefix = os.environ["FOOTPRINT_REDIS_PREFIX"] = f"footprint-tests-{os.getpid()}"
    settings.CHANNEL_LAYERS["default"].get("CONFIG", {})["prefix"] = prefix


def pytest_runtest_setup(item: pytest.Item) -> None:
    for need in requirements.ALL:
        if item.get_closest_marker(need.marker) is None or need.path() is not None:
            continue
        if need.is_required:
            pytest.fail(f"{need.required_by}=1, and this test {need.sentence}", pytrace=False)
        pytest.skip(need.sentence)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, one a module; mark the tests `browser` and keep `async def` tests in other modules.

    Playwright keeps an event loop in this thread while it runs, so Django's guard against asking the database from
    a coroutine is put aside until it is gone.
    """
    from playwright.sync_api import sync_playwright

    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    try:
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(
                executable_path=requirements.CHROMIUM.path(), args=["--no-sandbox", "--disable-dev-shm-usage"]
            )
            yield chromium
            chromium.close()
    finally:
        if before is None:
            del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
        else:
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A fresh page with cookies of its own. What it writes to the console as an error fails the test."""
    context = browser.new_context()
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.console_errors = errors  # a test that provokes one clears this list
    yield page
    context.close()
    assert not errors, f"the page reported: {errors}"
