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


def test_djangos_admin_works_under_the_policy(page):
    with server_process() as server:
        page.goto(server.url + "/admin/")
        assert page.title() == "Log in | Django site admin"
        page.wait_for_load_state(
            "networkidle"
        )  # the icon and the styles: an error of the console fails the test
