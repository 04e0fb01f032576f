"""Reads for the list of runs: one page of it by position, and how many came after it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, Q, Sum
from django.db.models.functions import Substr

from runs.models import Answer, Run, SeenName, Text
from runs.store.people import ProjectRow
from runs.store.run_search import RunFilter, run_ids

__all__ = ["RunFilter", "RunLine"]

LINE_CHARS: Final = 400
"""Of a question, as much is read for a list."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run as a list needs it. `position` orders the list, newest first, and never changes."""

    id: int
    slug: str
    position: int
    ending: str
    finished: bool
    answers: int
    incomplete: int
    late: int
    gap: bool
    retry: bool
    session_slug: str
    opened_ms: int
    last_ms: int
    opened_clock_ms: int | None
    last_clock_ms: int | None
    agent: str
    missed: int
    violations: int
    skipped: str
    complete: int  # answers whose ledger is complete
    worked: int
    failed: int
    never_ran: int
    still_open: int
    asked: bool  # a question is on record, whether its text was kept or not
    question: str | None  # the beginning of its text


_COLUMNS: Final = (
    "id", "slug", "first_position", "ending", "finished", "answers", "incomplete", "late", "gap", "retry_of",
    "session_slug", "opened_ms", "last_ms", "opened_clock_ms", "last_clock_ms", "agent", "missed", "violations",
    "skipped",
)  # fmt: skip


def page_before(
    project: ProjectRow, wanted: RunFilter, position: int | None, size: int
) -> tuple[RunLine, ...]:
    """At most `size` runs older than `position` (None: the newest), newest first."""
    return _lines_of_ids(project, run_ids(project, wanted, size, before=position))


def page_after(project: ProjectRow, wanted: RunFilter, position: int, size: int) -> tuple[RunLine, ...]:
    """At most `size` runs newer than `position`, those next to it, newest first."""
    return _lines_of_ids(project, run_ids(project, wanted, size, after=position))


def lines_of(project: ProjectRow, slugs: Collection[str]) -> tuple[RunLine, ...]:
    """The runs of these slugs that are there (still), in no order."""
    runs = Run.objects.filter(project_id=project.id, epoch=project.epoch, slug__in=slugs)
    return _lines(project, runs.values_list(*_COLUMNS))


def newest_position(project: ProjectRow) -> int:
    """Where the newest run of the project stands; 0 while there is none."""
    runs = Run.objects.filter(project_id=project.id, epoch=project.epoch, leg_of=None)
    return runs.order_by("-first_position").values_list("first_position", flat=True).first() or 0


def count_after(project: ProjectRow, wanted: RunFilter, position: int, most: int) -> int:
    """How many runs are newer than `position`, counted up to `most`."""
    return len(run_ids(project, wanted, most, after=position))


def tools_seen(project: ProjectRow, most: int = 500) -> tuple[str, ...]:
    """The registered names of the project's tools, for operators' filters."""
    seen = SeenName.objects.filter(project_id=project.id, epoch=project.epoch, tool=True)
    return tuple(seen.order_by("name").values_list("name", flat=True)[:most])


def _lines_of_ids(project: ProjectRow, ids: Sequence[int]) -> tuple[RunLine, ...]:
    runs = Run.objects.filter(id__in=ids).order_by("-first_position")
    return _lines(project, runs.values_list(*_COLUMNS))


def _lines(project: ProjectRow, rows: Iterable[tuple[Any, ...]]) -> tuple[RunLine, ...]:
    found: list[dict[str, Any]] = [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
    run_ids = [row["id"] for row in found]
    sums = _sums(run_ids)
    firsts = dict(
        Answer.objects.filter(run_id__in=run_ids, number=1, epoch=project.epoch).values_list(
            "run_id", "question_at"
        )
    )
    texts = question_beginnings(project, [at for at in firsts.values() if at is not None])
    lines = []
    for row in found:
        total = sums.get(row["id"], {})
        asked_at = firsts.get(row["id"])
        row["position"] = row.pop("first_position")
        row["retry"] = row.pop("retry_of") is not None
        lines.append(
            RunLine(
                **row,
                complete=total.get("complete", 0),
                worked=total.get("worked", 0),
                failed=total.get("failed", 0),
                never_ran=total.get("never_ran", 0),
                still_open=total.get("still_open", 0),
                asked=asked_at is not None,
                question=None if asked_at is None else texts.get(asked_at),
            )
        )
    return tuple(lines)


def _sums(run_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    sums = Answer.objects.filter(run_id__in=run_ids).order_by().values("run_id")
    sums = sums.annotate(
        complete=Count("id", filter=Q(complete=True)),
        worked=Sum("worked"),
        failed=Sum("failed"),
        never_ran=Sum("never_ran"),
        still_open=Sum("open"),
    )
    return {row["run_id"]: {**row} for row in sums}


def question_beginnings(project: ProjectRow, positions: Sequence[int]) -> dict[int, str]:
    """The beginnings of the questions at these positions, where their texts are kept."""
    said = Text.objects.filter(project_id=project.id, kind="question", position__in=positions)
    return dict(said.values_list("position", Substr("text", 1, LINE_CHARS)))
