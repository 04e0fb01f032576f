"""`python -m bench.pages`: every page that could grow, in a project of 10,000 and in one of 1,000,000 runs.

`--quick`: of 10,000 and of 100,000. Times are the server's, in milliseconds, of whole pages.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from bench.harness import Bar, Figure, run
from bench.lists import LARGE, QUICK, SMALL
from bench.reading import Desk, Page, in_turns

ANSWER_BARS = {"ten": 15.0, "two_thousand": 60.0, "ten_thousand": 60.0}


def pages(filled: dict[str, Any]) -> Iterator[tuple[str, Page]]:
    """What a page is called in the table, and where it is."""
    here, large = f"/p/{filled['key']}", filled["large"]
    names = f"/p/{filled['names_key']}"
    for who in ("rhea", "omar"):
        for size, slug in large["answers"].items():
            yield f"answer of {size} calls, {who}", Page(who, f"{here}/answers/{slug}/")
    longest = f"{here}/answers/{large['answers']['ten_thousand']}"
    yield "calls after 5,000 of ten_thousand", Page("omar", f"{longest}/calls/?after=5000")
    yield "only what failed of ten_thousand", Page("omar", f"{longest}/?only=error")
    yield "events of ten_thousand", Page("omar", f"{longest}/events/")
    for who in ("rhea", "omar"):
        yield f"run of 1,000 answers, {who}", Page(who, f"{here}/runs/{large['many_answers']}/")
        yield f"composition of 3,000 turns, {who}", Page(who, f"{here}/runs/{large['many_parts']}/")
    yield "runs, rhea", Page("rhea", f"{here}/runs/")
    yield "runs, omar", Page("omar", f"{here}/runs/")
    yield "new runs", Page("omar", f"{here}/runs/new/?after=1&ending=failed&shown=7")
    yield "tools", Page("omar", f"{here}/tools/")
    yield "a frequent tool's page", Page("ada", f"{here}/tools/one/?tool=search_orders")
    yield "rosters", Page("omar", f"{here}/rosters/")
    yield "home", Page("ada", "/")
    yield "runs with 10,000 names", Page("omar", f"{names}/runs/")
    yield "tools with 10,000 names", Page("omar", f"{names}/tools/")
    yield "a tool's page with 10,000 names", Page("ada", f"{names}/tools/one/?tool=tool_77")


def measure(options: Namespace) -> list[Figure]:
    sizes = (SMALL, QUICK if options.quick else LARGE)
    desks = [Desk(runs) for runs in sizes]
    names = [name for name, _ in pages(desks[0].filled)]
    both = zip(*(pages(desk.filled) for desk in desks), strict=True)
    asked = [(desk, page) for pair in both for desk, (_, page) in zip(desks, pair, strict=True)]
    timed = in_turns(asked, options.repeats)
    for desk in desks:
        desk.close()
    print(f"{'page':<44}{sizes[0]:>12,}{sizes[1]:>12,}{'ratio':>8}{'work':>8}{'queries':>9}{'KiB':>8}")
    figures = []
    for name, here, there in zip(names, timed[::2], timed[1::2], strict=True):
        queries = f"{here.queries}/{there.queries}" if here.queries != there.queries else str(here.queries)
        print(
            f"{name:<44}{here.p50_ms:>12.1f}{there.p50_ms:>12.1f}{there.p50_ms / here.p50_ms:>8.2f}"
            f"{there.work_ms:>8.1f}{queries:>9}{there.bytes / 1024:>8.0f}"
        )
        figures.append(
            Figure(
                f"pages: {name}",
                there.p50_ms,
                "ms p50",
                _bar(name),
                f"{there.work_ms:.1f} of work, {queries} queries",
            )
        )
    return figures


def _bar(name: str) -> Bar | None:
    return next(
        (Bar(most=most) for size, most in ANSWER_BARS.items() if name.startswith(f"answer of {size} ")), None
    )


if __name__ == "__main__":
    run(measure)
