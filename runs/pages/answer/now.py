"""The answer a running agent is at work on, in short: what the page of a run shows while it is followed."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from runs.store import reads_answer as reads
from runs.store.people import ProjectRow

from .build import Asked, behind_of, gather
from .choices import model_call, steps
from .operator import operator_calls
from .reader import reader_answer
from .shapes import ModelCall, OperatorCall, SeenCall

LATEST_CALLS = 8


@dataclass(frozen=True, slots=True)
class Now:
    """For every reader: the latest calls, oldest first, and what the answer rests on so far."""

    href: str
    rests_on: str
    calls: tuple[SeenCall, ...]


@dataclass(frozen=True, slots=True)
class OperatorNow:
    seen: Now
    calls: tuple[OperatorCall, ...]
    step: ModelCall | None


def now_of(project: ProjectRow, slug: str) -> OperatorNow | None:
    """Both audiences' at once; a reader's page takes `seen` alone."""
    material = gather(project, slug, Asked(), with_calls=False)
    if material is None:
        return None
    answer = material.answer
    behind = behind_of(material)
    calls = operator_calls(reads.latest_calls(answer.id, LATEST_CALLS), material, behind.legs)
    found = steps(reads.latest_choice_rows(answer.id, 4))
    seen = Now(
        href=reverse("answer", args=[project.key, answer.slug]),
        rests_on=" ".join(ground.sentence for ground in reader_answer(material).rests_on),
        calls=tuple(call.seen for call in calls),
    )
    return OperatorNow(seen, tuple(calls), model_call(found[-1], 1, material.words, "") if found else None)
