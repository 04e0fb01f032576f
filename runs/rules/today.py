"""How many events a project keeps of one day, by the server's clock in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DAY_MS: Final = 24 * 3600 * 1000


@dataclass(slots=True)
class Today:
    """`most`: None is no limit. `day`: days since 1970 of the last event counted; `events`: how many it had."""

    most: int | None = None
    day: int = 0
    events: int = 0

    def kept(self, now_ms: int) -> int:
        """How many were kept of the day that `now_ms` is in."""
        return self.events if now_ms // DAY_MS <= self.day else 0

    def is_full(self, now_ms: int) -> bool:
        """Whether no more are kept. A batch that began below the limit is kept whole."""
        return self.most is not None and self.kept(now_ms) >= self.most

    def count(self, kept: int, now_ms: int) -> None:
        """Count events kept now. Only under a limit."""
        if self.most is None or not kept:
            return
        self.events = self.kept(now_ms) + kept
        self.day = max(self.day, now_ms // DAY_MS)
