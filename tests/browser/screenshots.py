"""The pictures of the documentation: `make screenshots` writes docs/images/ anew.

A server of its own takes in a hundred answers of the demo's agents, always the same ones, in a time that only they
have; then their pages are photographed as the person who would look at them sees them.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import django

from tests import requirements

if TYPE_CHECKING:
    from runs.sender.demo_desk import Desk
    from tests.browser.house import House

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
LARGEST = 200_000  # bytes of one picture
ANSWERS = 100
SEED = 7

WINDOWS: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1280, "height": 860}},
    "phone": {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 1.5},
}
# The page, who looks at it, and how many windows' heights of it are shown.
SHOTS = (
    ("runs", "rhea", 1.0),
    ("answer", "rhea", 1.3),
    ("answer-operator", "omar", 1.15),
    ("tools", "ada", 1.0),
    ("tool-choice", "omar", 1.3),
    ("rosters", "omar", 1.0),
    ("connect", "ada", 1.0),
)
DARK = ("answer",)
BEGINS = {"answer-operator": "#h-choice"}  # above it the page is what a reader sees
TOP = "place => Math.max(0, Math.floor(document.querySelector(place).getBoundingClientRect().top + scrollY - 24))"


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "footprint_site.settings")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright's loop runs in this thread
    django.setup()
    from playwright.sync_api import sync_playwright

    from tests.browser.house import house

    chromium = requirements.CHROMIUM.path()
    if chromium is None:
        print(f"This {requirements.CHROMIUM.sentence}", file=sys.stderr)
        return 1
    IMAGES.mkdir(exist_ok=True)
    events = told()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with house(browser) as home:
            with home.sender() as agent:
                for event in events:
                    agent.emit(event)
                assert agent.close(timeout=60), agent.status
            for window, options in WINDOWS.items():
                for name, person, heights in SHOTS:
                    photograph(home, person, f"{name}-{window}", name, heights, options)
                    if name in DARK:
                        dark = {**options, "color_scheme": "dark"}
                        photograph(home, person, f"{name}-{window}-dark", name, heights, dark)
        browser.close()
    return 0


def told() -> list[object]:
    """What the demo's agents say, and in the end the story of the pictures; told in no time."""
    from runs.sender.demo_agent import PROVIDER, Demo
    from runs.sender.demo_desk import Desk
    from runs.sender.demo_shop import AGENTS, Facts
    from runs.sender.run import Run

    events: list[object] = []
    now = time.time() - 3600

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    async def work() -> None:
        await Demo(events.append, seed=SEED, sleep=sleep, clock=lambda: now).play(ANSWERS, at_once=1)
        agent, chance = AGENTS[0], Random(SEED)
        about = {"agent_id": agent.id, "session_id": "session-1", "provider": PROVIDER, "model": agent.model}
        run = Run(events.append, run_id="run-of-the-pictures", clock=lambda: now, **about)
        await broken_zip(Desk(run, agent, Facts.drawn(chance), chance, sleep))

    asyncio.run(work())
    return events


async def broken_zip(desk: Desk) -> None:
    """Something worked, something did not, something was not allowed; and a helper was given too much."""
    from runs.sender import demo_shop as shop
    from runs.sender.demo_desk import Step

    run = desk.run
    run.delegation_declared(
        shop.DELEGATE, static_pool=shop.SPECIALIST_POOL, extra_tool_names=shop.SPECIALIST_ROSTER
    )
    run.turn_start("The zip of my tent broke after a week. Can I get my money back for NW-4711?")
    await desk.work([[Step("lookup_order")], [Step("get_policy"), Step("customer_history", "error")]])
    await desk.work([[Step("customer_history", "error")], [Step("customer_history", "error")]])
    await desk.model([shop.DELEGATE])
    call_id = run.tool_start(shop.DELEGATE, desk.call_id())
    run.delegation_spawned(shop.DELEGATE, [shop.GOOD_PRODUCTS[1], shop.BAD_PRODUCTS[0]], call_id=call_id)
    await desk.wait(2, 4)
    run.tool_end(call_id)
    await desk.work([[Step(shop.REFUND, "refused")], [Step("book_pickup")]])
    await desk.answer(
        "I am sorry about the zip. Alpen Post fetches the tent on Thursday, free of charge. I may not pay the money"
        " back myself: a colleague decides about that as soon as the tent is here."
    )


def photograph(
    home: House, person: str, file: str, name: str, heights: float, options: dict[str, Any]
) -> None:
    width, height = options["viewport"]["width"], options["viewport"]["height"]
    with home.visit(person, **options) as visitor:
        page = visitor.page
        if name.startswith("answer"):
            visitor.go("runs/")
            page.locator("#runs .row-link", has_text="zip of my tent").first.click()
            page.wait_for_url("**/runs/*/")
            page.locator("#run-answers .row-link").first.click()
            page.wait_for_url("**/answers/*/")
        else:
            visitor.go(f"{name}/")
        page.wait_for_load_state("networkidle")
        path = IMAGES / f"{file}.png"
        # The caret is left alone: hiding it would need the inline style that the pages forbid.
        top = page.evaluate(TOP, BEGINS.get(name, "html"))
        shown = min(page.evaluate("document.documentElement.scrollHeight") - top, round(height * heights))
        clip = {"x": 0, "y": top, "width": width, "height": shown}
        page.screenshot(path=path, full_page=True, clip=clip, caret="initial")
    size = path.stat().st_size
    print(f"{path.relative_to(IMAGES.parents[1])}: {size // 1000} kB")
    assert size < LARGEST, "too large to be kept with the code: show less of the page"


if __name__ == "__main__":
    sys.exit(main())
