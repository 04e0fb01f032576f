"""Opening a book: the rows that a batch of entries touches, in a handful of queries whatever the batch's size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
from django.db import models as django_models
from django.db.models import Q

from runs import models
from runs.store.book import NOT_ENDED, NOTHING_YET, Book
from runs.store.rows import (
    AnswerRow,
    DeclaredNameRow,
    ProjectFacts,
    RosterRow,
    Row,
    RunRow,
    SeenNameRow,
    StreamMemoryRow,
    ToolCallRow,
    WaitingRow,
)

R = TypeVar("R", bound=Row)
CHUNK = 500  # SQLite allows 32,766 variables a statement; a batch of streams and runs stays well below


@dataclass(slots=True)
class Wants:
    """What a batch needs to find, gathered from its entries by `record/wants.py` before anything is asked."""

    runs: set[tuple[int, str]] = field(default_factory=set)  # (stream, runId)
    streams: set[int] = field(default_factory=set)
    whole_streams: set[int] = field(
        default_factory=set
    )  # a hole or refusal: every turn not ended, every open run
    all_calls: set[tuple[int, str]] = field(default_factory=set)  # runs whose closed calls are compared too
    pauses: set[str] = field(default_factory=set)  # call ids that a pause names
    leg_ends: set[tuple[int, str, str]] = field(
        default_factory=set
    )  # (stream, runId, call id): perhaps a leg's first
    sessions: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)
    delegations: set[str] = field(default_factory=set)
    last_runs: bool = False
    last_turns: set[int] = field(default_factory=set)  # streams whose latest run's turns an event is about


def open_book(project: ProjectFacts, row_number: int, wants: Wants) -> Book:
    """The book of `project` at its epoch with everything `wants` names. Asks the database, writes nothing."""
    book = Book(project, row_number)
    book.stream_names = dict(models.Stream.objects.filter(id__in=wants.streams).values_list("id", "name"))
    for memory in _rows(StreamMemoryRow, models.StreamMemory, book, stream__in=wants.streams):
        book.memories[memory.stream_id] = memory
    for waiting in _rows(WaitingRow, models.Waiting, book, stream__in=wants.streams):
        book.file_waiting(waiting)
    _load_runs(book, wants)
    _load_turns(book, wants)
    if wants.names:
        for names in _chunks(wants.names):
            for seen in _rows(SeenNameRow, models.SeenName, book, name__in=names):
                book.seen[seen.name] = seen
    if wants.declared:
        found = _rows(DeclaredNameRow, models.DeclaredName, book, tool__in=wants.declared)
        for declared in sorted(found, key=lambda row: row.position):
            book.declared[declared.tool] = declared
    if wants.delegations:
        book.rosters = _rows(
            RosterRow, models.Roster, book, tool__in=wants.delegations, stream__in=wants.streams
        )
    return book


def _load_runs(book: Book, wants: Wants) -> None:
    by_stream: dict[int, set[str]] = {}
    for stream_id, name in wants.runs:
        by_stream.setdefault(stream_id, set()).add(name)
    for stream_id, names in by_stream.items():
        for chunk in _chunks(names):
            for run in _rows(RunRow, models.Run, book, stream=stream_id, name__in=chunk):
                book.file_run(run)
    also: set[int] = set()
    for stream_id, memory in book.memories.items():
        if wants.last_runs or stream_id in wants.last_turns:
            also |= _last_runs(memory)
    also |= {
        run.previous for run in book.runs_by_id.values() if run.previous is not None and not run.llm_seen
    }
    _file_runs(book, also)
    if wants.whole_streams:
        for run in _rows(RunRow, models.Run, book, stream__in=wants.whole_streams, finished=False):
            if run.id not in book.runs_by_id:
                book.file_run(run)


def _last_runs(memory: StreamMemoryRow) -> set[int]:
    return set(msgspec.json.decode(memory.last_runs, type=dict[str, int]).values())


def _file_runs(book: Book, ids: set[int]) -> None:
    for chunk in _chunks(ids - set(book.runs_by_id)):
        for run in _rows(RunRow, models.Run, book, id__in=chunk):
            book.file_run(run)


def _load_turns(book: Book, wants: Wants) -> None:
    """The turns of the runs, of streams with a hole, and of calls that wait; then their legs' runs and their calls."""
    wanted_runs = {run.id for key in wants.runs if (run := book.runs.get(key)) is not None}
    for stream_id in wants.last_turns & set(book.memories):
        wanted_runs |= _last_runs(book.memories[stream_id])
    answer_ids: set[int] = set()
    for chunk in _chunks(wanted_runs):
        answer_ids |= set(models.Leg.objects.filter(run__in=chunk).values_list("answer_id", flat=True))
    not_ended = models.Answer.objects.filter(epoch=book.project.epoch, ending__in=NOT_ENDED)
    if wants.whole_streams:
        answer_ids |= set(not_ended.filter(stream__in=wants.whole_streams).values_list("id", flat=True))
    call_ids = wants.pauses | {
        call_id
        for stream_id, name, call_id in wants.leg_ends
        if (run := book.runs.get((stream_id, name))) is None or run.begun in NOTHING_YET
    }
    if call_ids:
        answer_ids |= _waiting_turns(book, wants, not_ended, call_ids)
    if not answer_ids:
        return
    legs: dict[int, list[int]] = {}
    for chunk in _chunks(answer_ids):
        rows = (
            models.Leg.objects.filter(answer__in=chunk).order_by("number").values_list("answer_id", "run_id")
        )
        for answer_id, run_id in rows:
            legs.setdefault(answer_id, []).append(run_id)
        for answer in _rows(AnswerRow, models.Answer, book, id__in=chunk):
            book.file_answer(answer, ())
    for answer in sorted(book.answers.values(), key=lambda a: a.opened_position):
        for run_id in legs.get(answer.id, ()):
            book.answers_of_run.setdefault(run_id, []).append(answer)
    _file_runs(book, {run_id for run_ids in legs.values() for run_id in run_ids})
    _load_calls(book, wants)


