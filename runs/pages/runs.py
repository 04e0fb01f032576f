"""The list of runs: newest first, narrowed by what stands in the address, paged by position."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import path, reverse

from runs.pages.access import Visit, project_page
from runs.pages.fragments import Fragment, LiveTag, fragment
from runs.pages.frame import show, show_part
from runs.pages.lines import Record, first_line, span_ms
from runs.pages.run_filters import (
    OperatorFilters,
    ReaderFilters,
    operator_filters,
    read_filter,
    reader_filters,
    settled,
)
from runs.rules.vocabulary import Ending, NarrowSkip
from runs.store import reads_runs
from runs.store.reads_runs import RunFilter, RunLine
from runs.store.words import read_words

PAGE_SIZE: Final = 25
MOST_ANNOUNCED: Final = 99


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of the list, for every reader."""

    slug: str
    href: str
    title: str  # the first line of the question, as it was said; empty where there is none
    asked: bool  # a question is on record; without a title, its text was not kept
    ending: Ending
    answers: int
    worked: int
    failed: int
    never_ran: int
    still_open: int
    record: Record
    retry: bool
    opened_ms: int
    duration_ms: int | None


@dataclass(frozen=True, slots=True)
class OperatorRunRow:
    run: RunRow
    agent: str
    missed: int
    violations: int
    skipped: tuple[NarrowSkip, ...]


@dataclass(frozen=True, slots=True)
class Paging:
    """Where the list goes on. `new_href` is asked for runs that came since; empty on the older pages."""

    newest_href: str
    newer_href: str
    older_href: str
    new_href: str


@dataclass(frozen=True, slots=True)
class ReaderRunsPage:
    rows: tuple[RunRow, ...]
    filters: ReaderFilters
    filtered: bool
    all_href: str
    paging: Paging
    live: LiveTag
    for_operators: bool = False


@dataclass(frozen=True, slots=True)
class OperatorRunsPage:
    rows: tuple[OperatorRunRow, ...]
    filters: OperatorFilters
    filtered: bool
    all_href: str
    paging: Paging
    connect_href: str  # admins only; else empty
    live: LiveTag
    for_operators: bool = True


@dataclass(frozen=True, slots=True)
class NewRuns:
    """How many runs came since the page was made; `more`: at least that many."""

    count: int
    more: bool
    shown: int  # what the page sends back: a line that would say the same is not sent again
    href: str


@project_page
def project(request: HttpRequest, visit: Visit) -> HttpResponse:
    return redirect("runs", key=visit.project.key)


@project_page
def runs(request: HttpRequest, visit: Visit) -> HttpResponse:
    return show(request, visit, "runs/runs.html", build(visit, request.GET), here="runs")


