"""How often two readings agree, and how sure a count of that can be. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt

from msgspec import Struct

Z_95 = 1.959963984540054
SMALL = 30
"""Below so many a share is said to be of small numbers."""


class Share(Struct, frozen=True):
    """`hits` of `n`. `low` and `high` are the bounds of Wilson's interval at 95 %, 0 to 1; both None for n = 0.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """

    hits: int
    n: int

    @property
    def share(self) -> float | None:
        return self.hits / self.n if self.n else None

    @property
    def low(self) -> float | None:
        return None if self.n == 0 else max(0.0, self._middle() - self._half())

    @property
    def high(self) -> float | None:
        return None if self.n == 0 else min(1.0, self._middle() + self._half())

    @property
    def is_small(self) -> bool:
        return self.n < SMALL

    def _middle(self) -> float:
        return (self.hits + Z_95**2 / 2) / (self.n + Z_95**2)

    def _half(self) -> float:
        inside = self.hits * (self.n - self.hits) / self.n + Z_95**2 / 4
        return Z_95 * sqrt(inside) / (self.n + Z_95**2)


class Bin(Struct, frozen=True):
    """Calls whose confidence is from `low` to below `high`: their mean confidence, and how often the model agreed."""

    low: float
    high: float
    confidence: float
    agreed: Share


def calibration_gap(bins: Iterable[Bin]) -> float | None:
    """How far confidence and agreement lie apart, the mean by counts (expected calibration error), 0 to 1."""
    listed = [b for b in bins if b.agreed.n]
    n = sum(b.agreed.n for b in listed)
    if not n:
        return None
    return sum(abs(b.confidence - b.agreed.hits / b.agreed.n) * b.agreed.n for b in listed) / n


class Twins(Struct, frozen=True):
    """Two tools that the ranker and the model swap: `swapped` calls where one was chosen and the other called."""

    one: str
    other: str
    swapped: int
    among: int
    """Calls where either of the two was called and something was chosen."""


def twin_tools(chosen_called: Mapping[tuple[str, str], int], *, least: int = 2) -> list[Twins]:
    """The pairs most often swapped first. `chosen_called`: counts by (chosen, first called)."""
    swapped: dict[tuple[str, str], int] = {}
    called: dict[str, int] = {}
    for (chosen, first), count in chosen_called.items():
        called[first] = called.get(first, 0) + count
        if chosen != first:
            pair = (min(chosen, first), max(chosen, first))
            swapped[pair] = swapped.get(pair, 0) + count
    found = [
        Twins(one, other, count, called.get(one, 0) + called.get(other, 0))
        for (one, other), count in swapped.items()
        if count >= least
    ]
    return sorted(found, key=lambda twins: (-twins.swapped, twins.one, twins.other))


def middle(counted: Mapping[int, int], share: float) -> int | None:
    """The value below or at which `share` of the counted values lie (nearest rank). None when nothing was counted."""
    n = sum(counted.values())
    if not n:
        return None
    wanted, seen = share * n, 0
    for value in sorted(counted):
        seen += counted[value]
        if seen >= wanted:
            return value
    return max(counted)
