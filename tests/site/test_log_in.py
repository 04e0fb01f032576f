"""The log-in page, in a real browser."""

import pytest

from tests.server_process import server_process

pytestmark = pytest.mark.browser


def test_a_wrong_password_is_said_in_a_sentence(page):
    with server_process() as server:
        page.goto(server.url + "/log-in/")
        page.get_by_label("Name").fill("rhea")
        page.get_by_label("Password").fill("not hers")
        page.get_by_role("button", name="Log in").click()
        assert page.get_by_role("alert").inner_text().startswith("That name and password do not fit together")
        page.console_errors.clear()  # there may be no favicon yet