def _waiting_turns(
    book: Book, wants: Wants, not_ended: django_models.QuerySet[models.Answer], call_ids: set[str]
) -> set[int]:
    sessions = {run.session for run in book.runs_by_id.values() if run.session} | wants.sessions
    near = Q(stream__in=wants.streams) | Q(session__in=sessions, project=book.project.id)
    turns = set(not_ended.filter(near).values_list("id", flat=True))
    found: set[int] = set()
    for chunk in _chunks(turns):
        found |= set(
            models.ToolCall.objects.filter(answer__in=chunk, call_id__in=call_ids)
            .exclude(state="closed")
            .values_list("answer_id", flat=True)
        )
    return found


def _load_calls(book: Book, wants: Wants) -> None:
    compared = {
        answer.id
        for key in wants.all_calls
        if (run := book.runs.get(key)) is not None
        for answer in book.answers_of_run.get(run.id, ())
    }
    for chunk in _chunks(book.answers):
        unfinished = ~Q(state="closed") | Q(tool__isnull=True) | Q(answer__in=compared & set(chunk))
        found = _rows(ToolCallRow, models.ToolCall, book, unfinished, answer__in=chunk)
        for call in sorted(found, key=lambda c: (c.answer_id, c.number)):
            book.file_call(call)


def _rows(row: type[R], model: type[Any], book: Book, *conditions: Q, **filters: Any) -> list[R]:
    found = model.objects.filter(*conditions, project_id=book.project.id, epoch=book.project.epoch, **filters)
    return [row(*values) for values in found.values_list(*row.columns())]


T = TypeVar("T")


def _chunks(items: Iterable[T]) -> Iterable[Sequence[T]]:
    listed = list(items)
    return (listed[i : i + CHUNK] for i in range(0, len(listed), CHUNK))