@project_page
def new_runs(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The line that announces newer runs; 204 while it would say what the page already says."""
    wanted = read_filter(request.GET, visit)
    since = read_cursor(request.GET.get("after", ""))
    count = reads_runs.count_after(visit.project, wanted, since or 0, MOST_ANNOUNCED + 1)
    if str(count) == request.GET.get("shown", "0"):
        return HttpResponse(status=204)
    page = NewRuns(min(count, MOST_ANNOUNCED), count > MOST_ANNOUNCED, count, _href(visit, wanted))
    return show_part(request, visit, "runs/parts/new.html", page)


def build(visit: Visit, query: QueryDict) -> ReaderRunsPage | OperatorRunsPage:
    wanted = read_filter(query, visit)
    lines, paging = _page(visit, wanted, query)
    filtered = wanted != RunFilter()
    all_href = reverse("runs", args=[visit.project.key])
    if not visit.audience.operates:
        return ReaderRunsPage(
            tuple(_row(visit, line) for line in lines),
            reader_filters(wanted, visit),
            filtered,
            all_href,
            paging,
            live_tag(visit),
        )
    connect = reverse("connect", args=[visit.project.key]) if visit.audience.administers else ""
    return OperatorRunsPage(
        tuple(_operator_row(visit, line) for line in lines),
        operator_filters(wanted, visit, _tools(visit)),
        filtered,
        all_href,
        paging,
        connect,
        live_tag(visit),
    )


def _tools(visit: Visit) -> dict[str, str]:
    """Each tool's registered name, and how a filter calls it: the app's words first, where there are some."""
    said = read_words(visit.project.id, visit.project.epoch)
    labels = ((tool, said.display_name_of(tool)) for tool in reads_runs.tools_seen(visit.project))
    return {tool: f"{words} ({tool})" if words else tool for tool, words in labels}


def live_tag(visit: Visit) -> LiveTag:
    """What the list says it shows: which run is the newest. Its rows are watched one by one."""
    project = visit.project
    newest = reads_runs.newest_position(project)
    return LiveTag("runs", project.key, "", project.epoch, newest, project.words_version, True)


def read_parts(visit: Visit, slugs: Collection[str]) -> tuple[LiveTag, list[Fragment]]:
    """The rows of these runs as they stand now, and the mark that tells whether there are newer ones."""
    tag = live_tag(visit)
    parts = [fragment("runs-newest", "runs/parts/newest.html", {"position": tag.version})]
    for line in reads_runs.lines_of(visit.project, slugs):
        more = _operator_row(visit, line) if visit.audience.operates else None
        context = {
            "run": more.run if more else _row(visit, line),
            "more": more,
            "zone": visit.project.time_zone,
        }
        parts.append(fragment(f"run-{line.slug}", "runs/parts/row.html", context))
    return tag, parts


def _page(visit: Visit, wanted: RunFilter, query: QueryDict) -> tuple[tuple[RunLine, ...], Paging]:
    """The lines and where they go on. One line more than shown is read: it tells whether there are more."""
    before, after = read_cursor(query.get("before", "")), read_cursor(query.get("after", ""))
    top = before is None
    if before is None and after is not None:
        lines = reads_runs.page_after(visit.project, wanted, after, PAGE_SIZE + 1)
        top, lines = len(lines) <= PAGE_SIZE, lines[-PAGE_SIZE:]
        # A page that reaches the newest is filled up from the top, so that it is as long as the others.
        if top:
            lines = reads_runs.page_before(visit.project, wanted, None, PAGE_SIZE + 1)
        older = True if not top else len(lines) > PAGE_SIZE
    else:
        lines = reads_runs.page_before(visit.project, wanted, before, PAGE_SIZE + 1)
        older = len(lines) > PAGE_SIZE
    lines = lines[:PAGE_SIZE]
    newest = lines[0].position if lines else 0
    return lines, Paging(
        newest_href="" if top else _href(visit, wanted),
        newer_href="" if top or not lines else _href(visit, wanted, after=cursor(newest)),
        older_href=_href(visit, wanted, before=cursor(lines[-1].position)) if older and lines else "",
        new_href=_href(visit, wanted, "runs-new", after=cursor(newest)) if top else "",
    )


def _href(visit: Visit, wanted: RunFilter, name: str = "runs", **cursors: str) -> str:
    pairs = {**settled(wanted, visit.project.time_zone), **cursors}
    address = reverse(name, args=[visit.project.key])
    return f"{address}?{urlencode(pairs)}" if pairs else address


def cursor(position: int) -> str:
    return f"{position:x}"


def read_cursor(text: str) -> int | None:
    """The position of a cursor; None for what is no cursor, which then says nothing."""
    try:
        return int(text, 16) if text.isalnum() and len(text) <= 15 else None
    except ValueError:
        return None


def _row(visit: Visit, line: RunLine) -> RunRow:
    ending = Ending.known(line.ending) or Ending.UNKNOWN
    if line.answers == 0 and line.finished:
        ending = Ending.UNKNOWN  # a bare model call: no turn, so no word on how one ended
    return RunRow(
        slug=line.slug,
        href=reverse("run", args=[visit.project.key, line.slug]),
        title=first_line(line.question),
        asked=line.asked,
        ending=ending,
        answers=line.answers,
        worked=line.worked,
        failed=line.failed,
        never_ran=line.never_ran,
        still_open=line.still_open,
        record=_record(line),
        retry=line.retry,
        opened_ms=line.opened_ms,
        duration_ms=span_ms(line.opened_clock_ms, line.last_clock_ms),
    )


def _operator_row(visit: Visit, line: RunLine) -> OperatorRunRow:
    reasons = (NarrowSkip.known(word) for word in line.skipped.split(","))
    return OperatorRunRow(
        run=_row(visit, line),
        agent=line.agent,
        missed=line.missed,
        violations=line.violations,
        skipped=tuple(reason for reason in reasons if reason is not None),
    )


def _record(line: RunLine) -> Record:
    """Complete is said only when every answer's ledger is."""
    if line.incomplete:
        return Record.INCOMPLETE
    if not line.answers:
        return Record.NONE
    return Record.COMPLETE if line.complete == line.answers else Record.NOT_FINAL


urlpatterns = [
    path("", project, name="project"),
    path("runs/", runs, name="runs"),
    path("runs/new/", new_runs, name="runs-new"),
]
