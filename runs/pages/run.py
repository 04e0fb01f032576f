"""One run: how it stands, its answers in order; for operators also what it spawned and its timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse

from runs.pages.access import Visit, project_page
from runs.pages.answer.now import Now, OperatorNow, now_of
from runs.pages.fragments import Fragment, LiveTag, fragment
from runs.pages.frame import show
from runs.pages.lines import Record, first_line, span_ms
from runs.pages.run_operator import Behind, behind_of
from runs.rules import words, zones
from runs.rules.vocabulary import Ending, StopReason
from runs.store import reads_run
from runs.store.reads_run import AnswerLine, LegLine


@dataclass(frozen=True, slots=True)
class LegRow:
    """The run went on: a further leg of an answer, after the reply it had waited for."""

    number: int
    begun_ms: int
    waited_ms: int | None


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer of the run, for every reader. `label`: ``Part 2`` or ``Turn 2``; empty where it is the only one."""

    slug: str
    href: str
    version: int
    label: str
    title: str
    asked: bool
    ending: Ending
    stands: str
    record: Record
    late: bool
    worked: int
    failed: int
    never_ran: int
    still_open: int
    opened_ms: int
    duration_ms: int | None
    legs: tuple[LegRow, ...]


@dataclass(frozen=True, slots=True)
class ReaderRunPage:
    slug: str
    href: str
    version: int
    title: str
    asked: bool
    ending: Ending
    stands: str
    opened_ms: int
    last_ms: int
    duration_ms: int | None
    answers: tuple[AnswerRow, ...]
    more_answers: int  # beyond those listed
    parts: bool  # agents inside a composition, not turns
    helpers: str
    undeclared: int
    retry_href: str
    session_href: str
    late: int
    gap: bool
    following: bool  # something may still come
    live: LiveTag
    now: Now | None  # the latest calls, while something may still come
    for_operators: bool = False


@dataclass(frozen=True, slots=True)
class OperatorRunPage:
    """The reader's page, and what lies behind it."""

    run: ReaderRunPage
    behind: Behind
    now: OperatorNow | None
    for_operators: bool = True


@project_page
def run(request: HttpRequest, visit: Visit, slug: str) -> HttpResponse:
    found = reads_run.find_run(visit.project, slug)
    if found is None:
        raise Http404
    if (
        found.leg_of is not None
    ):  # a leg has no page of its own: it is told where the answer it continues is told
        whole = reads_run.slug_of_answers_run(found.leg_of)
        if whole is None:
            raise Http404
        return redirect("run", key=visit.project.key, slug=whole)
    return show(request, visit, "run/run.html", build(visit, found), here="runs")


def build(
    visit: Visit, found: reads_run.Run, *, with_latest: bool = False
) -> ReaderRunPage | OperatorRunPage:
    """`with_latest`: the latest calls also of a run that has ended, for those who have watched it."""
    answers = reads_run.answers(visit.project, found)
    legs = reads_run.further_legs(found)
    following = bool(answers) and not _ending(found.ending).ended
    shows_latest = following or (with_latest and bool(answers))
    behind_now = now_of(visit.project, answers[-1].slug) if shows_latest else None
    page = _reader_page(visit, found, answers, legs, None if behind_now is None else behind_now.seen)
    if not visit.audience.operates:
        return page
    return OperatorRunPage(page, behind_of(visit.project, found, answers, legs), behind_now)


