"""What if only the best N had been served: `narrow_served` replayed over model calls on record, many at once.

Each call is remembered by its *shape*: a short word that holds all that the rule's decision depends on, for every N
and every confidence floor, and nothing else. Calls of one shape end alike, so a million calls are replayed as the few
thousand shapes they have. That a shape decides as `narrow_served` does is a test.

What a replay cannot know: a model that is shown fewer tools may call another one. It says what the recorded calls would
have lacked, not what would have happened.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

FLOORS = 20
"""Confidence is told apart in so many steps: a floor is a twentieth, from 0 (none) to 20 (only the surest)."""

LONGEST_CHAIN = 24
"""So many calls right before one are remembered with it. A longer row of misses is forgotten: see `Shape.before`."""


class Link(Struct, frozen=True):
    """A call right before: it would have missed at every N up to `misses_to`, were its confidence at the floor."""

    misses_to: int
    sure: int


class Shape(Struct, frozen=True):
    """One model call, as far as its narrowing depends on it.

    `candidates`: tools on the wire that are no doors; `ranked`: how many the classifier scored; `need`: the rank of the
    lowest one called, 0 where nothing but doors was called, `NEVER` where one was called that no N would have served;
    `sure`: its confidence in twentieths; `held`: it was to be served everything whatever N (wrap-up, a failed
    reading). `before`: the calls at exactly the iterations before, nearest first, to the first that misses at no N.
    """

    candidates: int
    ranked: int
    need: int
    sure: int
    held: bool = False
    before: tuple[Link, ...] = ()

    @property
    def narrows_to(self) -> int:
        """The largest N that would have narrowed it; 0: none."""
        return 0 if self.held else max(0, min(self.ranked, self.candidates - 1))

    @property
    def misses_to(self) -> int:
        """The largest N at which it lacks what was called, were it narrowed; 0: none."""
        return min(self.narrows_to, self.need - 1) if self.need else 0

    def missed_before(self, top: int, floor: int) -> bool:
        """Whether the call right before misses at `top`. After a miss comes a full call, which cannot miss: of calls
        in a row that lack something, the first, the third, ... miss."""
        row = 0
        for link in self.before:
            if link.misses_to < top or link.sure < floor:
                break
            row += 1
        return row % 2 == 1


NEVER = 1_000_000


def shape_of(
    *,
    wire: Sequence[str],
    doors: Collection[str],
    ranked: Sequence[str],
    confidence: float | None,
    called: Iterable[str],
    held: bool = False,
    before: Shape | None = None,
) -> Shape:
    """The shape of a call. `ranked`: names, best first; `before`: of the call at exactly the iteration before."""
    place = {name: rank for rank, name in enumerate(ranked, start=1)}
    shown = set(wire)
    need = 0
    for name in called:
        if name not in shown:
            need = NEVER
        elif name not in doors:
            need = max(need, place.get(name, NEVER))
    return Shape(
        candidates=sum(name not in doors for name in wire),
        ranked=len(ranked),
        need=need,
        sure=sureness(confidence),
        held=held,
        before=_chain(before),
    )


def sureness(confidence: float | None) -> int:
    """A confidence of 0 to 1 in twentieths, rounded down; without one: 0."""
    if confidence is None:
        return 0
    # 0.15 * 20 is 3.0000000000000004 and 0.55 * 20 is 11.000000000000002, but 0.29 * 100 falls short: round first.
    return int(max(0.0, min(1.0, confidence)) * FLOORS + 1e-9)


def _chain(before: Shape | None) -> tuple[Link, ...]:
    if before is None or before.misses_to == 0:
        return ()
    return (Link(before.misses_to, before.sure), *before.before)[:LONGEST_CHAIN]


def shape_word(shape: Shape) -> str:
    """The shape as it rests in a column: ``candidates.ranked.need.sure[h][/misses.sure]*``."""
    own = f"{shape.candidates}.{shape.ranked}.{shape.need}.{shape.sure}{'h' if shape.held else ''}"
    return "/".join([own, *(f"{link.misses_to}.{link.sure}" for link in shape.before)])


@lru_cache(maxsize=100_000)
def read_shape(word: str) -> Shape:
    """`ValueError` where the word is no shape."""
    own, *before = word.split("/")
    candidates, ranked, need, sure = map(int, own.removesuffix("h").split("."))
    links = tuple(Link(*map(int, link.split("."))) for link in before)
    return Shape(candidates, ranked, need, sure, own.endswith("h"), links)


class WhatIf(Struct, frozen=True):
    """What serving the best `top` would have come to, over all calls that can be replayed."""

    top: int
    calls: int
    narrowed: int
    shown: int
    """Tools that the calls had on their wires, doors not counted."""
    saved: int
    """Of those, not served."""
    missed: int
    after_miss: int
    """Calls that were served everything because the one before had missed."""

    @property
    def saved_share(self) -> float:
        return self.saved / self.shown if self.shown else 0.0


def what_if(counted: Mapping[Shape, int], tops: Iterable[int], *, floor: int = 0) -> tuple[WhatIf, ...]:
    """`counted`: how many calls have each shape. A call less sure than `floor` (twentieths) is served everything."""
    merged = _without_floor(counted) if floor == 0 else counted
    return tuple(_at(merged, top, floor) for top in tops)


def _without_floor(counted: Mapping[Shape, int]) -> Mapping[Shape, int]:
    """Shapes that differ in nothing but confidence are one when no floor is asked for."""
    merged: dict[Shape, int] = {}
    for shape, count in counted.items():
        links = tuple(Link(link.misses_to, 0) for link in shape.before)
        plain = Shape(shape.candidates, shape.ranked, shape.need, 0, shape.held, links)
        merged[plain] = merged.get(plain, 0) + count
    return merged


def _at(counted: Mapping[Shape, int], top: int, floor: int) -> WhatIf:
    calls = narrowed = shown = saved = missed = after_miss = 0
    for shape, count in counted.items():
        calls += count
        shown += count * shape.candidates
        if shape.held or shape.sure < floor:
            continue
        # The rule's order: a miss before is said first, whatever the call would have come to.
        if shape.missed_before(top, floor):
            after_miss += count
            continue
        if shape.narrows_to < top:
            continue
        narrowed += count
        saved += count * (shape.candidates - top)
        if shape.misses_to >= top:
            missed += count
    return WhatIf(top, calls, narrowed, shown, saved, missed, after_miss)
