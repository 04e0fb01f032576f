"""Forgetting: a run with its whole chain, a project's texts, a project. Each under the project's lock.

What a deletion leaves behind is on purpose: the stream and its `acked` (a promise to its sender), the position counter,
what the app declared about itself (names, rosters: facts of the app, kept without the run that carried them), the
registered names (readers must never see one; a rebuild drops those that no event tells any more), and per run a
tombstone that drops what still comes of it, with a note at a position of its own.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest

from runs.models import (
    ID_BITS,
    Answer,
    ChoiceRow,
    DeclaredName,
    DisplayName,
    Hole,
    KeptEvent,
    Leg,
    Membership,
    Note,
    Project,
    Roster,
    Run,
    SeenName,
    Spawn,
    Stream,
    StreamMemory,
    Text,
    Token,
    Tombstone,
    ToolCall,
    Violation,
    Waiting,
)
from runs.rules.kept import EventMeta, decode_body, encode_body

DELETED = "deleted"  # the note's kind
# Events that speak of the app, not of the run they came in.
DECLARATIONS = ("footprint.tools.declared", "footprint.delegation.declared")
NO_RUN = ("", "consumer-scope")  # the runIds of events that name no run
T = TypeVar("T")
CHUNK = 400  # pairs and ids in one statement: every database takes that many


@dataclass(frozen=True, slots=True)
class Deleted:
    """What went: slugs of the record that counted, for the doorbell."""

    position: int
    runs: tuple[str, ...]
    answers: tuple[str, ...]


@transaction.atomic
def delete_run(project_id: int, slug: str) -> Deleted | None:
    """Deletes a run, every run that shares an answer with it, and the runs that retried one of these.

    A retry goes too because it carries on what the failed run asked and called: without that run nothing would say
    any more that it began unseen. None when the project has no such run.
    """
    project = Project.objects.select_for_update().get(pk=project_id)
    first = Run.objects.filter(project=project, epoch=project.epoch, slug=slug).first()
    if first is None:
        return None
    chain = _chain(first)
    names = {(run.stream_id, run.name) for run in chain}
    runs = _of_every_epoch(project, names)
    answers = list(Answer.objects.filter(run__in=[run.pk for run in runs]))
    _forget_pauses(project, chain)
    _forget_rows(project, runs, answers)
    _forget_what_came_in(project, names)
    _pass_over(project, runs)
    position = _leave_tombstones(project, names)
    return Deleted(
        position,
        tuple(sorted(run.slug for run in chain)),
        tuple(sorted(answer.slug for answer in answers if answer.epoch == project.epoch)),
    )


def _chain(first: Run) -> list[Run]:
    """The run, the runs its answers went on in, the runs those began in, what retried them, and so on."""
    found: dict[int, Run] = {}
    new = {first.pk}
    while new:
        found |= Run.objects.in_bulk(list(new))
        answers = Answer.objects.filter(
            Q(run__in=new) | Q(pk__in=Leg.objects.filter(run__in=new).values("answer"))
        ).values_list("pk", "run")
        answers_of_new = list(answers)
        legs = Leg.objects.filter(answer__in=[pk for pk, _ in answers_of_new]).values_list("run", flat=True)
        retries = Run.objects.filter(retry_of__in=new).values_list("pk", flat=True)
        new = ({run for _, run in answers_of_new} | set(legs) | set(retries)) - set(found)
    return list(found.values())


def _of_every_epoch(project: Project, names: set[tuple[int, str]]) -> list[Run]:
    """The same runs in every making of the record: a rebuild may be under way beside this."""
    runs: list[Run] = []
    for some in _chunks(names):
        runs += Run.objects.filter(_named(some, "name"), project=project)
    return runs


def _forget_pauses(project: Project, chain: list[Run]) -> None:
    """A pause names no run, only a call: those that named one of these runs' calls while it ran go with them."""
    for run in chain:
        calls = set(ToolCall.objects.filter(run=run).values_list("call_id", flat=True))
        began, ended = (project.pk << ID_BITS | position for position in (run.first_position, run.version))
        pauses = KeptEvent.objects.filter(
            stream=run.stream_id, type="pause.request", run__in=NO_RUN, pk__gt=began, pk__lte=ended
        )
        for event in pauses:
            told = decode_body(event.type, event.body).body.question_payload
            if told is not None and told.tool_call_id in calls:
                event.delete()


def _forget_rows(project: Project, runs: list[Run], answers: list[Answer]) -> None:
    run_ids, answer_ids = [run.pk for run in runs], [answer.pk for answer in answers]
    _count_back(project, answer_ids)
    Roster.objects.filter(run__in=run_ids).update(run=None)
    Violation.objects.filter(run__in=run_ids, spawn=None).update(run=None, answer=None)
    for model in (Violation, Spawn, ChoiceRow, ToolCall, Leg):
        for some in _chunks(run_ids):
            model.objects.filter(run__in=some).delete()
        for some in _chunks(answer_ids):
            model.objects.filter(answer__in=some).delete()
    for run in runs:
        Waiting.objects.filter(stream=run.stream_id, run=run.name).delete()
    Answer.objects.filter(pk__in=answer_ids).delete()
    Run.objects.filter(pk__in=run_ids).delete()


