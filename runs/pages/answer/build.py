"""From an address to a page: reads the rows once, in a constant number of queries, and builds for one audience.

Plain pages, fragments and live pages all come through here.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from runs.store import reads_answer as reads
from runs.store.people import ProjectRow
from runs.store.second_readings import of_answer
from runs.store.words import read_words

from .operator import MODEL_CALLS_DRAWN, Behind, event_list, model_calls, operator_answer
from .reader import Asked, Material, reader_answer
from .second import SHOWN
from .shapes import EventList, ModelCall, OperatorAnswer, ReaderAnswer

__all__ = [
    "Asked",
    "ChoicesPage",
    "EventsPage",
    "Page",
    "behind_of",
    "build",
    "choices_of",
    "events_of",
    "gather",
    "page_of",
]


@dataclass(frozen=True, slots=True)
class Page:
    """What the templates get: the reader's page always, what lies behind it for operators only."""

    seen: ReaderAnswer
    behind: OperatorAnswer | None


@dataclass(frozen=True, slots=True)
class EventsPage:
    """The events of an answer as kept, for operators."""

    title: str
    answer_href: str
    events: EventList
    first: bool


@dataclass(frozen=True, slots=True)
class ChoicesPage:
    """Further model calls of an answer, for operators: named as on the page of the answer, and printed by its parts."""

    answer_href: str
    model_calls: tuple[ModelCall, ...]
    model_calls_left: str
    model_calls_href: str


def build(
    project: ProjectRow, slug: str, operates: bool, asked: Asked | None = None, after: int = 0
) -> Page | None:
    """The page of one audience; None when there is no such answer. `after`: the calls after this place."""
    material = gather(project, slug, asked or Asked(), after=after)
    return None if material is None else page_of(material, operates)


def page_of(material: Material, operates: bool, *, followed: bool = False) -> Page:
    if not operates:
        return Page(reader_answer(material), None)
    behind = operator_answer(material, behind_of(material), followed=followed)
    return Page(behind.seen, behind)


def gather(
    project: ProjectRow,
    slug: str,
    asked: Asked,
    *,
    after: int = 0,
    limit: int = reads.CALLS_A_SCREEN,
    with_calls: bool = True,
) -> Material | None:
    """The rows of the page. Without its calls (a live page has them already) everything else is the same."""
    answer = reads.find_answer(project.id, slug)
    if answer is None:
        return None
    at = (answer.answer_at or answer.version) if asked.words_then else None
    groups = reads.call_groups(answer.id)
    calls: list[reads.CallRow] = []
    more = sum(group.count for group in groups) > limit
    if with_calls:
        calls, more = reads.calls(answer.id, after=after, only=asked.only, limit=limit)
    return Material(
        project=project,
        answer=answer,
        words=read_words(project.id, answer.epoch, at),
        said=reads.said(answer),
        groups=groups,
        calls=calls,
        more_calls=more,
        choices=reads.choice_rows(answer.id),
        violations=reads.violation_counts(answer.id),
        asked=asked,
    )


def behind_of(material: Material) -> Behind:
    answer = material.answer
    legs = reads.legs(answer.id)
    spawns = reads.spawns(answer.id)
    return Behind(
        legs=legs,
        messages=reads.classifier_messages(answer.project_id, material.choices),
        spawns=spawns,
        rosters=reads.rosters(spawns),
        children=reads.child_runs(answer.project_id, answer.epoch, spawns),
        violations=reads.violations(answer.id),
        host=reads.host_check(answer, legs),
        model_events=reads.model_calls(answer, legs, MODEL_CALLS_DRAWN),
        # An answer with rows of its own has none.
        second=[] if answer.choice_rows else of_answer(answer.project_id, answer.slug, SHOWN),
    )


def choices_of(project: ProjectRow, slug: str, after: int) -> ChoicesPage | None:
    """The model calls after place `after`; None when there is no such answer."""
    material = gather(project, slug, Asked(), with_calls=False)
    if material is None:
        return None
    messages = reads.classifier_messages(project.id, material.choices)
    behind = Behind(reads.legs(material.answer.id), messages, [], {}, {}, [], None, [])
    shown = model_calls(material, behind, after=after)
    return ChoicesPage(
        answer_href=reverse("answer", args=[project.key, slug]),
        model_calls=shown.calls,
        model_calls_left=shown.left,
        model_calls_href=shown.more_href,
    )


def events_of(project: ProjectRow, slug: str, after: int) -> EventsPage | None:
    """The events as kept after a position; None when there is no such answer."""
    answer = reads.find_answer(project.id, slug)
    if answer is None:
        return None
    rows, more = reads.events(answer, reads.legs(answer.id), after)
    return EventsPage(
        title="Events as kept",
        answer_href=reverse("answer", args=[project.key, slug]),
        events=event_list(project.key, slug, rows, more),
        first=after == 0,
    )
