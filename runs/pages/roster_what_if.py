"""What if another roster: a proposal judged by the spawns on record, and the tightest roster that covers them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods

from runs.pages.access import Audience, Visit, project_page
from runs.pages.addresses import answer_href
from runs.pages.frame import show
from runs.rules.roster import ExtraToolDeclaration, ExtraToolNamesError, read_extra_tool_names
from runs.rules.roster_what_if import as_json, tight_roster, what_if_roster
from runs.rules.vocabulary import RosterReason
from runs.store import reads_rosters

LONGEST: Final = 65_536  # characters of a pasted roster
LISTED: Final = 50  # spawns that would have been refused


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A spawn that would have been refused, and why: the first problem of its products."""

    received_ms: int
    href: str | None  # None: it fits no answer
    reason: RosterReason
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    refused: int
    lines: tuple[RefusedLine, ...]
    slack: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RosterWhatIfPage:
    tool: str
    spawns: int
    of: int  # all of them; `spawns` are the newest
    proposed: str  # as typed, or to begin with
    problem: str
    judged: Judged | None
    declared: str  # the latest roster as JSON, empty where there is none
    tight: str
    back_href: str


@require_http_methods(["GET", "POST"])
@project_page(at_least=Audience.OPERATOR)
def roster_what_if(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Changes nothing: a form is sent because a roster is too long for an address."""
    typed = request.POST.get("roster", "") if request.method == "POST" else None
    page = build(visit, request.GET.get("tool", ""), typed)
    if page is None:
        raise Http404
    return show(
        request, visit, "rosters/what_if.html", page, here="rosters", status=422 if page.problem else 200
    )


def build(visit: Visit, tool: str, typed: str | None) -> RosterWhatIfPage | None:
    """None for a delegation tool that is not on record."""
    of = (visit.project.id, visit.project.epoch)
    declared = next((one for one in reads_rosters.latest_rosters(*of) if one.tool == tool), None)
    spawns = [spawn for spawn in reads_rosters.newest_delegations(*of) if spawn.tool == tool]
    if declared is None and not spawns:
        return None
    entries = declared.entries if declared is not None else None
    roster, problem = (entries, "") if typed is None else read_typed(typed)
    judged = None
    if roster is not None:
        found = what_if_roster(roster, [spawn.products for spawn in spawns], tool)
        judged = Judged(
            refused=len(found.refused),
            lines=tuple(
                RefusedLine(
                    spawns[one.place].received_ms,
                    None
                    if (slug := spawns[one.place].answer) is None
                    else answer_href(visit.project.key, slug),
                    one.problems[0].reason,
                    tuple(problem.sentence for problem in one.problems),
                )
                for one in found.refused[:LISTED]
            ),
            slack=tuple(entry.name for entry in found.slack),
        )
    current = "" if entries is None else _pretty(entries)
    return RosterWhatIfPage(
        tool=tool,
        spawns=len(spawns),
        of=reads_rosters.count_delegations(*of).get(tool, 0),
        proposed=current if typed is None else typed,
        problem=problem,
        judged=judged,
        declared=current,
        tight=_pretty(tight_roster(product for spawn in spawns for product in spawn.products)),
        back_href=reverse("rosters", args=[visit.project.key]),
    )


def read_typed(text: str) -> tuple[tuple[ExtraToolDeclaration, ...] | None, str]:
    """A pasted roster, or what it lacks in one sentence."""
    if len(text) > LONGEST:
        return None, f"The roster must be at most {LONGEST} characters, and it has {len(text)}."
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None, 'The roster must be JSON, a list such as [{"name": "notes"}]; this is not JSON.'
    try:
        return read_extra_tool_names(value, has_factory=True), ""
    except ExtraToolNamesError as refused:
        return None, str(refused)


def _pretty(entries: tuple[ExtraToolDeclaration, ...]) -> str:
    """An entry a line: what people compare and copy."""
    lines = ",\n  ".join(json.dumps(one, ensure_ascii=False) for one in as_json(entries))
    return f"[\n  {lines}\n]" if entries else "[]"


def what_if_href(key: str, tool: str) -> str:
    return f"{reverse('roster-what-if', args=[key])}?{urlencode({'tool': tool})}"


urlpatterns = [
    path("what-if/", roster_what_if, name="roster-what-if"),
]
