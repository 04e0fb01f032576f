"""Somebody's browser, and what is watched in it: errors, shifts of the layout, and names that ever were on a page."""

from __future__ import annotations

import os
import re
import time
from typing import Any

from tests.browser.agent import INTERNAL

PATIENCE = float(os.environ.get("FOOTPRINT_PATIENCE", "1"))
"""Live things are there within two seconds of the agent's word. A machine that is busy with other things may be given
more: `FOOTPRINT_PATIENCE=3` waits three times as long."""

SOON_MS = 2_000 * PATIENCE

# Sums what moved by itself, and remembers whether a mark was ever anywhere in the document.
WATCH = """
window.footprintShift = 0;
window.footprintShifted = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput) continue;
    window.footprintShift += entry.value;
    for (const source of entry.sources) {
      const node = source.node && (source.node.id || source.node.className || source.node.nodeName);
      window.footprintShifted.push(`${entry.value.toFixed(4)} ${node}`);
    }
  }
}).observe({ type: "layout-shift", buffered: true });
window.footprintSeen = [];
new MutationObserver(() => {
  const html = document.documentElement.outerHTML;
  const at = html.indexOf("MARK");
  if (at >= 0) window.footprintSeen.push(html.slice(at - 80, at + 80));
}).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
""".replace("MARK", INTERNAL)

# What Chromium itself writes while a server is away, or when a page turns out to be gone.
OFFLINE = re.compile(r"WebSocket connection to .* failed|ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET")
NOT_FOUND = re.compile(r"the server responded with a status of 404")


class Visitor:
    def __init__(self, context: Any, home: str) -> None:
        self.context = context
        self.home = home
        self.frames: list[str] = []  # everything a websocket brought
        self.errors: list[str] = []
        self.waits: list[float] = []  # milliseconds from the agent's word to the page's
        context.add_init_script(WATCH)
        context.set_default_timeout(15_000)
        self.page = self.open_tab()

    def open_tab(self) -> Any:
        page = self.context.new_page()
        page.on("console", lambda message: self._note(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("websocket", lambda socket: socket.on("framereceived", self._take))
        return page

    def _note(self, text: str) -> None:
        self.errors.append(text)

    def _take(self, frame: Any) -> None:
        self.frames.append(frame if isinstance(frame, str) else frame.decode("utf-8", "replace"))

    def forgive(self, kind: re.Pattern[str]) -> None:
        """What the browser reported of this kind was to be expected."""
        self.errors = [error for error in self.errors if not kind.search(error)]

    # -- walking ----------------------------------------------------------------------------------

    def go(self, place: str = "") -> Visitor:
        self.page.goto(self.home + place)
        return self

    def open_run(self, question: str) -> Visitor:
        """From the list, as people do, until the page says that it is connected."""
        self.go("runs/")
        self.page.get_by_role("link", name=question).click()
        self.page.wait_for_url("**/runs/*/")
        return self

    def open_answer(self, question: str) -> Visitor:
        self.open_run(question)
        self.page.locator("#run-answers").get_by_role("link", name=question).click()
        self.page.wait_for_url("**/answers/*/")
        return self

    def is_live(self) -> Visitor:
        self.page.locator("#live-state[data-state=live]").wait_for()
        return self

    # -- looking ----------------------------------------------------------------------------------

    def soon(self, selector: str, text: str = "", *, page: Any = None) -> None:
        """This is on the page within two seconds of now (the agent has just said it)."""
        began = time.monotonic()
        found = (page or self.page).locator(selector)
        if text:
            found = found.filter(has_text=text)
        found.first.wait_for(timeout=SOON_MS)
        self.waits.append((time.monotonic() - began) * 1000)

    def rows(self) -> list[int]:
        return self.page.evaluate(
            "[...document.querySelectorAll('#call-rows [data-number]')].map(row => +row.dataset.number)"
        )

    def shift(self, page: Any = None) -> float:
        return (page or self.page).evaluate("window.footprintShift")

    def shifted(self, page: Any = None) -> list[str]:
        """What moved, for a failure to say."""
        return (page or self.page).evaluate("window.footprintShifted")

    def has_seen_no_name(self) -> None:
        """No name of the model's vocabulary came here: not in the page at any moment, nor in a frame."""
        assert self.page.evaluate("window.footprintSeen") == []
        assert INTERNAL not in self.page.content()
        assert not [frame for frame in self.frames if INTERNAL in frame]

    def is_still_wide(self) -> bool:
        """Whether the page fits into its window and does not scroll sideways."""
        return self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
