"""Every page in both themes, wide and on a phone, and without JavaScript: it fits, it reads, and its forms work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.agent import LOOK_UP, REFUND, Turn
from tests.browser.house import House
from tests.browser.visitor import NOT_FOUND, Visitor

pytestmark = pytest.mark.browser

QUESTION = "Which of my parcels is the one that you have sent back to the warehouse?"
LONG = "internal_" + "w" * 240

PLACES = {
    "rhea": ["runs/", "runs/?failed=1", "run", "answer", "nothing/"],
    "omar": [
        "runs/?violation=1",
        "run",
        "answer",
        "answer/events/",
        "tools/",
        "tool-choice/?top=1",
        "rosters/",
        "rosters/what-if/?tool=internal_delegate",
    ],
    "ada": [
        "tools/",
        f"tools/one/?tool={REFUND}",
        "connect/",
        "ingest/",
        "ingest/notes/",
        "settings/",
        "run/delete/",
    ],
}


@pytest.fixture(scope="module")
def addresses(home: House) -> dict[str, str]:
    """What an agent told: one finished answer with everything, and one that is at work. Where both are."""
    with home.sender() as agent:
        turn = Turn(agent, QUESTION)
        for number in range(4):
            turn.step(error=number == 2)
        turn.pick(LOOK_UP)
        turn.reply(LONG)
        turn.call(LONG)
        turn.pick(REFUND)
        turn.reply("internal_delegate")
        turn.delegate([LOOK_UP, REFUND, LONG])
        turn.answer("The second one. " * 20)
        Turn(agent, "Are you at work?").step()
        assert agent.close(timeout=20)
    with home.visit("rhea") as rhea:
        rhea.open_run(QUESTION)
        run = rhea.page.url.removeprefix(rhea.home)
        rhea.page.locator("#run-answers").get_by_role("link", name=QUESTION).click()
        rhea.page.wait_for_url("**/answers/*/")
        answer = rhea.page.url.removeprefix(rhea.home)
    return {"run": run.rstrip("/"), "answer": answer.rstrip("/")}


def place_of(place: str, addresses: dict[str, str]) -> str:
    name, _, rest = place.partition("/")
    if name in addresses:
        return f"{addresses[name]}/{rest}"
    return place


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_fits_its_window(
    visit: Callable[..., Visitor], addresses: dict[str, str], width: int, theme: str
) -> None:
    for name, places in PLACES.items():
        visitor = visit(name, viewport={"width": width, "height": 844}, color_scheme=theme)
        for place in ("../..", *places):
            visitor.go(place_of(place, addresses))
            visitor.page.get_by_role("heading", level=1).first.wait_for()
            assert visitor.is_still_wide(), f"{place} scrolls sideways at {width} px for {name}"
        visitor.forgive(NOT_FOUND)
    ground = visitor.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 22, 26)"}[theme]


def test_without_javascript_every_page_reads(
    visit: Callable[..., Visitor], addresses: dict[str, str]
) -> None:
    for name, places in PLACES.items():
        visitor = visit(name, java_script_enabled=False)
        for place in places:
            visitor.go(place_of(place, addresses))
            assert visitor.page.locator("main h1").first.is_visible(), place
        visitor.forgive(NOT_FOUND)
    rhea = visit("rhea", java_script_enabled=False).open_answer(QUESTION)
    for words in (
        "The second one.",
        "Looking up the order was tried and did not work.",
        "The assistant was shown the 2 most fitting of its 4 tools.",
    ):
        assert rhea.page.get_by_text(words).first.is_visible()
    assert "internal_" not in rhea.page.content()
    rhea.page.get_by_role("link", name="Why does it say this?").last.press("Enter")
    rhea.page.wait_for_url("**/answers/**#why-*")


def test_without_javascript_every_form_works(
    home: House, visit: Callable[..., Visitor], addresses: dict[str, str]
) -> None:
    page = visit(None, java_script_enabled=False).go("runs/").page
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("ada-walks-here")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/runs/")

    page.locator("#filters summary").click()
    page.get_by_label("Called the tool").select_option(REFUND)
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url(f"**tool={REFUND}**")
    assert page.locator("#runs tbody tr").count() == 0
    page.locator("#filters").get_by_role("link", name="Show all runs").click()
    page.locator("#filters summary").click()
    page.get_by_label("a call that did not work").check()
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**failed=1**")
    assert page.locator("#runs tbody tr").count() == 1

    page.get_by_role("link", name="Tools").click()
    page.get_by_role("link", name=f"Change {LOOK_UP}").click()
    page.get_by_label(f"The app’s words for {LOOK_UP}").fill("finding the parcel")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="finding the parcel").wait_for()
    page.goto(home.address(addresses["answer"] + "/"))
    assert page.get_by_text("Finding the parcel was tried and did not work.").first.is_visible()

    page.get_by_role("link", name="Connect").click()
    page.get_by_label("What the new token is for").fill("by hand")
    page.get_by_role("button", name="Make a token").click()
    token = page.locator("#secret").inner_text()
    assert page.get_by_text("Waiting for your first event").is_visible()
    with home.sender(token) as agent:
        Turn(agent, "Hello?").answer("Yes?")
        assert agent.close(timeout=20)
    page.get_by_role("link", name="Look again").click()
    page.get_by_role("link", name="Open it").click()
    page.get_by_role("heading", name="Hello?", level=1).wait_for()

    page.locator(".frame-user summary").click()
    page.get_by_role("button", name="Dark").click()
    page.wait_for_load_state()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.locator(".frame-user summary").click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/log-in/**")
