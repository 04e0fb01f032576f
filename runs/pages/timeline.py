"""The timeline of a run or an answer: what happened when, as bars. Pure geometry; `parts/timeline.html` draws it.

One row an item, in the order of their starts; units are those of the SVG's viewBox. Beside the drawing stands a table
of the same rows, so nothing is told by place and colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runs.rules.vocabulary import Outcome
from runs.rules.words import duration_words

WIDTH = 960
LABELS = 230
ROW = 22
AXIS = 26
MOST_ROWS = 120
"""More rows than this are not drawn: nobody reads them, and the table of calls has them all."""

_RIGHT = 86  # room after the last bar for its duration
_MAX_LABEL = 30
_STEPS_MS = [n * 10**power for power in range(9) for n in (1, 2, 5)]


@dataclass(frozen=True, slots=True)
class Item:
    """Something that took time. `kind` is ``call``, ``model`` or ``turn``; times in milliseconds of one clock.

    `end_ms` None: no end is on record (drawn to the right edge, open). `outcome` None: it has none (a model call).
    `anchor` is the id of the row on the page that tells more.
    """

    label: str
    kind: str
    start_ms: int
    end_ms: int | None
    outcome: Outcome | None = None
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of the plot. `x`, `width`, `y` in the drawing's units; `starts` and `took` in words."""

    label: str
    short: str
    kind: str
    colour: str
    mark: str
    word: str
    anchor: str
    x: int
    y: int
    width: int
    words_x: int
    starts: str
    took: str
    open: bool


@dataclass(frozen=True, slots=True)
class Tick:
    x: int
    text: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """A drawing of `width` by `height` units with its rows; `left_out` items did not fit."""

    width: int
    height: int
    labels: int
    plot_bottom: int
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    left_out: int


def timeline(items: Sequence[Item], until_ms: int | None = None) -> Timeline | None:
    """Place the items between the first start and the last end (or `until_ms`); None when there is nothing to draw."""
    if not items:
        return None
    ordered = sorted(items, key=lambda item: item.start_ms)
    drawn, left_out = ordered[:MOST_ROWS], max(0, len(ordered) - MOST_ROWS)
    first = drawn[0].start_ms
    ends = [item.start_ms if item.end_ms is None else item.end_ms for item in drawn]
    last = max(*ends, first + 1, until_ms if until_ms is not None and not left_out else first)
    scale = (WIDTH - LABELS - _RIGHT) / (last - first)
    bars = tuple(_bar(row, item, first, last, scale) for row, item in enumerate(drawn))
    bottom = ROW * len(bars)
    return Timeline(WIDTH, bottom + AXIS, LABELS, bottom, bars, _ticks(last - first, scale), left_out)


def _bar(row: int, item: Item, first: int, last: int, scale: float) -> Bar:
    end = last if item.end_ms is None else max(item.start_ms, item.end_ms)
    x = LABELS + round((item.start_ms - first) * scale)
    width = max(3, round((end - item.start_ms) * scale))
    outcome = item.outcome
    is_open = item.end_ms is None
    return Bar(
        label=item.label,
        short=item.label if len(item.label) <= _MAX_LABEL else f"{item.label[: _MAX_LABEL - 1]}…",
        kind=item.kind,
        colour=outcome.colour if outcome else item.kind,
        mark=outcome.mark if outcome else "",
        word=outcome.word if outcome else ("still open" if is_open else ""),
        anchor=item.anchor,
        x=x,
        y=row * ROW,
        width=width,
        words_x=x + width + 6,
        starts=f"+{duration_words(item.start_ms - first)}",
        took="" if item.end_ms is None else duration_words(end - item.start_ms),
        open=is_open,
    )


def _ticks(span_ms: int, scale: float) -> tuple[Tick, ...]:
    step = next((step for step in _STEPS_MS if span_ms / step <= 6), _STEPS_MS[-1])
    count = min(span_ms // step, 12)
    return tuple(Tick(LABELS + round(n * step * scale), duration_words(n * step)) for n in range(count + 1))
