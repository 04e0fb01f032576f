"""The eye that looks for markers in whatever reaches somebody: a page, a header, a frame of an open page."""

import json
from dataclasses import dataclass, field
from typing import Any

from bs4 import BeautifulSoup

from tests.readers.markers import PREFIX

# Elements of this class print a kept question or answer: the only place where the model's own words reach a reader.
SAID = "said"


@dataclass
class Look:
    markers: frozenset[str]
    leaks: list[str] = field(default_factory=list)
    met: int = 0  # pages and parts with a marker anywhere, also where it may be

    def at_page(self, where: str, text: str) -> None:
        """What a page or a part of one prints outside of said text; attributes count."""
        if PREFIX not in text:
            return
        self.met += 1
        if "<" in text:
            soup = BeautifulSoup(text, "html.parser")
            for said in soup.select(f".{SAID}"):
                said.clear()
            text = str(soup)
        self.at_words(where, text)

    def at_words(self, where: str, text: str) -> None:
        """Text that is not a page: none of it may be the model's."""
        if PREFIX in text:
            self.leaks.extend(f"{where}: {found}" for found in sorted(self.markers) if found in text)

    def at_message(self, where: str, message: dict[str, Any]) -> dict[str, Any]:
        """A message of a live socket: its parts are pieces of pages, the rest is words. The frame in it; {} without."""
        frame: dict[str, Any] = json.loads(message["text"]) if "text" in message else {}
        for part in frame.get("parts", ()):
            self.at_page(f"{where} part {part['id']}", part["html"])
        parts = [{**part, "html": ""} for part in frame.get("parts", ())]
        around = {**message, "text": json.dumps({**frame, "parts": parts}, ensure_ascii=False)}
        self.at_words(f"{where} {message['type']}", repr(around))
        return frame
