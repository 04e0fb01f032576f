"""How deleted runs leave, so that nobody waits for it: gone in one small transaction, cleared in small bites.

`leave` takes runs out of the record: from its commit no page finds them, what still comes of them is dropped (their
tombstones), and a rebuild passes over their events. What hung on them (events, texts, calls) is found by nobody any
more and is cleared by `clear_some`, a bounded number of rows at a time. Until that is done the runs wait in the epoch
`LEAVING + epoch`; whoever comes next clears what a stopped process left.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from django.db.models import Count, F, Q
from django.db.models.functions import Greatest

from runs.models import (
    ID_BITS,
    LEAVING,
    Answer,
    ChoiceCall,
    ChoiceRow,
    KeptEvent,
    Leg,
    Note,
    Project,
    Roster,
    Run,
    SecondReading,
    SeenName,
    Spawn,
    StreamMemory,
    Text,
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


def leave(project: Project, chain: Sequence[Run]) -> Deleted:
    """Take these runs, whole chains of them, out of the record. Expects the project's lock."""
    names = {(run.stream_id, run.name) for run in chain}
    runs = _of_every_epoch(project, names)
    run_ids = [run.pk for run in runs]
    answers = [answer for some in chunks(run_ids) for answer in Answer.objects.filter(run__in=some)]
    answer_ids = [answer.pk for answer in answers]
    _forget_pauses(chain, answers)
    _count_back(project, answer_ids)
    for some in chunks(run_ids):
        Roster.objects.filter(run__in=some).update(run=None)
        Violation.objects.filter(run__in=some, spawn=None).update(run=None, answer=None)
    _forget_spawns(run_ids, answer_ids)
    for pairs in chunks(names):
        Waiting.objects.filter(named(pairs, "run"), project=project).delete()
        Note.objects.filter(named(pairs, "run"), project=project).delete()
        _keep_declarations(project, pairs)
    _pass_over(project, runs)
    for some in chunks(answer_ids):
        # Counted without their answers, so they go at once.
        ChoiceCall.objects.filter(answer__in=some)._raw_delete("default")
        Answer.objects.filter(pk__in=some).update(epoch=F("epoch") + LEAVING)
    for some in chunks({answer.slug for answer in answers}):
        SecondReading.objects.filter(project=project, answer__in=some)._raw_delete("default")
    for some in chunks(run_ids):
        Run.objects.filter(pk__in=some).update(epoch=F("epoch") + LEAVING)
    return Deleted(
        _leave_tombstones(project, names),
        tuple(sorted(run.slug for run in chain)),
        tuple(sorted(answer.slug for answer in answers if answer.epoch == project.epoch)),
    )


def clear_some(project_id: int, limit: int) -> int:
    """Clear up to `limit` rows of runs that left; how many there were, 0 when all is cleared. Expects the lock."""
    runs = list(Run.objects.filter(project=project_id, epoch__gte=LEAVING)[:CHUNK])
    if not runs:
        return 0
    run_ids = [run.pk for run in runs]
    answers = Answer.objects.filter(run__in=run_ids)
    answer_ids = list(answers.values_list("pk", flat=True))
    came = named({(run.stream_id, run.name) for run in runs}, "run")
    # Children first; a table is begun when the one before it is empty.
    steps = (
        KeptEvent.objects.filter(came, project=project_id),
        *(model.objects.filter(answer__in=answer_ids) for model in (ChoiceRow, ToolCall, Leg)),
        answers,
        Run.objects.filter(pk__in=run_ids),
    )
    cleared = 0
    for rows in steps:
        ids = list(rows.values_list("pk", flat=True)[: limit - cleared])
        if rows.model is KeptEvent:
            _delete_texts(project_id, ids)
        for some in chunks(ids):
            rows.model.objects.filter(pk__in=some)._raw_delete("default")
        cleared += len(ids)
        if cleared >= limit:
            break
    return cleared


def _delete_texts(project_id: int, event_ids: list[int]) -> None:
    for some in chunks(event_ids):
        positions = [event_id - (project_id << ID_BITS) for event_id in some]
        Text.objects.filter(project=project_id, position__in=positions)._raw_delete("default")


def _of_every_epoch(project: Project, names: set[tuple[int, str]]) -> list[Run]:
    """The same runs in every making of the record: a rebuild may be under way beside this."""
    runs: list[Run] = []
    for pairs in chunks(names):
        runs += Run.objects.filter(named(pairs, "name"), project=project, epoch__lt=LEAVING)
    return runs


def _forget_spawns(run_ids: list[int], answer_ids: list[int]) -> None:
    """At once, for pages tell of them without a run: they are few."""
    for model in (Violation, Spawn):
        for some in chunks(run_ids):
            model._base_manager.filter(run__in=some)._raw_delete("default")
        for some in chunks(answer_ids):
            model._base_manager.filter(answer__in=some)._raw_delete("default")


