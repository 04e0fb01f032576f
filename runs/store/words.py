"""The app's words for its tools, as they read now or as they read at an earlier position.

Every page reads a project's words here, so that a rename shows everywhere at once and nothing is refolded. For one
tool, the latest word decides, and it decides alone:

1. what an admin set here (`DisplayName`, the latest row), unless that row is empty: clearing falls back to 2;
2. what the app declared (`DeclaredName`, the latest row);
3. nothing: the tool's calls are counted, never named.

A word that is refused (by the rule, or because it is a registered name or alias of the project, also of a tool that
appeared only later) is left out with its problem, and never brings back the word it replaced: the app meant to change
that one, and may have had a reason to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from threading import Lock
from typing import Any

from django.db.models import Max, QuerySet

from runs.models import DeclaredName, DisplayName, Project, SeenName
from runs.rules.display_name import (
    display_name_problem,
    ecma_trim,
    name_equals_a_tool_problem,
    read_display_name,
)

LABEL = "The display name"

MOST_REMEMBERED = 16
"""The words of so many projects are kept by a process; 10,000 names are some 5 MB."""

_READ: dict[
    tuple[str, int, int], Words
] = {}  # the words of now, by the project's key, its epoch and their version
_LOCK = Lock()


class WordsFrom(StrEnum):
    """Where a tool's words (or the refused ones) came from."""

    SET_HERE = "set here"
    DECLARED = "declared by the app"
    NOWHERE = "not named"


@dataclass(frozen=True, slots=True)
class ToolWords:
    """One tool's words. `text` is None when there are none, or when `problem` says why they are left out.

    `declared` and `declared_problem` are what clearing the words set here would fall back to.
    """

    tool: str
    text: str | None = None
    source: WordsFrom = WordsFrom.NOWHERE
    problem: str | None = None
    declared: str | None = None
    declared_problem: str | None = None


@dataclass(frozen=True)
class Words:
    """A project's words at one `version`. `display_name_of` is what `rules.display_name.named_calls` asks.

    Shared by all pages of a process: never changed.
    """

    version: int
    by_tool: Mapping[str, ToolWords] = field(default_factory=dict)
    registered: frozenset[str] = frozenset()

    def display_name_of(self, tool: str | None) -> str | None:
        """The words for a call of `tool`, or None: then the call is counted. `tool` itself is never the answer."""
        words = None if tool is None else self.by_tool.get(tool)
        return None if words is None else words.text

    def of(self, tool: str) -> ToolWords:
        """Everything on record about the words of `tool`, also when there are none."""
        return self.by_tool.get(tool) or ToolWords(tool)

    def with_name(self, tool: str, text: str) -> Words:
        """These words as they would be if `text` were set here for `tool`: a preview, nothing is saved."""
        old = self.of(tool)
        new = _told(tool, text, (old.declared, old.declared_problem), self.registered)
        return Words(self.version, {**self.by_tool, tool: new}, self.registered)

    def sharing(self, tool: str) -> tuple[str, ...]:
        """The other tools that read exactly like `tool`, so that a sentence cannot tell them apart."""
        text = self.display_name_of(tool)
        if text is None:
            return ()
        return tuple(sorted(other for other in self._tools_of[text] if other != tool))

    @cached_property
    def _tools_of(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for tool, words in self.by_tool.items():
            if words.text is not None:
                found.setdefault(words.text, []).append(tool)
        return found


def read_words(project_id: int, epoch: int, at_position: int | None = None) -> Words:
    """A project's words now, or as they were when the event at `at_position` was taken in.

    Four queries; one where the process has read the words of now before: whatever changes them gives them a new version
    in the same transaction. A name that is refused today is refused at every position: what readers never see, they
    never see of the past.
    """
    # First, so that a change between the queries is newer than the version says, and the page reads once too often.
    key, version = Project.objects.values_list("key", "words_version").get(pk=project_id)
    if at_position is not None:
        return _read_words(project_id, epoch, version, at_position)
    now = (key, epoch, version)
    with _LOCK:
        words = _READ.pop(now, None)
        if words is not None:
            _READ[now] = words  # the latest read is the last to go
    if words is None:
        words = _read_words(project_id, epoch, version, None)
        with _LOCK:
            _READ[now] = words
            while len(_READ) > MOST_REMEMBERED:
                del _READ[next(iter(_READ))]
    return words


def _read_words(project_id: int, epoch: int, version: int, at_position: int | None) -> Words:
    registered = registered_names(project_id, epoch)
    declared = DeclaredName.objects.filter(project_id=project_id, epoch=epoch)
    set_here = DisplayName.objects.filter(project_id=project_id)
    if at_position is not None:
        declared = declared.filter(position__lte=at_position)
        # A name set here notes the last position taken in before it, so at that very position it was not yet there.
        set_here = set_here.filter(position__lt=at_position)
    fallbacks = {
        tool: _declared(text, problem, registered)
        for tool, text, problem in _latest(declared, "text", "problem")
    }
    chosen: dict[str, str] = {tool: text for tool, text in _latest(set_here, "text") if text}
    by_tool = {
        tool: _told(tool, chosen.get(tool, ""), fallbacks.get(tool, (None, None)), registered)
        for tool in (*fallbacks, *(tool for tool in chosen if tool not in fallbacks))
    }
    return Words(version, by_tool, registered)


def registered_names(project_id: int, epoch: int) -> frozenset[str]:
    """Every registered name and alias of the project, as written and as trimmed: no display name may equal one."""
    names = SeenName.objects.filter(project_id=project_id, epoch=epoch).values_list("name", flat=True)
    return _with_trimmed(names)


def name_problem(value: object, registered: frozenset[str]) -> str | None:
    """Why `value` may not be a tool's words in a project with these registered names, or None when it may."""
    problem = display_name_problem(LABEL, value)
    name = read_display_name(value)
    if problem is not None or name is None:
        return problem
    return name_equals_a_tool_problem(LABEL, name, registered)


def _told(
    tool: str, text: str, fallback: tuple[str | None, str | None], registered: frozenset[str]
) -> ToolWords:
    declared, declared_problem = fallback
    if not ecma_trim(text):
        source = WordsFrom.NOWHERE if declared is declared_problem is None else WordsFrom.DECLARED
        return ToolWords(tool, declared, source, declared_problem, declared, declared_problem)
    problem = name_problem(text, registered)
    name = read_display_name(text) if problem is None else None
    return ToolWords(tool, name, WordsFrom.SET_HERE, problem, declared, declared_problem)


def _declared(text: str, problem: str, registered: frozenset[str]) -> tuple[str | None, str | None]:
    """(words, problem) of a declaration. A refused one was kept without its text; an empty one says nothing."""
    if problem or not text:
        return None, problem or None
    refused = name_problem(text, registered)
    return (read_display_name(text), None) if refused is None else (None, refused)


def _latest(rows: QuerySet[DeclaredName] | QuerySet[DisplayName], *fields: str) -> Iterable[tuple[str, ...]]:
    """(tool, fields...) of each tool's latest row. Ids follow positions, and the order within one event."""
    latest: QuerySet[Any] = rows.order_by().values("tool").annotate(latest=Max("id")).values("latest")
    return rows.filter(id__in=latest).order_by("tool").values_list("tool", *fields)


def _with_trimmed(names: Iterable[str]) -> frozenset[str]:
    written = frozenset(names)
    return written | frozenset(map(ecma_trim, written))
