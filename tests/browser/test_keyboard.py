"""Every task by keys alone, and whoever uses them always sees where they are."""

from __future__ import annotations

from typing import Any

import pytest

from runs.sender import Sender
from tests.browser.agent import LOOK_UP, REFUND, Turn
from tests.browser.house import House

pytestmark = pytest.mark.browser

# Where the focus is, how it is called, and whether it can be seen: an outline on something that is in the window.
# (The button inside a date field belongs to the browser, which draws its own ring around it.)
HERE = """
() => {
  const here = document.activeElement;
  const style = getComputedStyle(here);
  const box = here.getBoundingClientRect();
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const inside = here.type === "datetime-local" && !here.matches(":focus");
  return {
    name: (here.getAttribute("aria-label") || here.innerText || here.name || "").trim(),
    tag: here.tagName,
    seen: (outlined || inside) && box.width > 1 && box.height > 1 && box.bottom > 0 && box.top < innerHeight,
  };
}
"""


class Keys:
    """Somebody without a mouse."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def write(self, text: str) -> None:
        self.page.keyboard.type(text)

    def tab_to(self, target: Any, most: int = 80) -> Keys:
        """Tab after tab until it is reached; wherever the focus comes on the way, it is seen."""
        for _ in range(most):
            self.press("Tab")
            here = self.page.evaluate(HERE)
            assert here["tag"] == "BODY" or here["seen"], f"the focus is not seen on {here}"
            if target.evaluate("element => element === document.activeElement"):
                return self
        raise AssertionError(f"{target} is not reached by Tab")


def scripts_have_run(page: Any) -> None:
    """Before they have, a link is followed as a link: right too, but another story (test_every_page.py)."""
    page.wait_for_function("window.htmx && document.readyState === 'complete'")


def test_every_task_by_keys_alone(home: House, visit: Any, sender: Sender) -> None:
    question = "How many times did you look?"
    turn = Turn(sender, question)
    for _ in range(4):
        turn.call(LOOK_UP)
    turn.step(REFUND, error=True)
    turn.answer("Four times.")
    Turn(sender, "And did it help?").answer("Yes.")
    assert sender.close(timeout=20)

    ada = visit(None)
    page, keys = ada.page, Keys(ada.page)
    ada.go("runs/")
    page.wait_for_url("**/log-in/**")
    keys.tab_to(page.get_by_label("Name"))
    keys.write("ada")
    keys.tab_to(page.get_by_label("Password"))
    keys.write("ada-walks-here")
    keys.press("Enter")
    page.get_by_role("heading", name="Runs", level=1).wait_for()

    scripts_have_run(page)
    keys.press("f")  # the filters
    assert page.locator("#filters").get_attribute("open") is not None
    keys.tab_to(page.get_by_label("a call that did not work"))
    keys.press("Space", "Enter")
    page.wait_for_url("**failed=1**")
    scripts_have_run(page)
    assert page.locator("#runs tbody tr").count() == 1

    page.locator("#runs").wait_for()
    keys.press("j")
    assert page.evaluate(HERE)["seen"]
    keys.press("Enter")
    page.wait_for_url("**/runs/*/")
    scripts_have_run(page)
    keys.press("j", "Enter")
    page.wait_for_url("**/answers/*/")
    scripts_have_run(page)

    why = page.locator("#rests-on a.why")
    keys.tab_to(why.last)
    keys.press("Enter")
    page.wait_for_url("**/answers/*/#why-*")
    marked = page.locator("#call-rows [data-outcome=error]").first
    assert marked.evaluate(
        "row => row.getBoundingClientRect().top < innerHeight && row.getBoundingClientRect().bottom > 0"
    )
    fold = page.locator("#call-rows .call-fold summary").first
    page.locator("#call-rows .call-fold details").first.evaluate("fold => { fold.open = false; }")
    page.evaluate("document.activeElement.blur()")
    keys.tab_to(fold)
    keys.press("Enter")
    assert page.locator("#call-rows .call-fold details").first.get_attribute("open") is not None
    assert page.locator("#call-4").is_visible()

    keys.tab_to(page.get_by_role("link", name="Tools", exact=True), most=120)
    keys.press("Enter")
    page.wait_for_url("**/tools/")
    scripts_have_run(page)
    keys.tab_to(page.get_by_role("link", name=f"Name it {REFUND}"))
    keys.press("Enter")
    field = page.get_by_label(f"The app’s words for {REFUND}")
    field.wait_for()
    page.wait_for_function("document.activeElement.name === 'words'")
    keys.write("giving money back")
    keys.press("Enter")
    page.get_by_role("link", name=f"Change {REFUND}").wait_for()
    page.wait_for_function("text => document.activeElement.textContent === text", arg=f"Change {REFUND}")

    keys.press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()
    keys.press("Escape")
    keys.tab_to(page.locator(".frame-user summary"), most=120)
    keys.press("Enter")
    keys.tab_to(page.get_by_role("button", name="Log out"))
    keys.press("Enter")
    page.wait_for_url("**/log-in/**")


def test_what_is_focused_or_open_stays_so_while_an_answer_grows(visit: Any, sender: Sender) -> None:
    question = "May I read on while you work?"
    turn = Turn(sender, question)
    turn.step()
    omar = visit("omar").open_answer(question).is_live()
    page, keys = omar.page, Keys(omar.page)
    fold = page.locator("#model-calls .model-call summary").first
    fold.wait_for()
    keys.tab_to(fold)
    keys.press("Enter")
    for _ in range(3):
        turn.step()
    omar.soon("#call-4")
    omar.soon("#model-call-7, #model-call-4")
    assert fold.evaluate("element => element === document.activeElement")
    assert page.locator("#model-calls details").first.get_attribute("open") is not None
    turn.answer("You may.")
    omar.soon("#live-state[data-state=finished]")
    assert page.locator("#model-calls details").first.get_attribute("open") is not None
