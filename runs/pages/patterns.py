"""Every piece of the pages on one page, in both themes: for whoever changes a template or a style.

It is a page and not a file made by a test, because it prints the same parts with the same style sheets as the product
does: what is changed there is seen here at the next reload. For superusers; to all others it does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache

from runs.pages.lines import Record
from runs.pages.runs import RunRow
from runs.pages.timeline import Item, Timeline, timeline
from runs.rules.vocabulary import Ending, IncompleteReason, NarrowSkip, Outcome, RosterReason, Told

SOME_DAY_MS = 1_790_000_000_000


@dataclass(frozen=True, slots=True)
class Words:
    """One closed vocabulary, as its members look."""

    name: str
    members: tuple[Told, ...]


@dataclass(frozen=True, slots=True)
class Pieces:
    """The same pieces for one theme. Ids hold the theme, since they stand twice on the page."""

    theme: str
    words: tuple[Words, ...]
    rows: tuple[RunRow, ...]
    plot: Timeline | None


@dataclass(frozen=True, slots=True)
class PatternsPage:
    themes: tuple[Pieces, ...]


@never_cache
@login_required
def patterns(request: HttpRequest) -> HttpResponse:
    if not request.user.is_superuser:
        raise Http404
    page = PatternsPage(tuple(_pieces(theme) for theme in ("light", "dark")))
    return render(request, "patterns/patterns.html", {"page": page, "zone": "UTC"})


def _pieces(theme: str) -> Pieces:
    vocabularies = (Outcome, Ending, NarrowSkip, RosterReason, IncompleteReason)
    return Pieces(
        theme=theme,
        words=tuple(Words(kind.__name__, tuple(kind)) for kind in vocabularies),
        rows=tuple(_row(theme, number, ending) for number, ending in enumerate(Ending)),
        plot=timeline(
            [
                Item("model", "model", 0, 900),
                Item("Looking up the order", "call", 950, 1_400, Outcome.OK),
                Item("Refunding the customer", "call", 960, 1_250, Outcome.ERROR),
                Item("a call without a name", "call", 970, 970, Outcome.NOT_RUN),
                Item("waited for a person", "pause", 1_400, 3_000),
                Item("Writing to the customer", "call", 3_050, None, Outcome.OPEN),
            ],
            3_600,
        ),
    )


def _row(theme: str, number: int, ending: Ending) -> RunRow:
    lacks = (Record.COMPLETE, Record.INCOMPLETE)[number % 2]
    titles = ("Where is my order NW-77?", "Compare all our suppliers, and tell me which of them " * 3, "")
    return RunRow(
        slug=f"{theme}-{number}",
        href="#",
        title=titles[number % 3],
        asked=number % 2 == 0,
        ending=ending,
        answers=1 + number % 2,
        worked=number * 7,
        failed=number % 3,
        never_ran=number % 4,
        still_open=0,
        record=lacks if ending.ended else Record.NOT_FINAL,
        retry=number == 4,
        opened_ms=SOME_DAY_MS + number * 61_000,
        duration_ms=(240, 4_200, 125_000, None)[number % 4],
    )


urlpatterns = [path("patterns/", patterns, name="patterns")]