def _reader_page(
    visit: Visit,
    found: reads_run.Run,
    answers: tuple[AnswerLine, ...],
    legs: tuple[LegLine, ...],
    now: Now | None,
) -> ReaderRunPage:
    key, zone = visit.project.key, visit.project.time_zone
    last = answers[-1] if answers else None
    ending = Ending.UNKNOWN if last is None and found.finished else _ending(found.ending)
    parts = bool(found.composition) or len({answer.path for answer in answers}) > 1
    first = answers[0] if answers else None
    retry = reads_run.slug_of(found.retry_of) if found.retry_of is not None else None
    session = f"{reverse('runs', args=[key])}?{urlencode({'session': found.session_slug})}"
    of_answer: dict[int, list[LegLine]] = {}
    for leg in legs:
        of_answer.setdefault(leg.answer_id, []).append(leg)
    ends = [found.last_clock_ms, *(leg.last_clock_ms for leg in legs)]
    known_ends = [end for end in ends if end is not None]
    return ReaderRunPage(
        slug=found.slug,
        href=reverse("run", args=[key, found.slug]),
        version=found.version,
        title=first_line(first.question) if first else "",
        asked=first is not None and first.question_at is not None,
        ending=ending,
        stands=words.no_answer_in_run()
        if last is None and found.finished
        else _stands(ending, last, found.last_ms, zone),
        opened_ms=found.opened_ms,
        last_ms=max([found.last_ms, *(leg.last_ms for leg in legs)]),
        duration_ms=span_ms(found.opened_clock_ms, max(known_ends) if known_ends else None),
        answers=tuple(
            _answer_row(visit, line, len(answers), parts, _leg_rows(found, of_answer.get(line.id, ())))
            for line in answers
        ),
        more_answers=max(0, found.answers - len(answers)),
        parts=parts,
        helpers=words.helpers(spawned) if (spawned := sum(line.spawns for line in answers)) else "",
        undeclared=sum(line.violations for line in answers),
        retry_href=reverse("run", args=[key, retry]) if retry else "",
        session_href=session if found.session_slug else "",
        late=found.late,
        gap=found.gap,
        following=not ending.ended,
        live=LiveTag(
            page="run",
            project=key,
            slug=found.slug,
            epoch=found.epoch,
            version=max([found.version, *(line.version for line in answers)]),
            words=visit.project.words_version,
            following=not ending.ended,
        ),
        now=now,
    )


def _answer_row(
    visit: Visit, line: AnswerLine, count: int, parts: bool, legs: tuple[LegRow, ...]
) -> AnswerRow:
    ending = _ending(line.ending)
    label = words.capital(words.part(line.number)) if parts else f"Turn {line.number}"
    return AnswerRow(
        slug=line.slug,
        href=reverse("answer", args=[visit.project.key, line.slug]),
        version=line.version,
        label=label if count > 1 else "",
        title=first_line(line.question),
        asked=line.question_at is not None,
        ending=ending,
        stands=_stands(ending, line, line.last_ms, visit.project.time_zone),
        record=_record(line, ending),
        late=line.late,
        worked=line.worked,
        failed=line.failed,
        never_ran=line.never_ran,
        still_open=line.open,
        opened_ms=line.opened_ms,
        duration_ms=line.duration_ms
        if line.legs == 1
        else span_ms(line.opened_clock_ms, line.ended_clock_ms),
        legs=legs,
    )


def _leg_rows(found: reads_run.Run, legs: Sequence[LegLine]) -> tuple[LegRow, ...]:
    """The further legs of one answer, each with the wait before it on the sender's clock."""
    rows = []
    before_ms = found.last_clock_ms
    for leg in legs:
        rows.append(LegRow(leg.number, leg.begun_ms, span_ms(before_ms, leg.begun_clock_ms)))
        before_ms = leg.last_clock_ms
    return tuple(rows)


def _ending(word: str) -> Ending:
    return Ending.known(word) or Ending.UNKNOWN


def _stands(ending: Ending, line: AnswerLine | None, last_ms: int, zone: str) -> str:
    reason = StopReason.read(line.stop_reason) if line is not None and line.stop_reason else None
    since = zones.moment(last_ms, zone)
    clock = words.UNKNOWN if since is None else f"{since:%H:%M}"
    return words.how_it_ended(ending, since=clock, stopped_reason=reason)


def _record(line: AnswerLine, ending: Ending) -> Record:
    if line.complete:
        return Record.COMPLETE
    return Record.INCOMPLETE if ending.ended else Record.NOT_FINAL


PARTS = {"run-head": "head", "run-now": "now", "run-answers": "answers"}
PARTS_FOR_OPERATORS = {"run-spawns": "spawns", "run-facts": "facts"}
DEAR = {"run-timeline": "timeline"}


def read_parts(
    visit: Visit, slug: str, *, dear: bool, with_latest: bool = False
) -> tuple[ReaderRunPage, list[Fragment]] | None:
    """The page piece by piece, for pages that follow it; None where it is gone. `dear`: also the plot."""
    found = reads_run.find_run(visit.project, slug)
    if found is None or found.leg_of is not None:
        return None
    page = build(visit, found, with_latest=with_latest)
    seen, behind = (page.run, page) if isinstance(page, OperatorRunPage) else (page, None)
    context = {"run": seen, "zone": visit.project.time_zone}
    if behind is not None:
        context |= {"behind": behind.behind, "behind_now": behind.now}
    wanted = (
        PARTS
        | (PARTS_FOR_OPERATORS if behind is not None else {})
        | (DEAR if behind is not None and dear else {})
    )
    return seen, [fragment(id, f"run/parts/{name}.html", context) for id, name in wanted.items()]


urlpatterns = [path("runs/<str:slug>/", run, name="run")]
