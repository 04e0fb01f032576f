"""Reads for one run: itself, its answers, its legs; and for operators what it spawned, its calls and model calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Q

from runs.models import ID_BITS, Answer, KeptEvent, Leg, Run, Spawn, ToolCall, Violation
from runs.store.people import ProjectRow
from runs.store.reads_runs import question_beginnings

MOST_ANSWERS: Final = 200
MOST_SPAWNS: Final = 200
MOST_CALLS: Final = 300
MOST_EVENTS: Final = 600


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One answer of a run. `question`: the beginning of its text, None where it is not kept or there is none."""

    id: int
    number: int
    slug: str
    path: str
    ending: str
    stop_reason: str
    complete: bool
    late: bool
    legs: int
    worked: int
    failed: int
    never_ran: int
    open: int
    spawns: int
    violations: int
    missed: int
    version: int
    opened_ms: int
    last_ms: int
    opened_clock_ms: int | None
    ended_clock_ms: int | None
    duration_ms: int | None
    question_at: int | None
    answer_at: int | None
    question: str | None = None


_ANSWER: Final = tuple(name for name in AnswerLine.__slots__ if name != "question")


@dataclass(frozen=True, slots=True)
class LegLine:
    """A further run of an answer: it began with the reply to what the answer had paused for."""

    answer_id: int
    number: int
    stream_id: int
    run_name: str
    begun_ms: int
    last_ms: int
    begun_clock_ms: int | None
    last_clock_ms: int | None


@dataclass(frozen=True, slots=True)
class CallLine:
    answer_id: int
    number: int
    tool: str | None
    outcome: str
    opened_clock_ms: int | None
    duration_ms: int | None


@dataclass(frozen=True, slots=True)
class SpawnLine:
    """One delegation. `products` is JSON; `child_slug` None where the child's run is not on record."""

    id: int
    answer_id: int | None
    tool: str
    products: str
    denied: str | None
    refused: bool
    refused_reason: str
    judged: bool  # by a roster: without one, nothing was declared
    received_ms: int
    child_slug: str | None


@dataclass(frozen=True, slots=True)
class ViolationLine:
    spawn_id: int | None
    reason: str
    offender: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ModelEvent:
    """The start or the end of a model call, as kept. `body` is what `rules.kept.decode_body` reads."""

    stream_id: int
    run: str  # its runId as sent
    type: str
    body: str


def find_run(project: ProjectRow, slug: str) -> Run | None:
    """The run of this address. A leg has no page of its own: the run it continues is `run_of_leg`."""
    return Run.objects.filter(project_id=project.id, epoch=project.epoch, slug=slug).first()


def slug_of_answers_run(answer_id: int) -> str | None:
    return Answer.objects.filter(id=answer_id).values_list("run__slug", flat=True).first()


def slug_of(run_id: int) -> str | None:
    return Run.objects.filter(id=run_id).values_list("slug", flat=True).first()


def answers(project: ProjectRow, run: Run) -> tuple[AnswerLine, ...]:
    """The answers of the run and of the runs that went on with them, in order of opening, at most `MOST_ANSWERS`.

    A composition that was resumed tells its later parts in the run of the resume.
    """
    rows = Answer.objects.filter(run_id__in=_chain(run), epoch=project.epoch).order_by("opened_position")
    found = [dict(zip(_ANSWER, row, strict=True)) for row in rows.values_list(*_ANSWER)[:MOST_ANSWERS]]
    texts = question_beginnings(
        project, [row["question_at"] for row in found if row["question_at"] is not None]
    )
    return tuple(AnswerLine(**row, question=texts.get(row["question_at"])) for row in found)


def _chain(run: Run) -> set[int]:
    """The run and every run that is a further leg of one of its answers, or of theirs."""
    found, new = set[int](), {run.id}
    while new:
        found |= new
        legs = Leg.objects.filter(answer__run_id__in=new, number__gt=1).values_list("run_id", flat=True)
        new = set(legs) - found
    return found


def further_legs(run: Run) -> tuple[LegLine, ...]:
    """Every leg after the first of every answer of the run, in order."""
    legs = Leg.objects.filter(answer__run_id=run.id, number__gt=1).order_by("answer_id", "number")
    columns = ("stream_id", "name", "opened_ms", "last_ms", "opened_clock_ms", "last_clock_ms")
    return tuple(
        LegLine(*row)
        for row in legs.values_list("answer_id", "number", *(f"run__{name}" for name in columns))
    )


def calls(answer_ids: Sequence[int]) -> tuple[CallLine, ...]:
    found = ToolCall.objects.filter(answer_id__in=answer_ids).order_by("answer_id", "number")
    columns = ("answer_id", "number", "tool", "outcome", "opened_clock_ms", "duration_ms")
    return tuple(CallLine(*row) for row in found.values_list(*columns)[:MOST_CALLS])


def spawns(run: Run, answer_ids: Sequence[int]) -> tuple[SpawnLine, ...]:
    """What the run delegated, in order; and the addresses of the children's own runs where they are on record."""
    mine = Spawn.objects.filter(Q(run_id=run.id) | Q(answer_id__in=answer_ids)).order_by("position")
    found = list(mine[:MOST_SPAWNS])
    names = {spawn.child_run for spawn in found if spawn.child_run}
    children = Run.objects.filter(
        stream_id__in={spawn.stream_id for spawn in found}, name__in=names, epoch=run.epoch
    )
    slugs = {(stream, name): slug for stream, name, slug in children.values_list("stream_id", "name", "slug")}
    return tuple(
        SpawnLine(
            id=spawn.id,
            answer_id=spawn.answer_id,
            tool=spawn.tool,
            products=spawn.products,
            denied=spawn.denied,
            refused=spawn.refused,
            refused_reason=spawn.refused_reason,
            judged=spawn.roster is not None,
            received_ms=spawn.received_ms,
            child_slug=slugs.get((spawn.stream_id, spawn.child_run or "")),
        )
        for spawn in found
    )


def violations(run: Run, answer_ids: Sequence[int]) -> tuple[ViolationLine, ...]:
    found = Violation.objects.filter(Q(run_id=run.id) | Q(answer_id__in=answer_ids)).order_by("position")
    return tuple(
        ViolationLine(*row)
        for row in found.values_list("spawn_id", "reason", "offender", "sentence")[:MOST_SPAWNS]
    )


def model_events(run: Run, legs: Sequence[LegLine]) -> tuple[ModelEvent, ...]:
    """The starts and ends of the model calls of the run and its legs, in order, at most `MOST_EVENTS`."""
    ours = Q(stream_id=run.stream_id, run=run.name)
    for leg in legs:
        ours |= Q(stream_id=leg.stream_id, run=leg.run_name)
    first = run.project_id << ID_BITS | run.first_position
    events = KeptEvent.objects.filter(ours, id__gte=first, type__in=["stream.llm_start", "stream.llm_end"])
    found = events.order_by("id").values_list("stream_id", "run", "type", "body")[:MOST_EVENTS]
    return tuple(ModelEvent(*row) for row in found)
