"""What narrows the list of runs. It lives in the address, and everything combines.

An operator's parameter in a reader's address is an unknown one, and unknown ones say nothing. That is decided here,
before any query.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import QueryDict

from runs.pages.access import Visit
from runs.rules import zones
from runs.rules.vocabulary import Ending, NarrowSkip
from runs.store.reads_runs import RunFilter


@dataclass(frozen=True, slots=True)
class Option:
    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class ReaderFilters:
    """The form as every reader has it. `since` and `until` are local times of the project's zone."""

    endings: tuple[Option, ...]
    failed: bool
    incomplete: bool
    session: str
    since: str
    until: str


@dataclass(frozen=True, slots=True)
class OperatorFilters:
    common: ReaderFilters
    missed: bool
    violation: bool
    skipped: tuple[Option, ...]
    tools: tuple[Option, ...]


def read_filter(query: QueryDict, visit: Visit) -> RunFilter:
    """The filter in an address; what is unknown, unreadable or not this audience's is left out."""
    zone = visit.project.time_zone
    common = {
        "ending": Ending.known(query.get("ending")) or "",
        "failed": query.get("failed") == "1",
        "incomplete": query.get("incomplete") == "1",
        "session": _plain(query.get("session", ""), 26),
        "since_ms": zones.read_local(query.get("since", ""), zone),
        "until_ms": zones.read_local(query.get("until", ""), zone),
    }
    if not visit.audience.operates:
        return RunFilter(**common)
    return RunFilter(
        **common,
        missed=query.get("missed") == "1",
        skipped=NarrowSkip.known(query.get("skipped")) or "",
        violation=query.get("violation") == "1",
        tool=_plain(query.get("tool", ""), 256),
    )


def settled(wanted: RunFilter, zone: str) -> dict[str, str]:
    """The filter as an address says it: only what narrows."""
    pairs = {
        "ending": str(wanted.ending),
        "failed": "1" if wanted.failed else "",
        "incomplete": "1" if wanted.incomplete else "",
        "session": wanted.session,
        "since": zones.local_field(wanted.since_ms, zone),
        "until": zones.local_field(wanted.until_ms, zone),
        "missed": "1" if wanted.missed else "",
        "skipped": str(wanted.skipped),
        "violation": "1" if wanted.violation else "",
        "tool": wanted.tool,
    }
    return {name: value for name, value in pairs.items() if value}


def reader_filters(wanted: RunFilter, visit: Visit) -> ReaderFilters:
    zone = visit.project.time_zone
    return ReaderFilters(
        endings=_options(((ending.value, ending.word) for ending in Ending), wanted.ending),
        failed=wanted.failed,
        incomplete=wanted.incomplete,
        session=wanted.session,
        since=zones.local_field(wanted.since_ms, zone),
        until=zones.local_field(wanted.until_ms, zone),
    )


def operator_filters(wanted: RunFilter, visit: Visit, tools: dict[str, str]) -> OperatorFilters:
    if wanted.tool:  # also one that was never seen: the form says what the address says
        tools = {wanted.tool: wanted.tool} | tools
    return OperatorFilters(
        common=reader_filters(wanted, visit),
        missed=wanted.missed,
        violation=wanted.violation,
        skipped=_options(((reason.value, reason.word) for reason in NarrowSkip), wanted.skipped),
        tools=_options(tools.items(), wanted.tool),
    )


def _options(pairs: Iterable[tuple[str, str]], chosen: str) -> tuple[Option, ...]:
    return tuple(Option(value, label, value == chosen) for value, label in pairs)


def _plain(text: str, most: int) -> str:
    """A word out of an address: nothing a database refuses."""
    return text if len(text) <= most and "\x00" not in text else ""
