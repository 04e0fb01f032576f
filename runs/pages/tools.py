"""Tools: each tool that was seen, the app's words for it, and the form in which an admin sets them.

Operators read, admins edit: in place with htmx, or on the tool's own page without JavaScript. Tools are named in the
query, never in the path: a registered name may hold anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.views.decorators.http import require_GET, require_http_methods

from runs.announce import Changed, ring_from_sync
from runs.pages.access import Audience, Visit, project_page
from runs.pages.addresses import answer_href
from runs.pages.frame import show, show_part
from runs.rules import words as say
from runs.rules.display_name import MAX_DISPLAY_NAME_CHARS
from runs.rules.vocabulary import Ending, Outcome
from runs.store import names, reads_tools
from runs.store.reads_tools import SeenTool, UsedIn
from runs.store.words import ToolWords, Words, WordsFrom, read_words

ROWS_A_SCREEN: Final = 200


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool, for operators: `name` is its registered name, `words` the app's own."""

    anchor: str
    name: str
    words: str | None
    source: str
    problem: str | None
    shares: tuple[str, ...]  # registered names of other tools that read the same
    calls: int
    unnamed: int  # calls that were counted as "other call" for want of words
    last_ms: int | None
    href: str
    may_edit: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """The sentence above the list."""

    tools: int
    without_words: int
    unnamed_calls: int
    swapped: bool = False  # sent beside a saved row: replaces the one on the page


@dataclass(frozen=True, slots=True)
class ToolsPage:
    rows: tuple[ToolRow, ...]
    tally: Tally
    may_edit: bool
    first_href: str
    more_href: str


@dataclass(frozen=True, slots=True)
class SavedRow:
    """What a saved name changes on the list: its row, and the rows that share (or shared) its words."""

    row: ToolRow
    others: tuple[ToolRow, ...]
    tally: Tally


@dataclass(frozen=True, slots=True)
class PreviewAnswer:
    """What a recent answer says now, and what it would say."""

    href: str
    opened_ms: int
    now: tuple[str, ...]
    then: tuple[str, ...]

    @property
    def differs(self) -> bool:
        return self.now != self.then


@dataclass(frozen=True, slots=True)
class Preview:
    problem: str | None
    answers: tuple[PreviewAnswer, ...]
    would_read: str | None  # the words a call would have; None: it would be counted
    shares: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HistoryLine:
    words: str | None
    by: str | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class ToolPage:
    row: ToolRow
    declared: str | None  # what clearing falls back to
    declared_problem: str | None
    value: str  # in the field
    preview: Preview | None
    history: tuple[HistoryLine, ...]
    back_href: str
    preview_href: str
    max_chars: int = field(default=MAX_DISPLAY_NAME_CHARS)


@require_GET
@project_page(at_least=Audience.OPERATOR)
def tools(request: HttpRequest, visit: Visit) -> HttpResponse:
    return show(
        request, visit, "tools/tools.html", _page(visit, _place(request.GET.get("after", ""))), here="tools"
    )


@require_http_methods(["GET", "POST"])
@project_page(at_least=Audience.OPERATOR)
def tool(request: HttpRequest, visit: Visit) -> HttpResponse:
    """One tool: its words, their history and, for admins, the form.

    htmx asks for the form as a row of the list, and with `?row` for the row as it was.
    """
    words = read_words(visit.project.id, visit.project.epoch)
    row = _row_named(visit, words, request.GET.get("tool", ""))
    if request.method == "POST":
        return _save(request, visit, row, words)
    if request.htmx and "row" in request.GET:
        return show_part(request, visit, "tools/parts/row_again.html", row)
    page = _tool_page(visit, words, row, request.GET.get("words"))
    if request.htmx and row.may_edit:
        return show_part(request, visit, "tools/parts/row_form.html", page)
    return show(request, visit, "tools/tool.html", page, here="tools")


@require_GET
@project_page(at_least=Audience.ADMIN)
def preview(request: HttpRequest, visit: Visit) -> HttpResponse:
    """What recent answers would say with these words. Saves nothing."""
    words = read_words(visit.project.id, visit.project.epoch)
    row = _row_named(visit, words, request.GET.get("tool", ""))
    found = _preview(visit, words, row.name, request.GET.get("words", ""))
    return show_part(request, visit, "tools/parts/preview.html", found)


def _save(request: HttpRequest, visit: Visit, row: ToolRow, words: Words) -> HttpResponse:
    if not visit.audience.administers:
        raise Http404
    text = request.POST.get("words", "")
    problem = names.set_display_name(visit.project.id, row.name, text, visit.user)
    if problem is not None:
        page = replace(_tool_page(visit, words, row, text), preview=Preview(problem, (), None, ()))
        if request.htmx:
            return show_part(request, visit, "tools/parts/row_form.html", page)
        return show(request, visit, "tools/tool.html", page, here="tools", status=422)
    ring_from_sync(Changed(visit.project.id, visit.project.epoch, 0, words=True))
    if not request.htmx:
        return redirect(row.href)
    new_words, listed = _listed(visit)
    changed = {row.name, *words.sharing(row.name), *new_words.sharing(row.name)}
    rows = {tool.name: _row(visit, new_words, tool) for tool in listed if tool.name in changed}
    saved = SavedRow(rows.pop(row.name), tuple(rows.values()), _tally(new_words, listed, swapped=True))
    return show_part(request, visit, "tools/parts/saved.html", saved)


