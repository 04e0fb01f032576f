"""How fast a token may send: token buckets, pure; the clock is passed in.

Nothing is refused for being too fast. What was read is taken, and `take` says how long not to read on: the sender is
held back by TCP, and its own buffer keeps the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BURST_S: Final = 2.0  # so many seconds' worth may come at once after a rest
LONGEST_PAUSE_S: Final = (
    5.0  # a full window or frame is worked off in this time: a sender waits 30 s for a word
)
SMALLEST_FRAME_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Pace:
    """The most a token may send, on one server process; 0 is no limit."""

    events_per_s: int = 0
    bytes_per_s: int = 0

    def __bool__(self) -> bool:
        return bool(self.events_per_s or self.bytes_per_s)

    def fitting(self, limits: dict[str, int]) -> dict[str, int]:
        """The doors' `limits` made so small that nobody within them is held back for longer than LONGEST_PAUSE_S."""
        fitted = dict(limits)
        if self.events_per_s:
            fitted["window"] = min(limits["window"], max(1, int(self.events_per_s * LONGEST_PAUSE_S)))
        if self.bytes_per_s:
            most = max(SMALLEST_FRAME_BYTES, int(self.bytes_per_s * LONGEST_PAUSE_S))
            fitted["frame_bytes"] = min(limits["frame_bytes"], most)
            fitted["event_bytes"] = min(limits["event_bytes"], fitted["frame_bytes"])
        return fitted


class Bucket:
    """Holds up to `burst`, fills with `rate` a second; what is taken beyond what it holds is owed."""

    __slots__ = ("_at", "_burst", "_held", "_rate")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate, self._burst = rate, burst
        self._held, self._at = burst, now

    def take(self, amount: float, now: float) -> float:
        """Take `amount`, whether or not it is there. Seconds until nothing is owed; 0.0 when nothing is."""
        # A clock that goes back gives nothing and takes nothing.
        self._held = min(self._burst, self._held + max(0.0, now - self._at) * self._rate) - amount
        self._at = max(self._at, now)
        return max(0.0, -self._held / self._rate)


class Rate:
    """What all connections of one token share."""

    __slots__ = ("_bytes", "_events", "pace")

    def __init__(self, pace: Pace, now: float) -> None:
        self.pace = pace
        self._events = _bucket(pace.events_per_s, now)
        self._bytes = _bucket(pace.bytes_per_s, now)

    def take(self, events: int, size: int, now: float) -> float:
        """Count what was read. Seconds not to read on."""
        return max(
            self._events.take(events, now) if self._events else 0.0,
            self._bytes.take(size, now) if self._bytes else 0.0,
        )


def _bucket(rate: int, now: float) -> Bucket | None:
    return Bucket(rate, rate * BURST_S, now) if rate else None
