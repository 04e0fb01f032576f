"""What the list of runs and the page of a run say alike of a run or an answer."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

TITLE_CHARS: Final = 160


class Record(StrEnum):
    """What a run's answers say about their lists of calls, taken together."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    NOT_FINAL = "not final"
    NONE = "no answer"

    @property
    def lacks(self) -> bool:
        return self is Record.INCOMPLETE


def first_line(text: str | None) -> str:
    """The first line with words in it, cut to what a row can hold."""
    line = next((line.strip() for line in (text or "").splitlines() if line.strip()), "")
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


def span_ms(opened_clock_ms: int | None, last_clock_ms: int | None) -> int | None:
    """From first to last word on the sender's clock; None where a side is missing."""
    return None if opened_clock_ms is None or last_clock_ms is None else last_clock_ms - opened_clock_ms