def _forget_pauses(chain: Sequence[Run], answers: Sequence[Answer]) -> None:
    """A pause names no run, only a call: those that named one of these runs' calls while it ran go with them."""
    by_stream: dict[int, list[Run]] = {}
    for run in chain:
        by_stream.setdefault(run.stream_id, []).append(run)
    for stream_id, runs in by_stream.items():
        first = runs[0].project_id << ID_BITS
        began, ended = min(run.first_position for run in runs), max(run.version for run in runs)
        pauses = KeptEvent.objects.filter(
            stream=stream_id,
            type="pause.request",
            run__in=NO_RUN,
            pk__gt=first | began,
            pk__lte=first | ended,
        )
        for event in pauses:
            told = decode_body(event.type, event.body).body.question_payload
            if told is None:
                continue
            near = [run.pk for run in runs if first | run.first_position < event.pk <= first | run.version]
            of = [answer.pk for answer in answers]
            if _has_call(of, near, told.tool_call_id):
                event.delete()


def _has_call(answer_ids: list[int], run_ids: list[int], call_id: str | None) -> bool:
    return any(
        ToolCall.objects.filter(answer__in=some, run__in=run_ids, call_id=call_id).exists()
        for some in chunks(answer_ids)
    )


def _count_back(project: Project, answer_ids: list[int]) -> None:
    """The registered names stay; how often they were called is told without the calls that go."""
    for some in chunks(answer_ids):
        calls = ToolCall.objects.filter(answer__in=some, tool__isnull=False).order_by()
        for epoch, tool, count in calls.values_list("epoch", "tool").annotate(Count("pk")):
            seen = SeenName.objects.filter(project=project, epoch=epoch, name=tool)
            seen.update(calls=Greatest(F("calls") - count, 0))


def _keep_declarations(project: Project, pairs: Iterable[tuple[int, str]]) -> None:
    """What the app declared about itself stays, without what its `meta` says of the run that carried it."""
    for event in KeptEvent.objects.filter(named(pairs, "run"), project=project, type__in=DECLARATIONS):
        kept = decode_body(event.type, event.body)
        kept.meta = EventMeta(wall_clock_ms=kept.meta.wall_clock_ms)
        event.run, event.body = "", encode_body(kept).decode()
        event.save(update_fields=["run", "body"])


def _pass_over(project: Project, gone: list[Run]) -> None:
    """What pointed at a deleted run as "the one before" points at the one before that."""
    before = {run.pk: run.previous for run in gone}

    def earlier(pk: int | None) -> int | None:
        while pk in before:
            pk = before[pk]
        return pk

    for some in chunks(before):
        pointing = Run.objects.filter(project=project, previous__in=some).values_list("pk", "previous")
        for pk, previous in pointing:
            if pk not in before:  # what goes itself needs nobody before it
                Run.objects.filter(pk=pk).update(previous=earlier(previous))
    for memory in StreamMemory.objects.filter(project=project, stream__in={run.stream_id for run in gone}):
        last = {agent: earlier(pk) for agent, pk in json.loads(memory.last_runs).items()}
        memory.last_runs = json.dumps({agent: pk for agent, pk in last.items() if pk is not None})
        if memory.last_runs == "{}" and not (memory.gap or memory.unnumbered or memory.unmatched):
            memory.delete()  # it remembers nothing: as if the stream had never spoken
        else:
            memory.save(update_fields=["last_runs"])


def _leave_tombstones(project: Project, names: set[tuple[int, str]]) -> int:
    now = time.time_ns() // 1_000_000
    notes = []
    for stream_id, name in sorted(names):
        project.position += 1
        position = project.pk << ID_BITS | project.position
        note = {"project": project, "stream_id": stream_id, "kind": DELETED, "run": name, "received_ms": now}
        notes.append(Note(id=position, **note))
    tombstones = [Tombstone(stream_id=stream_id, run=name) for stream_id, name in sorted(names)]
    Tombstone.objects.bulk_create(tombstones, ignore_conflicts=True)
    Note.objects.bulk_create(notes)
    project.save(update_fields=["position"])
    return project.position


def named(pairs: Iterable[tuple[int, str]], field: str) -> Q:
    """The rows of these (stream, runId) pairs; `field` holds the runId."""
    wanted = Q()
    by_stream: dict[int, list[str]] = {}
    for stream_id, name in pairs:
        by_stream.setdefault(stream_id, []).append(name)
    for stream_id, names in by_stream.items():
        wanted |= Q(**{"stream": stream_id, f"{field}__in": names})
    return wanted


def chunks(items: Iterable[T]) -> Iterator[list[Any]]:
    left = iter(items)
    while some := list(islice(left, CHUNK)):
        yield some
