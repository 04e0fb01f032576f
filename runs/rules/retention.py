"""Retention: which runs a project no longer keeps, and the sentences that say so.

Two limits, each may be absent, and both hold: days since a run's last word, and the number of newest runs. A chain of
runs (one answer over several runs, a run and its retry) goes as a whole or not at all, and never while it is at work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

DAY_MS: Final = 24 * 3600 * 1000
MOST_DAYS: Final = 36_500
MOST_RUNS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What a project keeps; None: no limit."""

    days: int | None
    runs: int | None

    @property
    def any(self) -> bool:
        return self.days is not None or self.runs is not None

    def tighten(self, before: Limits) -> bool:
        """Whether these keep less than `before`, in some respect."""
        return _less(self.days, before.days) or _less(self.runs, before.runs)

    def before_ms(self, now_ms: int) -> int:
        """A run whose last word is older than this is too old; 0 without a limit."""
        return 0 if self.days is None else now_ms - self.days * DAY_MS


NO_LIMITS: Final = Limits(None, None)


@dataclass(frozen=True, slots=True)
class Border:
    """Where what is kept begins: by time (UTC milliseconds of the last word) and by position (of the first)."""

    before_ms: int
    position: int

    def is_behind(self, first_position: int, last_ms: int) -> bool:
        return last_ms < self.before_ms or first_position < self.position

    def may_be_behind(self, first_position: int, opened_ms: int) -> bool:
        """False: neither this run nor any that began later is behind. A run's last word is not before its first."""
        return opened_ms < self.before_ms or first_position < self.position


@dataclass(frozen=True, slots=True)
class RunAge:
    """What retention asks of one run of a chain. `waits`: an answer of it is running or asked a person."""

    first_position: int
    last_ms: int
    finished: bool
    waits: bool


def may_go(chain: Iterable[RunAge], border: Border, quiet_since_ms: int) -> bool:
    """Whether the whole chain is behind the border and nothing of it is at work.

    A run that has not ended counts as at work until `quiet_since_ms` has passed without a word of it.
    """
    return all(
        border.is_behind(run.first_position, run.last_ms)
        and not run.waits
        and (run.finished or run.last_ms < quiet_since_ms)
        for run in chain
    )


def problem_of(limit: int | None, most: int, what: str) -> str | None:
    """Why the limit cannot be set, or None."""
    if limit is None or 1 <= limit <= most:
        return None
    return f"The number of {what} must be from 1 to {most:,}, or empty to keep everything."


def sentence(limits: Limits) -> str:
    """What happens under these limits."""
    if not limits.any:
        return "Every run is kept."
    rules = []
    if limits.days is not None:
        rules.append(f"once its last word is more than {_many(limits.days, 'day')} old")
    if limits.runs is not None:
        newer = "a newer one has begun" if limits.runs == 1 else f"{limits.runs:,} newer ones have begun"
        rules.append(f"once {newer}")
    return (
        f"A run is deleted {' or '.join(rules)}, with its events, texts, calls and notes and the runs that share an "
        "answer with it. One that is at work or waits for a person stays until it has ended."
    )


def warning(going: int, most: int) -> str:
    """What saving the limits deletes at once. `going` was counted up to `most`."""
    runs = f"more than {most - 1:,} runs" if going >= most else _many(going, "run")
    return f"Saving this deletes {runs} within minutes, and that cannot be undone. Type the project’s name to confirm."


def _less(now: int | None, before: int | None) -> bool:
    return now is not None and (before is None or now < before)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
