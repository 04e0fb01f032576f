"""The pages of operators and admins in a real browser. An error of the console, as of the policy, fails a test."""

from __future__ import annotations

import re

import pytest

from runs.store.tokens import find_token
from runs.store.words import read_words
from tests.sample import SECRET, make

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SOON_MS = 2_000  # what somebody waits for comes within this


@pytest.fixture
def desk(people, live_server):
    """Logs Ada in; gives the address of her project."""

    def log_in(page):
        cookie = people.browser("ada").cookies["sessionid"]
        page.context.add_cookies([{"name": "sessionid", "value": cookie.value, "url": live_server.url}])
        page.set_default_timeout(10_000)
        return f"{live_server.url}/p/{people.northwind.key}/"

    return log_in


def test_a_tool_is_named_in_place_by_keyboard(page, people, sample, desk):
    page.goto(desk(page) + "tools/")
    page.get_by_role("link", name=f"Name it {SECRET}").focus()
    page.keyboard.press("Enter")
    field = page.get_by_label(f"The app’s words for {SECRET}")
    field.wait_for()
    page.wait_for_function("document.activeElement === document.querySelector('[name=words]')")
    page.keyboard.type("refund_zz")
    page.get_by_text("is the registered name of a tool").wait_for(timeout=SOON_MS)
    field.fill("Cleaning up")
    page.locator(".tool-preview").get_by_text("Cleaning up was tried and did not work.").wait_for(
        timeout=SOON_MS
    )
    assert read_words(people.northwind.pk, 1).display_name_of(SECRET) is None
    page.keyboard.press("Enter")
    page.get_by_role("link", name=f"Change {SECRET}").wait_for(timeout=SOON_MS)
    assert read_words(people.northwind.pk, 1).display_name_of(SECRET) == "Cleaning up"
    page.wait_for_function("text => document.activeElement.textContent === text", arg=f"Change {SECRET}")
    assert "1 of 4 tools has no words" in page.locator("#tools-tally").inner_text()
    assert page.locator("#tools-tally").count() == 1


def test_two_tools_that_read_the_same_warn_each_other_at_once(page, people, sample, desk):
    page.goto(desk(page) + "tools/")
    page.get_by_role("link", name=f"Name it {SECRET}").click()
    page.get_by_label(f"The app’s words for {SECRET}").fill("Looking up the order")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name=f"Change {SECRET}").wait_for(timeout=SOON_MS)
    assert page.get_by_text("a sentence cannot tell them apart").count() == 2
    assert page.locator("#tools tbody tr").count() == 4


def test_the_first_event_becomes_a_link_by_itself(page, people, desk):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(desk(page) + "connect/")
    page.get_by_label("What the new token is for").fill("staging")
    page.get_by_role("button", name="Make a token").click()
    page.get_by_role("button", name="Copy the token").click()
    page.get_by_text("Copied.").wait_for(state="attached")
    secret = page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(r"fp_[\w-]{43}", secret)
    assert find_token(secret).label == "staging"
    drawn = make(people.northwind)
    link = page.get_by_role("link", name="Open it")
    link.wait_for(timeout=SOON_MS)
    assert link.get_attribute("href").endswith(f"/runs/{drawn['named'].run.slug}/")


def test_without_javascript_a_tool_is_tried_and_named(browser, people, sample, desk):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(desk(page) + "tools/")
    page.get_by_role("link", name=f"Name it {SECRET}").click()
    page.get_by_label(f"The app’s words for {SECRET}").fill("Cleaning up")
    page.get_by_role("button", name="Try it first").click()
    assert page.locator(".tool-preview").get_by_text("Cleaning up was tried and did not work.").is_visible()
    page.get_by_role("button", name="Save").click()
    assert page.get_by_role("heading", name="Cleaning up").is_visible()
    context.close()


@pytest.mark.parametrize(
    "place", ["tools/", f"tools/one/?tool={SECRET}", "rosters/", "connect/", "settings/"]
)
@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_scrolls_sideways(page, people, sample, desk, place, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(desk(page) + place)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