def _listed(visit: Visit) -> tuple[Words, list[SeenTool]]:
    """Every tool, the most needed first: what has no words by its calls, then the rest by theirs."""
    project = visit.project
    words = read_words(project.id, project.epoch)
    listed = reads_tools.seen_tools(project.id, project.epoch)
    seen = {tool.name for tool in listed}
    listed += [SeenTool(name, 0, 0) for name in words.by_tool if name not in seen]

    def need(tool: SeenTool) -> tuple[object, ...]:
        told = words.of(tool.name)
        return (-_unnamed(told, tool), told.problem is None, told.text is not None, -tool.calls, tool.name)

    return words, sorted(listed, key=need)


def _unnamed(told: ToolWords, tool: SeenTool) -> int:
    return tool.calls if told.text is None else 0


def _row(visit: Visit, words: Words, tool: SeenTool) -> ToolRow:
    told = words.of(tool.name)
    return ToolRow(
        anchor="tool-" + blake2b(tool.name.encode(), digest_size=8).hexdigest(),
        name=tool.name,
        words=told.text,
        source=told.source.value,
        problem=told.problem,
        shares=words.sharing(tool.name),
        calls=tool.calls,
        unnamed=_unnamed(told, tool),
        last_ms=tool.last_ms or None,
        href=reverse("tool", args=[visit.project.key]) + "?" + urlencode({"tool": tool.name}),
        may_edit=visit.audience.administers,
    )


def _row_named(visit: Visit, words: Words, name: str) -> ToolRow:
    seen = reads_tools.seen_tool(visit.project.id, visit.project.epoch, name)
    if seen is None and name not in words.by_tool:
        raise Http404
    return _row(visit, words, seen or SeenTool(name, 0, 0))


def _page(visit: Visit, after: int) -> ToolsPage:
    words, listed = _listed(visit)
    here, end = reverse("tools", args=[visit.project.key]), after + ROWS_A_SCREEN
    return ToolsPage(
        rows=tuple(_row(visit, words, tool) for tool in listed[after:end]),
        tally=_tally(words, listed),
        may_edit=visit.audience.administers,
        first_href=here if after else "",
        more_href=f"{here}?{urlencode({'after': end})}" if end < len(listed) else "",
    )


def _tally(words: Words, listed: list[SeenTool], swapped: bool = False) -> Tally:
    without = [tool for tool in listed if words.display_name_of(tool.name) is None]
    return Tally(len(listed), len(without), sum(tool.calls for tool in without), swapped)


def _place(text: str) -> int:
    """How many rows were on the screens before; anything that is not a number is the beginning."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _tool_page(visit: Visit, words: Words, row: ToolRow, value: str | None) -> ToolPage:
    """`value` is what stands in the field; None: what was set here."""
    told = words.of(row.name)
    if value is None:
        value = (told.text or "") if told.source is WordsFrom.SET_HERE else ""
    key = visit.project.key
    return ToolPage(
        row=row,
        declared=told.declared,
        declared_problem=told.declared_problem,
        value=value,
        preview=_preview(visit, words, row.name, value) if row.may_edit else None,
        history=tuple(
            HistoryLine(line.text, line.by, int(line.at.timestamp() * 1000))
            for line in names.name_history(visit.project.id, row.name)
        ),
        back_href=reverse("tools", args=[key]),
        preview_href=reverse("tool-preview", args=[key]),
    )


def _preview(visit: Visit, words: Words, name: str, text: str) -> Preview:
    then = words.with_name(name, text)
    told = then.of(name)
    refused = told.problem if text.strip() else None
    used_in = reads_tools.recent_answers_using(visit.project.id, visit.project.epoch, name)
    return Preview(
        problem=refused,
        answers=tuple(
            PreviewAnswer(
                href=answer_href(visit.project.key, used.slug),
                opened_ms=used.opened_ms,
                now=_sentences(used, words),
                then=_sentences(used, then),
            )
            for used in used_in
        )
        if refused is None
        else (),
        would_read=told.text,
        shares=then.sharing(name),
    )


def _sentences(used: UsedIn, words: Words) -> tuple[str, ...]:
    """What the answer page says it rests on, with these words."""
    by_outcome: dict[Outcome, list[str | None]] = {outcome: [] for outcome in Outcome}
    for called, outcome in used.calls:
        by_outcome[Outcome.known(outcome) or Outcome.OPEN].append(words.display_name_of(called))
    told = say.rests_on(
        by_outcome[Outcome.OK],
        by_outcome[Outcome.ERROR],
        by_outcome[Outcome.NOT_RUN],
        by_outcome[Outcome.OPEN],
        ending=Ending.known(used.ending) or Ending.UNKNOWN,
        incomplete=not used.complete,
    )
    return tuple(sentence.text for sentence in told)


urlpatterns = [
    path("", tools, name="tools"),
    path("one/", tool, name="tool"),
    path("preview/", preview, name="tool-preview"),
]
