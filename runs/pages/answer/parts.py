"""The answer page piece by piece, for pages that follow it. Printed by the same templates as the page.

Small parts stand once and are replaced; rows (calls, model calls) are added at the end or replaced in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runs.pages.fragments import Fragment, fragment
from runs.store import reads_answer as reads
from runs.store.people import ProjectRow

from .build import Asked, Page, behind_of, gather, page_of
from .operator import operator_calls
from .reader import ending_of, seen_call

SMALL = {
    "answer-question": "question",
    "answer-head": "head",
    "answer-said": "said",
    "rests-on": "rests_on",
    "cannot-know": "cannot_know",
    "answer-effects": "effects",
    "calls-count": "calls_count",
    "calls-empty": "calls_empty",
}
SMALL_FOR_OPERATORS = {
    "host-check": "host_check",
    "model-calls-left": "model_calls_left",
    "spawns": "spawns",
    "answer-facts": "facts",
}
MOST_ROWS = 1_000
"""More rows than this are not sent to one page at once: it loads itself anew instead."""


def _template(name: str) -> str:
    return f"answer/parts/{name}.html"


def small_parts(page: Page, zone: str, *, timeline: bool) -> list[Fragment]:
    """Every part that stands once, and the model calls; the plot only where `timeline` says so: it is the dear one."""
    context = _context(page, zone)
    parts = [fragment(id, _template(name), context) for id, name in SMALL.items()]
    if page.behind is None:
        return parts
    parts += [fragment(id, _template(name), context) for id, name in SMALL_FOR_OPERATORS.items()]
    parts += [
        fragment(
            f"model-call-{step.number}", _template("model_call"), {**context, "step": step}, "model-calls"
        )
        for step in page.behind.model_calls
    ]
    if timeline:
        parts.append(fragment("timeline", _template("timeline"), context))
    return parts


def read_small(
    project: ProjectRow, slug: str, operates: bool, *, timeline: bool
) -> tuple[Page, list[Fragment]] | None:
    """The answer as it stands now without its rows, and the parts it is shown by."""
    material = gather(project, slug, Asked(), with_calls=operates and timeline)
    if material is None:
        return None
    page = page_of(material, operates, followed=True)
    return page, small_parts(page, project.time_zone, timeline=timeline)


def read_rows(
    project: ProjectRow, slug: str, operates: bool, since: int
) -> list[tuple[int, Fragment]] | None:
    """The calls that changed after version `since`, each with its own version; None when they are too many."""
    material = gather(project, slug, Asked(), with_calls=False)
    if material is None:
        return None
    rows, more = reads.calls_changed(material.answer.id, since, MOST_ROWS)
    if more:
        return None
    if operates:
        calls = operator_calls(rows, material, behind_of(material).legs)
        contexts: Sequence[dict[str, Any]] = [{"call": call.seen, "more": call} for call in calls]
    else:
        ending = ending_of(material.answer)
        contexts = [{"call": seen_call(row, ending, material.words)} for row in rows]
    return [
        (
            row.version,
            fragment(
                f"call-{row.number}",
                _template("call"),
                {**context, "zone": project.time_zone},
                "call-rows",
            ),
        )
        for row, context in zip(rows, contexts, strict=True)
    ]


def read_whole(
    project: ProjectRow, slug: str, operates: bool, through: int
) -> tuple[Page, list[Fragment]] | None:
    """Everything, with the calls up to place `through` at least: after a rename, or on another epoch."""
    material = gather(project, slug, Asked(), limit=max(reads.CALLS_A_SCREEN, min(through, MOST_ROWS)))
    if material is None:
        return None
    page = page_of(material, operates, followed=True)
    context = _context(page, project.time_zone)
    whole = [
        fragment("call-rows", _template("call_list"), context),
        fragment("calls-more", _template("calls_next"), context),
        *small_parts(page, project.time_zone, timeline=True),
    ]
    return page, whole


def _context(page: Page, zone: str) -> dict[str, Any]:
    return {"seen": page.seen, "behind": page.behind, "zone": zone}