def _count_back(project: Project, answer_ids: list[int]) -> None:
    """The registered names stay; how often they were called is told without the calls that go."""
    calls: Counter[tuple[int, str]] = Counter()
    for some in _chunks(answer_ids):
        rows = ToolCall.objects.filter(answer__in=some).values_list("epoch", "tool")
        calls.update((epoch, tool) for epoch, tool in rows if tool is not None)
    for (epoch, tool), count in calls.items():
        seen = SeenName.objects.filter(project=project, epoch=epoch, name=tool)
        seen.update(calls=Greatest(F("calls") - count, 0))


def _forget_what_came_in(project: Project, names: set[tuple[int, str]]) -> None:
    for some in _chunks(names):
        events = KeptEvent.objects.filter(_named(some, "run"), project=project)
        positions = events.annotate(at=F("pk") - (project.pk << ID_BITS)).values("at")
        Text.objects.filter(project=project, position__in=positions).delete()
        for event in events.filter(type__in=DECLARATIONS):
            event.run, event.body = "", _without_run(event)
            event.save(update_fields=["run", "body"])
        events.delete()
        Note.objects.filter(_named(some, "run"), project=project).delete()


def _without_run(event: KeptEvent) -> str:
    """A declaration's body without what its `meta` says of the run that carried it."""
    kept = decode_body(event.type, event.body)
    kept.meta = EventMeta(wall_clock_ms=kept.meta.wall_clock_ms)
    return encode_body(kept).decode()


def _pass_over(project: Project, gone: list[Run]) -> None:
    """What pointed at a deleted run as "the one before" points at the one before that."""
    before = {run.pk: run.previous for run in gone}

    def earlier(pk: int | None) -> int | None:
        while pk in before:
            pk = before[pk]
        return pk

    for some in _chunks(before):
        for run in Run.objects.filter(project=project, previous__in=some):
            Run.objects.filter(pk=run.pk).update(previous=earlier(run.previous))
    for memory in StreamMemory.objects.filter(project=project, stream__in={run.stream_id for run in gone}):
        last = {agent: earlier(pk) for agent, pk in json.loads(memory.last_runs).items()}
        memory.last_runs = json.dumps({agent: pk for agent, pk in last.items() if pk is not None})
        if memory.last_runs == "{}" and not (memory.gap or memory.unnumbered or memory.unmatched):
            memory.delete()  # it remembers nothing: as if the stream had never spoken
        else:
            memory.save(update_fields=["last_runs"])


def _leave_tombstones(project: Project, names: set[tuple[int, str]]) -> int:
    now = time.time_ns() // 1_000_000
    for stream_id, name in sorted(names):
        Tombstone.objects.get_or_create(stream_id=stream_id, run=name)
        project.position += 1
        Note.objects.create(
            id=project.pk << ID_BITS | project.position,
            project=project,
            stream_id=stream_id,
            kind=DELETED,
            run=name,
            received_ms=now,
        )
    project.save(update_fields=["position"])
    return project.position


@transaction.atomic
def forget_texts(project_id: int) -> int:
    """Forgets every question, answer and classifier message kept so far; how many there were.

    The words version goes up, so that no rendering made with them is used again.
    """
    Project.objects.select_for_update().get(pk=project_id)
    count, _ = Text.objects.filter(project=project_id).delete()
    Project.objects.filter(pk=project_id).update(words_version=F("words_version") + 1)
    return count


# A project's rows, children first, so that each table goes in one statement where the database can.
_RECORD = (Violation, Spawn, Roster, ChoiceRow, ToolCall, Leg, Answer, Run, Waiting, StreamMemory)
_NAMES = (SeenName, DeclaredName, DisplayName)
_CAME_IN = (Text, Note, KeptEvent)
_PEOPLES = (Token, Membership)


@transaction.atomic
def delete_project(project_id: int) -> None:
    """Deletes a project and every row of it."""
    project = Project.objects.select_for_update().get(pk=project_id)
    for model in (*_RECORD, *_NAMES, *_CAME_IN, *_PEOPLES):
        model._base_manager.filter(project=project).delete()
    for of_stream in (Hole, Tombstone):
        of_stream.objects.filter(stream__project=project).delete()
    Stream.objects.filter(project=project).delete()
    project.delete()


def _named(pairs: Iterable[tuple[int, str]], field: str) -> Q:
    """The rows of these (stream, runId) pairs; `field` holds the runId."""
    wanted = Q()
    by_stream: dict[int, list[str]] = {}
    for stream_id, name in pairs:
        by_stream.setdefault(stream_id, []).append(name)
    for stream_id, names in by_stream.items():
        wanted |= Q(**{"stream": stream_id, f"{field}__in": names})
    return wanted


def _chunks(items: Iterable[T]) -> Iterator[list[T]]:
    left = iter(items)
    while some := list(islice(left, CHUNK)):
        yield some
