"""Opening a book: the rows that a batch of entries touches, in a handful of queries whatever the batch's size."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from runs.store.ask import among_ids, among_words, ask, ask_rows, listed
from runs.store.book import NOTHING_YET, Book
from runs.store.rows import (
    AnswerRow,
    ChoiceCallRow,
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
# Conditions in the words and the order of the partial indexes on runs_answer, or SQLite would not use them.
NOT_ENDED_WORDS = "ending IN ('running', 'asked', 'silent')"
HERE_NOT_ENDED = f"epoch = %s AND {NOT_ENDED_WORDS}"
IN_SESSION_NOT_ENDED = f"+epoch = %s AND {NOT_ENDED_WORDS} AND NOT (session = '')"


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
    iterations: set[int] = field(default_factory=set)  # of model calls that tool-choice rows are about
    last_turns: set[int] = field(default_factory=set)  # streams whose latest run's turns an event is about


def open_book(project: ProjectFacts, row_number: int, wants: Wants) -> Book:
    """The book of `project` at its epoch with everything `wants` names. Asks the database, writes nothing."""
    book = Book(project, row_number)
    streams = listed(wants.streams)
    book.stream_names = dict(ask(f"SELECT id, name FROM runs_stream WHERE {among_ids('id')}", streams))
    for memory in _rows(StreamMemoryRow, book, among_ids("stream_id"), streams):
        book.memories[memory.stream_id] = memory
    for waiting in _rows(WaitingRow, book, among_ids("stream_id"), streams):
        book.file_waiting(waiting)
    _load_runs(book, wants)
    _load_turns(book, wants)
    if wants.names:
        for seen in _rows_named(SeenNameRow, book, among_words("name"), listed(wants.names)):
            book.seen[seen.name] = seen
    if wants.declared:
        found = _rows_named(DeclaredNameRow, book, among_words("tool"), listed(wants.declared))
        for declared in sorted(found, key=lambda row: row.position):
            book.declared[declared.tool] = declared
    if wants.delegations:
        condition = f"{among_words('tool')} AND {among_ids('stream_id')}"
        book.rosters = _rows(RosterRow, book, condition, listed(wants.delegations), streams)
    return book


def _load_runs(book: Book, wants: Wants) -> None:
    by_stream: dict[int, set[str]] = {}
    for stream_id, name in wants.runs:
        by_stream.setdefault(stream_id, set()).add(name)
    for stream_id, names in by_stream.items():
        condition = f"stream_id = %s AND {among_words('name')}"
        for run in _rows(RunRow, book, condition, stream_id, listed(names)):
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
        condition = f"{among_ids('stream_id')} AND NOT finished"
        for run in _rows(RunRow, book, condition, listed(wants.whole_streams)):
            if run.id not in book.runs_by_id:
                book.file_run(run)


def _last_runs(memory: StreamMemoryRow) -> set[int]:
    return set(msgspec.json.decode(memory.last_runs, type=dict[str, int]).values())


def _file_runs(book: Book, ids: set[int]) -> None:
    missing = ids - set(book.runs_by_id)
    if missing:
        for run in _rows(RunRow, book, among_ids("id"), listed(missing)):
            book.file_run(run)


def _load_turns(book: Book, wants: Wants) -> None:
    """The turns of the runs, of streams with a hole, and of calls that wait; then their legs' runs and their calls."""
    runs = {run.id for key in wants.runs if (run := book.runs.get(key)) is not None}
    for stream_id in wants.last_turns & set(book.memories):
        runs |= _last_runs(book.memories[stream_id])
    legs: dict[int, list[int]] = {}
    if runs:
        _add_legs(legs, f"SELECT answer_id FROM runs_leg WHERE {among_ids('run_id')}", listed(runs))
    others = _turns_not_ended(book, wants) - set(legs)
    if others:
        _add_legs(legs, f"SELECT id FROM runs_answer WHERE {among_ids('id')}", listed(others))
    if not legs:
        return
    for answer in _rows(AnswerRow, book, among_ids("id"), listed(legs)):
        book.file_answer(answer, ())
    for answer in sorted(book.answers.values(), key=lambda a: a.opened_position):
        for run_id in legs[answer.id]:
            book.answers_of_run.setdefault(run_id, []).append(answer)
    _file_runs(book, {run_id for run_ids in legs.values() for run_id in run_ids})
    _load_calls(book, wants)
    if wants.iterations:
        _load_choice_calls(book, wants)


