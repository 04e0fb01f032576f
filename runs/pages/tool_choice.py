"""Tool choice: how a classifier's readings and the model's calls agree, and what serving the best N would have come to.

For operators: everything here is of the model's side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import path, reverse
from django.views.decorators.http import require_GET

from runs.pages.access import Audience, Visit, project_page
from runs.pages.addresses import answer_href
from runs.pages.frame import show
from runs.pages.run_filters import Option
from runs.rules import zones
from runs.rules.agreement import Bin, Share, Twins, calibration_gap, middle, twin_tools
from runs.rules.choice_replay import FLOORS, Shape, WhatIf, what_if
from runs.rules.vocabulary import NarrowSkip
from runs.store import reads_tool_choice as reads
from runs.store.reads_tool_choice import CallLine, ChoiceFilter, ToolChoice

FLOOR_PERCENTS: Final = (0, 50, 60, 70, 80, 90, 95)
SURE: Final = 0.8
"""From this confidence on a reading counts as sure: a reply that called nothing all the same is worth a look."""
MOST_TOPS: Final = 60
MOST_PAIRS: Final = 100
MOST_ALWAYS: Final = 50


@dataclass(frozen=True, slots=True)
class Plot:
    """What the script draws; the table beside it says the same. `data` is JSON for it: see static/js/plots.js."""

    name: str
    title: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StepLine:
    from_ms: int
    agreed: Share
    narrowed: int
    skipped: tuple[int, ...]  # in the order of `ToolChoicePage.reasons`
    not_asked: int


@dataclass(frozen=True, slots=True)
class ToolLine:
    name: str
    agreed: Share


@dataclass(frozen=True, slots=True)
class PairLine:
    """`None`: the reading named nothing, or the model called nothing."""

    chosen: str | None
    called: str | None
    calls: int


@dataclass(frozen=True, slots=True)
class CallRow:
    href: str
    iteration: int
    at_ms: int
    chosen: str | None
    called: str | None
    confidence: float | None


@dataclass(frozen=True, slots=True)
class TopLine:
    """What serving the best N would have come to."""

    at: WhatIf
    characters: int | None  # about; None: no description is on record
    answers: int
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class Replay:
    over: int
    not_replayable: int
    newest_only: bool
    tops: tuple[TopLine, ...]
    described: reads.Described | None
    top: int | None  # whose calls are listed
    lacking: tuple[CallRow, ...]
    older_href: str  # empty at the end of the list
    newest_href: str  # empty on its first screen


@dataclass(frozen=True, slots=True)
class Filters:
    since: str
    until: str
    agents: tuple[Option, ...]
    tools: tuple[Option, ...]
    floors: tuple[Option, ...]
    always: str
    narrow: bool


@dataclass(frozen=True, slots=True)
class ToolChoicePage:
    filters: Filters
    all_href: str
    counted: ToolChoice
    agreed: Share
    reasons: tuple[str, ...]
    steps: tuple[StepLine, ...]
    step: str
    tools: tuple[ToolLine, ...]
    pairs: tuple[PairLine, ...]
    pairs_left: int
    twins: tuple[Twins, ...]
    bins: tuple[Bin, ...]
    gap: float | None
    median_ms: int | None
    slow_ms: int | None
    missed: tuple[CallRow, ...]
    quiet: tuple[CallRow, ...]
    quiet_count: int
    missed_href: str
    sure_percent: int
    replay: Replay
    plots: Mapping[str, Plot]


@dataclass(frozen=True, slots=True)
class Asked:
    """The address, read: what is unknown or unreadable says nothing."""

    wanted: ChoiceFilter
    floor: int  # percent
    always: tuple[str, ...]
    top: int | None
    before: int | None = None  # the list of calls goes on before this one

    @property
    def twentieths(self) -> int:
        return self.floor * FLOORS // 100

    def address(self, visit: Visit, **more: object) -> str:
        zone, wanted = visit.project.time_zone, self.wanted
        said = {
            "since": zones.local_field(wanted.since_ms, zone),
            "until": zones.local_field(wanted.until_ms, zone),
            "agent": wanted.agent,
            "tool": wanted.tool,
            "floor": self.floor or "",
            "always": ", ".join(self.always),
            **more,
        }
        query = urlencode({name: value for name, value in said.items() if value})
        here = reverse("tool-choice", args=[visit.project.key])
        return f"{here}?{query}" if query else here


@require_GET
@project_page(at_least=Audience.OPERATOR)
def tool_choice(request: HttpRequest, visit: Visit) -> HttpResponse:
    return show(request, visit, "tool_choice/tool_choice.html", build(visit, request.GET), here="tool-choice")


def build(visit: Visit, query: QueryDict) -> ToolChoicePage:
    asked = read_query(query, visit.project.time_zone)
    of = (visit.project.id, visit.project.epoch)
    counted = reads.tool_choice(*of, asked.wanted)
    reasons = tuple(NarrowSkip)
    steps = tuple(
        StepLine(
            step.from_ms,
            Share(step.agreed, step.judged),
            step.came.get("narrowed", 0),
            tuple(step.came.get(reason.value, 0) for reason in reasons),
            step.came.get("", 0),
        )
        for step in counted.steps
    )
    bins = tuple(
        Bin(one.tenth / 10, (one.tenth + 1) / 10, one.confidence, Share(one.agreed, one.judged))
        for one in counted.bins
    )
    pairs = sorted(counted.pairs.items(), key=lambda pair: (-pair[1], pair[0][0] or "", pair[0][1] or ""))
    both = {(c, d): n for (c, d), n in counted.pairs.items() if c is not None and d is not None}
    quiet_count, quiet = reads.sure_without_call(*of, asked.wanted, SURE)
    replay = _replay(visit, asked, counted)
    return ToolChoicePage(
        filters=_filters(visit, asked, counted),
        all_href=reverse("tool-choice", args=[visit.project.key]),
        counted=counted,
        agreed=Share(counted.agreed, counted.judged),
        reasons=tuple(reason.word for reason in reasons),
        steps=steps,
        step=_STEP_WORDS.get(counted.step_ms, "stretch"),
        tools=tuple(
            ToolLine(name, Share(*said))
            for name, said in sorted(counted.agreed_of.items(), key=lambda item: (-item[1][1], item[0]))
        ),
        pairs=tuple(PairLine(chosen, called, n) for (chosen, called), n in pairs[:MOST_PAIRS]),
        pairs_left=max(0, len(pairs) - MOST_PAIRS),
        twins=tuple(twin_tools(both)[:20]),
        bins=bins,
        gap=calibration_gap(bins),
        median_ms=middle(counted.latencies, 0.5),
        slow_ms=middle(counted.latencies, 0.95),
        missed=_rows(visit, reads.missed(*of, asked.wanted)) if counted.missed else (),
        quiet=_rows(visit, quiet),
        quiet_count=quiet_count,
        missed_href=reverse("runs", args=[visit.project.key]) + "?missed=1",
        sure_percent=round(SURE * 100),
        replay=replay,
        plots=_plots(steps, bins, replay, reasons),
    )


_STEP_WORDS: Final = {
    reads.HOUR_MS: "hour",
    reads.DAY_MS: "day",
    7 * reads.DAY_MS: "week",
    28 * reads.DAY_MS: "four weeks",
}


def read_query(query: QueryDict, zone: str) -> Asked:
    wanted = ChoiceFilter(
        since_ms=zones.read_local(query.get("since", ""), zone),
        until_ms=zones.read_local(query.get("until", ""), zone),
        agent=_plain(query.get("agent", "")),
        tool=_plain(query.get("tool", "")),
    )
    floor, top = _number(query.get("floor", "")), _number(query.get("top", ""))
    names = [_plain(name.strip()) for name in query.get("always", "")[:10_000].split(",")]
    always = tuple(dict.fromkeys(name for name in names if name))[:MOST_ALWAYS]
    return Asked(
        wanted,
        floor if floor in FLOOR_PERCENTS else 0,
        always,
        top if 0 < (top or 0) <= MOST_TOPS else None,
        _number(query.get("before", ""), 18),
    )


def _filters(visit: Visit, asked: Asked, counted: ToolChoice) -> Filters:
    zone, wanted = visit.project.time_zone, asked.wanted
    agents = [*reads.agents(visit.project.id, visit.project.epoch), wanted.agent]
    tools = {name for pair in counted.pairs for name in pair if name} | {wanted.tool}
    return Filters(
        since=zones.local_field(wanted.since_ms, zone),
        until=zones.local_field(wanted.until_ms, zone),
        agents=_options(agents, wanted.agent),
        tools=_options(sorted(tools), wanted.tool),
        floors=tuple(
            Option(str(percent), f"{percent} %" if percent else "none", percent == asked.floor)
            for percent in FLOOR_PERCENTS
        ),
        always=", ".join(asked.always),
        narrow=asked != Asked(ChoiceFilter(), 0, (), asked.top, asked.before),
    )


def _options(names: Iterable[str], chosen: str) -> tuple[Option, ...]:
    return tuple(Option(name, name, name == chosen) for name in dict.fromkeys(names) if name)


def _replay(visit: Visit, asked: Asked, counted: ToolChoice) -> Replay:
    of = (visit.project.id, visit.project.epoch)
    shapes: Mapping[Shape, int] = counted.shapes
    with_always = None
    if asked.always:
        with_always = reads.replay_with(
            *of, asked.wanted, frozenset(asked.always), asked.twentieths, asked.top, asked.before
        )
        shapes = with_always.shapes
    most = min(MOST_TOPS, max((shape.narrows_to for shape in shapes), default=0))
    tops = list(range(1, most + 1))
    lacking: list[CallLine] = []
    if with_always is not None:
        answers, lacking = with_always.affected(tops), with_always.lacking
    else:
        answers = reads.affected_answers(*of, asked.wanted, tops, asked.twentieths)
        if asked.top is not None:
            lacking = reads.lacking(*of, asked.wanted, asked.top, asked.twentieths, asked.before)
    described = reads.described(visit.project.id)
    lines = tuple(
        TopLine(
            at,
            None if described is None else round(at.saved * described.characters),
            answers[at.top],
            asked.address(visit, top=at.top) + "#lacking",
            at.top == asked.top,
        )
        for at in what_if(shapes, tops, floor=asked.twentieths)
    )
    return Replay(
        over=sum(shapes.values()),
        not_replayable=counted.calls - counted.replayable,
        newest_only=bool(asked.always),
        tops=lines,
        described=described,
        top=asked.top,
        lacking=_rows(visit, lacking),
        older_href=_lacking_href(visit, asked, lacking[-1].id) if len(lacking) == reads.NEWEST else "",
        newest_href=_lacking_href(visit, asked) if asked.before is not None else "",
    )


def _lacking_href(visit: Visit, asked: Asked, before: int | None = None) -> str:
    return asked.address(visit, top=asked.top, before=before or "") + "#lacking"


def _rows(visit: Visit, lines: Iterable[CallLine]) -> tuple[CallRow, ...]:
    return tuple(
        CallRow(
            answer_href(visit.project.key, line.answer),
            line.iteration,
            line.at_ms,
            line.chosen,
            line.called,
            line.confidence,
        )
        for line in lines
    )


def _plots(
    steps: tuple[StepLine, ...], bins: tuple[Bin, ...], replay: Replay, reasons: tuple[NarrowSkip, ...]
) -> dict[str, Plot]:
    """Only where there are two points to draw a line between."""
    found: list[Plot] = []
    times = [step.from_ms // 1000 for step in steps]
    if len(steps) > 1:
        shares = [step.agreed for step in steps]
        agreed = {
            "x": times,
            "label": "from",
            "time": True,
            "percent": True,
            "series": [
                {
                    "label": "agreed",
                    "colour": "accent",
                    "values": [_percent(share.share) for share in shares],
                },
                {"label": "at least", "colour": "muted", "values": [_percent(share.low) for share in shares]},
                {"label": "at most", "colour": "muted", "values": [_percent(share.high) for share in shares]},
            ],
        }
        found.append(Plot("agreement", "First choice and first call agree, over time", agreed))
        colours = ("error", "muted", "not-run", "ok")
        came = [
            {"label": "narrowed", "colour": "accent", "values": [step.narrowed for step in steps]},
            *(
                {"label": reason.word, "colour": colour, "values": [step.skipped[place] for step in steps]}
                for place, (reason, colour) in enumerate(zip(reasons, colours, strict=True))
            ),
        ]
        found.append(
            Plot(
                "narrowing",
                "What narrowing came to, over time",
                {"x": times, "label": "from", "time": True, "series": came},
            )
        )
    judged = [one for one in bins if one.agreed.n]
    if len(judged) > 1:
        said = [_percent(one.confidence) for one in judged]
        calibration = {
            "x": said,
            "label": "confidence, %",
            "percent": True,
            "series": [
                {
                    "label": "agreed",
                    "colour": "accent",
                    "values": [_percent(one.agreed.share) for one in judged],
                },
                {"label": "as sure as it says", "colour": "muted", "values": said},
            ],
        }
        found.append(Plot("calibration", "Confidence against agreement", calibration))
    if len(replay.tops) > 1:
        tops = [line.at for line in replay.tops]
        saved = {
            "x": [at.top for at in tops],
            "label": "N",
            "percent": True,
            "series": [
                {"label": "tools saved", "colour": "ok", "values": [_percent(at.saved_share) for at in tops]},
                {
                    "label": "calls missed",
                    "colour": "error",
                    "values": [_percent(at.missed / at.calls if at.calls else None) for at in tops],
                },
            ],
        }
        found.append(Plot("what-if", "Tools saved and calls missed, for each N", saved))
    return {plot.name.replace("-", "_"): plot for plot in found}


def _percent(share: float | None) -> float | None:
    return None if share is None else round(share * 100, 2)


def _number(text: str, digits: int = 4) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def _plain(text: str) -> str:
    """A word out of an address: nothing a database refuses."""
    return text if len(text) <= 256 and "\x00" not in text else ""


urlpatterns = [
    path("", tool_choice, name="tool-choice"),
]
