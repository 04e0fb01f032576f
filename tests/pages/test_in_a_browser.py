"""The frame and the list of runs in Chromium: keys, menus, narrow screens, and new runs that move nothing."""

from __future__ import annotations

from typing import Any

import pytest

from runs.models import Project
from tests.people import People
from tests.sample import Drawn, Pen, pen_for

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG = "w" * 256


def enter(page: Any, live_server: Any, people: People, name: str, address: str = "runs/") -> None:
    """Opens an address as somebody. The test's server has no websockets: the page gets one that stays quiet."""
    page.route_web_socket("**/ws/live/**", lambda socket: None)
    session = people.browser(name).cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page.goto(f"{live_server.url}/p/{people.northwind.key}/{address}")


def another_pen(people: People) -> Pen:
    """Goes on writing where the sample ended."""
    pen = pen_for(people.elsewhere)
    pen.project, pen.number, pen.position = people.northwind, 100_000, 100_000
    return pen


def test_everything_is_reached_by_keys(page: Any, live_server: Any, people: People, sample: Drawn) -> None:
    enter(page, live_server, people, "omar")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the page"
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog", name="Keys").is_hidden()
    page.keyboard.press("f")
    assert page.evaluate("document.activeElement.name") == "ending"
    page.keyboard.press("j")  # somebody who chooses in a form is left alone
    assert page.evaluate("document.activeElement.name") == "ending"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/*choices/")


def test_a_menu_closes_by_key_and_by_a_click_elsewhere(page: Any, live_server: Any, people: People) -> None:
    enter(page, live_server, people, "ada")
    menu = page.get_by_role("button", name="Log out")
    page.locator(".frame-user summary").click()
    assert menu.is_visible()
    page.keyboard.press("Escape")
    assert menu.is_hidden()
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    page.locator(".frame-user summary").click()
    page.locator("h1").click()
    assert menu.is_hidden()


def test_the_theme_is_chosen_and_stays(page: Any, live_server: Any, people: People) -> None:
    enter(page, live_server, people, "rhea", "runs/?failed=1")
    page.locator(".frame-user summary").click()
    page.get_by_role("button", name="Dark").click()
    page.wait_for_url("**/runs/?failed=1")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(20, 22, 26)"


def test_new_runs_are_announced_and_move_nothing(
    page: Any, live_server: Any, people: People, sample: Drawn
) -> None:
    enter(page, live_server, people, "rhea")
    where = "document.querySelector('#runs tbody tr').getBoundingClientRect().top"
    before = page.evaluate(where)
    pen = another_pen(people)
    for _ in range(3):
        pen.answer(pen.run("fresh"), "New?", "Yes.")
    page.evaluate("htmx.trigger(document.body, 'runs-changed')")
    line = page.get_by_role("link", name="3 new runs. Show them")
    line.wait_for()
    assert page.evaluate(where) == before
    line.click()
    page.wait_for_function("document.querySelectorAll('#runs tbody tr').length === 13")


@pytest.mark.parametrize("name", ["rhea", "omar"])
def test_names_without_end_do_not_widen_a_narrow_page(
    page: Any, live_server: Any, people: People, name: str
) -> None:
    pen = pen_for(people.northwind)
    pen.sees(LONG)
    run = pen.run("long", agent=LONG, provider=LONG, model=LONG, composition=LONG)
    pen.call(pen.answer(run, LONG * 4, LONG), LONG)
    Project.objects.filter(id=people.northwind.id).update(name="n" * 120)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        for address in (f"runs/?tool={LONG}", f"runs/{run.slug}/"):
            enter(page, live_server, people, name, address)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_without_javascript_the_list_reads_and_filters(
    browser: Any, live_server: Any, people: People, sample: Drawn
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    enter(page, live_server, people, "rhea")
    page.locator("#filters summary").click()
    page.get_by_label("a call that did not work").check()
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**failed=1**")
    assert page.locator("#runs tbody tr").count() == 2
    context.close()
