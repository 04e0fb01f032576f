"""Omar and Rhea follow an agent at work: everything is there within two seconds, without a reload."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs.sender import Sender
from tests.browser.agent import DELEGATE, LOOK_UP, REFUND, WORDS, Turn
from tests.browser.house import House
from tests.browser.visitor import NOT_FOUND, SOON_MS, Visitor

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]


def test_the_first_event_of_a_new_token_becomes_a_link(home: House, visit: Visit) -> None:
    ada = visit("ada", permissions=["clipboard-read", "clipboard-write"]).go("connect/")
    ada.page.get_by_label("What the new token is for").fill("staging")
    ada.page.get_by_role("button", name="Make a token").click()
    ada.page.get_by_role("button", name="Copy the token").click()
    ada.page.get_by_role("button", name="Copied").wait_for()
    token = ada.page.evaluate("navigator.clipboard.readText()")
    ada.page.locator("#wait", has_text="Waiting for your first event").wait_for()

    with home.sender(token) as agent:
        Turn(agent, "Is anybody there?").answer("Yes.")
        ada.soon("#wait a.wait-link", "Open it")
        ada.page.get_by_role("link", name="Open it").click()
        ada.page.get_by_role("heading", name="Is anybody there?", level=1).wait_for()


def test_a_run_is_followed_to_its_end_without_a_reload(home: House, visit: Visit, sender: Sender) -> None:
    question = "Where is my parcel?"
    turn = Turn(sender, question)
    on_run = visit("omar").go("runs/")
    on_run.soon("#runs .row-link, #new-runs a")
    on_run.open_run(question).is_live()
    omar = visit("omar").open_answer(question).is_live()
    rhea = visit("rhea").open_answer(question).is_live()
    rhea_on_run = visit("rhea").open_run(question).is_live()
    everybody = (on_run, omar, rhea, rhea_on_run)
    for visitor in everybody:
        visitor.page.evaluate("window.neverReloaded = true")

    turn.pick(LOOK_UP)
    omar.soon("#model-calls .model-call", "Narrowed: served 2 of 4 tools.")
    on_run.soon("#run-now .model-call", "Narrowed: served 2 of 4 tools.")
    rhea.soon("#answer-effects", "The assistant was shown the 2 most fitting of its 4 tools.")
    assert [
        bar.get_attribute("width")
        for bar in omar.page.locator("#model-calls .ranks rect.bar-value-chosen").all()
    ]

    turn.reply(LOOK_UP, DELEGATE)
    call = turn.run.tool_start(LOOK_UP)
    for visitor in (omar, rhea):
        visitor.soon("#call-1[data-outcome=open]", WORDS[LOOK_UP])
    on_run.soon("#run-now .call[data-outcome=open]", LOOK_UP)
    turn.run.tool_end(call, error=True)
    for visitor in (omar, rhea):
        visitor.soon("#call-1[data-outcome=error]", "did not work")
        visitor.soon("#rests-on", "was tried and did not work.")
    for visitor in (on_run, rhea_on_run):
        visitor.soon("#run-now .call[data-outcome=error]", "did not work")

    turn.delegate([LOOK_UP, REFUND])
    omar.soon("#spawns .note-error", f"{REFUND}")
    on_run.soon("#run-spawns .state-error", f"{REFUND}")
    rhea.soon("#answer-effects .state-error")
    for visitor in (on_run, rhea_on_run):
        visitor.soon("#run-head", "1 of the tools they were given was not declared.")

    turn.answer("It is with the carrier.")
    for visitor in (omar, rhea):
        visitor.soon("#answer-head[data-ending=answered]")
        visitor.soon("#answer-said", "It is with the carrier.")
        visitor.soon("#live-state[data-state=finished]")
    for visitor in (on_run, rhea_on_run):
        visitor.soon("#run-head .state-ok")
        visitor.soon("#run-now", "The latest calls")  # what was watched does not vanish
    for visitor in everybody:
        assert visitor.page.evaluate("window.neverReloaded")
    assert [visitor.page.title().split()[0] for visitor in everybody] == ["Run", "Answer,", "Answer,", "Run"]
    for visitor in (omar, on_run):  # the watch for names sees them where they belong
        assert visitor.page.evaluate("window.footprintSeen.length")
        assert any(LOOK_UP in frame for frame in visitor.frames)
    for visitor in (rhea, rhea_on_run):
        assert visitor.frames
        visitor.has_seen_no_name()


def test_a_failure_shows_in_the_title_of_a_tab_in_the_background(
    home: House, visit: Visit, sender: Sender
) -> None:
    question = "Can I pay by card?"
    turn = Turn(sender, question)
    rhea = visit("rhea").open_answer(question).is_live()
    assert rhea.page.title().startswith("Answer, ")
    turn.crash()
    rhea.soon("#answer-head[data-ending=failed]")
    assert rhea.page.title().startswith("✕ Answer, ")
    assert rhea.page.locator('link[rel="icon"]').get_attribute("href").endswith("favicon-failed.svg")
    rhea.has_seen_no_name()


def test_a_rename_reaches_every_open_page(home: House, visit: Visit, sender: Sender) -> None:
    question = "What do I get back?"
    turn = Turn(sender, question)
    turn.step(REFUND)
    omar = visit("omar").open_answer(question).is_live()
    rhea = visit("rhea").open_answer(question).is_live()
    on_run = visit("rhea").open_run(question).is_live()
    rhea.page.locator("#call-1", has_text="a call without a name").wait_for()

    ada = visit("ada").go("tools/")
    ada.page.get_by_role("link", name=f"Name it {REFUND}").click()
    ada.page.get_by_label(f"The app’s words for {REFUND}").fill("giving money back")
    ada.page.get_by_role("button", name="Save").click()
    for visitor in (omar, rhea):
        visitor.soon("#call-1", "giving money back")
        visitor.soon("#rests-on", "Giving money back")
        assert visitor.rows() == [1]
    on_run.soon("#run-now .call", "giving money back")
    turn.answer("All of it.")
    for visitor in (omar, rhea):
        visitor.soon("#live-state[data-state=finished]")
    rhea.has_seen_no_name()


def test_new_runs_are_announced_and_move_nothing(home: House, visit: Visit, sender: Sender) -> None:
    Turn(sender, "Do you open on Sundays?").answer("No.")
    rhea = visit("rhea").go("runs/")
    rhea.page.get_by_role("link", name="Do you open on Sundays?").wait_for()
    rhea.is_live()
    where = "[...document.querySelectorAll('#runs tbody tr')].map(row => [row.id, row.getBoundingClientRect().top])"
    before = rhea.page.evaluate(where)
    turn = Turn(sender, "And on Mondays?")
    rhea.soon("#new-runs a", "1 new run. Show it")
    assert rhea.page.evaluate(where) == before
    rhea.page.get_by_role("link", name="1 new run. Show it").click()
    row = rhea.page.locator("#runs tbody tr", has_text="And on Mondays?")
    row.wait_for()
    rhea.is_live()
    turn.answer("Yes, at nine.")
    rhea.soon(f"#{row.get_attribute('id')}", "answered")
    rhea.has_seen_no_name()


def test_what_is_forgotten_and_who_is_removed_takes_effect_on_open_pages(
    home: House, visit: Visit, sender: Sender
) -> None:
    question = "May I tell you a secret?"
    turn = Turn(sender, question)
    turn.step()
    omar = visit("omar").open_answer(question).is_live()
    rhea = visit("rhea").open_answer(question).is_live()

    ada = visit("ada").go("settings/")
    ada.page.locator("#forget-confirm").fill("Northwind")
    ada.page.get_by_role("button", name="Forget all texts").click()
    for visitor in (omar, rhea):
        visitor.page.wait_for_function(
            "text => !document.body.innerText.includes(text)", arg=question, timeout=SOON_MS
        )
        assert visitor.rows() == [1]

    root = visit("root")
    root.page.goto(f"{home.url}/admin/runs/project/")
    root.page.get_by_role("link", name="Northwind").click()
    root.page.locator("tr.has_original", has_text="omar").locator(".delete input").check()
    root.page.get_by_role("button", name="Save", exact=True).click()
    omar.soon("h1", "There is nothing here")
    omar.forgive(NOT_FOUND)
    assert rhea.page.locator("#live-state").get_attribute("data-state") == "live"