def _add_legs(legs: dict[int, list[int]], answers: str, *parameters: object) -> None:
    """The legs, in their order, of the answers that the SELECT `answers` names."""
    statement = (
        f"SELECT answer_id, run_id FROM runs_leg WHERE answer_id IN ({answers}) ORDER BY answer_id, number"
    )
    for answer_id, run_id in ask(statement, *parameters):
        legs.setdefault(answer_id, []).append(run_id)


def _turns_not_ended(book: Book, wants: Wants) -> set[int]:
    """Turns that a hole or a refusal concerns, and turns with a call that an end or a pause of this batch may name."""
    found: set[int] = set()
    if wants.whole_streams:
        statement = f"SELECT id FROM runs_answer WHERE {among_ids('stream_id')} AND {HERE_NOT_ENDED}"
        found |= {row[0] for row in ask(statement, listed(wants.whole_streams), book.project.epoch)}
    call_ids = wants.pauses | {
        call_id
        for stream_id, name, call_id in wants.leg_ends
        if (run := book.runs.get((stream_id, name))) is None or run.begun in NOTHING_YET
    }
    if not call_ids:
        return found
    statement = f"SELECT id FROM runs_answer WHERE {among_ids('stream_id')} AND {HERE_NOT_ENDED}"
    turns = {row[0] for row in ask(statement, listed(wants.streams), book.project.epoch)}
    sessions = {run.session for run in book.runs_by_id.values() if run.session} | wants.sessions
    if sessions:
        condition = f"project_id = %s AND {among_words('session')} AND {IN_SESSION_NOT_ENDED}"
        statement = f"SELECT id FROM runs_answer WHERE {condition}"
        turns |= {row[0] for row in ask(statement, book.project.id, listed(sessions), book.project.epoch)}
    if turns:
        condition = f"{among_ids('answer_id')} AND {among_words('call_id')} AND state <> 'closed'"
        statement = f"SELECT answer_id FROM runs_toolcall WHERE {condition}"
        found |= {row[0] for row in ask(statement, listed(turns), listed(call_ids))}
    return found


def _load_calls(book: Book, wants: Wants) -> None:
    """Calls that may still change; of answers that a host's ledger is compared with, all."""
    unfinished = f"{among_ids('answer_id')} AND (state <> 'closed' OR tool IS NULL)"
    calls = {call.id: call for call in _rows(ToolCallRow, book, unfinished, listed(book.answers))}
    compared = {
        answer.id
        for key in wants.all_calls
        if (run := book.runs.get(key)) is not None
        for answer in book.answers_of_run.get(run.id, ())
    }
    if compared:
        for call in _rows(ToolCallRow, book, among_ids("answer_id"), listed(compared)):
            calls.setdefault(call.id, call)
    for call in sorted(calls.values(), key=lambda c: (c.answer_id, c.number)):
        book.file_call(call)


def _load_choice_calls(book: Book, wants: Wants) -> None:
    """The model calls that rows of this batch are about, and the ones right before them."""
    iterations = wants.iterations | {iteration - 1 for iteration in wants.iterations}
    condition = f"{among_ids('answer_id')} AND {among_ids('iteration')}"
    found = _rows(ChoiceCallRow, book, condition, listed(book.answers), listed(iterations))
    for call in sorted(found, key=lambda c: c.id):
        book.file_choice_call(call)


def _rows(table: type[R], book: Book, condition: str, *parameters: object) -> list[R]:
    """Of the book's project and epoch only: a rebuild's rows stand beside them.

    `+`: no index that begins with the project. Every row of a project is in those, and the condition names a few.
    """
    here = f"+project_id = %s AND epoch = %s AND {condition}"
    return ask_rows(table, here, book.project.id, book.project.epoch, *parameters)


def _rows_named(table: type[R], book: Book, condition: str, *parameters: object) -> list[R]:
    """The same for rows that a project has one of a name: their index does begin with the project."""
    here = f"project_id = %s AND epoch = %s AND {condition}"
    return ask_rows(table, here, book.project.id, book.project.epoch, *parameters)
