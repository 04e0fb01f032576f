"""`python -m bench.lists`: the list of runs by each filter and each pair of them, among 10,000 and 1,000,000 runs.

`--quick`: among 10,000 and 100,000. Times are the server's, in milliseconds, of whole pages as an operator gets them.
"""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime
from itertools import combinations
from statistics import median
from typing import Final
from urllib.parse import urlencode

from bench.fill import BEGAN_MS, HALF_A_YEAR_MS, POSITIONS_A_RUN
from bench.harness import Bar, Figure, run
from bench.reading import Desk, Page, Timed, in_turns

SMALL, LARGE, QUICK = 10_000, 1_000_000, 100_000
BAR_MS, BAR_RATIO = 25.0, 1.5


def _local(share: float) -> str:
    moment = datetime.fromtimestamp((BEGAN_MS + HALF_A_YEAR_MS * share) / 1000, UTC)
    return moment.replace(tzinfo=None).isoformat(timespec="minutes")


# Values of each filter, from common to rare: see the shares in fill.py.
FILTERS: Final = {
    "ending": ("answered", "failed", "halted", "running"),
    "failed": ("1",),
    "incomplete": ("1",),
    "session": ("busy", "s10"),
    "since": (_local(0.3), _local(0.97)),
    "until": (_local(0.7), _local(0.03)),
    "missed": ("1",),
    "skipped": ("too-few", "unavailable"),
    "violation": ("1",),
    "tool": ("search_orders", "send_mail", "refund", "purge", "audit"),
}


def cases() -> list[dict[str, str]]:
    single = [{name: value} for name, values in FILTERS.items() for value in values]
    pairs = [a | b for a, b in combinations(single, 2) if a.keys() != b.keys()]
    return [{}, *single, *pairs]


def measure(options: Namespace) -> list[Figure]:
    sizes = (SMALL, QUICK if options.quick else LARGE)
    small, large = (Desk(runs) for runs in sizes)
    figures = []
    for title, deep in (("the first page", False), ("a page from the middle", True)):
        print(
            f"\n{title:<62}{sizes[0]:>12,}{sizes[1]:>12,}{'ratio':>8}{'work':>7}{'work':>7}{'ratio':>8}{'queries':>9}"
        )
        asked = [
            (desk, Page("omar", _address(desk, case, deep))) for case in cases() for desk in (small, large)
        ]
        timed = in_turns(asked, options.repeats)
        pairs = [(timed[place], timed[place + 1]) for place in range(0, len(timed), 2)]
        for case, (here, there) in zip(cases(), pairs, strict=True):
            print(_line(case, here, there))
        work = [there.work_ms for _, there in pairs]
        ms = [there.p50_ms for _, there in pairs]
        # A page with fewer runs on it is faster for that alone: what is alike is compared.
        alike = [(here, there) for here, there in pairs if here.rows == there.rows]
        more_work = [there.work_ms / here.work_ms for here, there in alike]
        ratios = [there.p50_ms / here.p50_ms for here, there in alike]
        of = f"lists: {title} among {sizes[1]:,} runs"
        figures += [
            Figure(
                f"{of}, the slowest", max(ms), "ms p50", Bar(most=BAR_MS),
                f"median {median(ms):.1f}; of work {max(work):.1f}, median {median(work):.1f}",
            ),
            Figure(
                f"{of}, against {sizes[0]:,}, the worst", max(ratios), "x", Bar(most=BAR_RATIO),
                f"median {median(ratios):.2f}; of work {max(more_work):.2f}, median {median(more_work):.2f}",
            ),
        ]  # fmt: skip
    small.close()
    large.close()
    return figures


def _address(desk: Desk, case: dict[str, str], deep: bool) -> str:
    query = dict(case)
    if deep:
        query["before"] = f"{desk.runs * POSITIONS_A_RUN // 2:x}"
    return f"/p/{desk.filled['key']}/runs/?{urlencode(query)}"


def _line(case: dict[str, str], here: Timed, there: Timed) -> str:
    name = " & ".join(f"{name}={value}" for name, value in case.items()) or "(all)"
    ratio = there.p50_ms / here.p50_ms
    work = f"{here.work_ms:>7.1f}{there.work_ms:>7.1f}{there.work_ms / here.work_ms:>8.2f}"
    flag = " <<" if there.p50_ms > BAR_MS or ratio > BAR_RATIO else ""
    queries = f"{here.queries}/{there.queries}" if here.queries != there.queries else str(here.queries)
    if here.rows != there.rows:
        flag = f"{flag} {here.rows}/{there.rows} runs listed"
    return f"{name:<62}{here.p50_ms:>12.1f}{there.p50_ms:>12.1f}{ratio:>8.2f}{work}{queries:>9}{flag}"


if __name__ == "__main__":
    run(measure)
