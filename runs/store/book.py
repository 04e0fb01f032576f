"""The working set of one fold: the rows of one project that a batch of entries touches, with the indexes to find them.

A `Book` is plain memory. `store/load.py` opens it from the database, `record/fold.py` writes in it, and
`store/writes.py` saves what was touched. Nothing here asks the database, so a fold is a function of its book.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from runs.rules.vocabulary import Ending
from runs.store.rows import (
    TABLES,
    AnswerRow,
    ChoiceCallRow,
    DeclaredNameRow,
    LegRow,
    ProjectFacts,
    RosterRow,
    Row,
    RunRow,
    SeenNameRow,
    StreamMemoryRow,
    ToolCallRow,
    WaitingRow,
)

ID_BITS = 40

# A run's `begun` while no word about a turn has come.
NOTHING_YET = frozenset(["", "agent", "models"])
NOT_ENDED = frozenset(ending.value for ending in Ending if not ending.ended)


@dataclass(slots=True)
class Book:
    """One project's open pages. `row_number` is the project's counter, drawn by :meth:`new_id`."""

    project: ProjectFacts
    row_number: int
    stream_names: dict[int, str] = field(default_factory=dict)
    memories: dict[int, StreamMemoryRow] = field(default_factory=dict)
    runs: dict[tuple[int, str], RunRow] = field(default_factory=dict)
    runs_by_id: dict[int, RunRow] = field(default_factory=dict)
    answers: dict[int, AnswerRow] = field(default_factory=dict)
    answers_of_run: dict[int, list[AnswerRow]] = field(default_factory=dict)
    calls_of_answer: dict[int, list[ToolCallRow]] = field(default_factory=dict)
    choice_calls: dict[tuple[int, int, int], list[ChoiceCallRow]] = field(default_factory=dict)
    waiting: dict[int, list[WaitingRow]] = field(default_factory=dict)
    rosters: list[RosterRow] = field(default_factory=list)
    seen: dict[str, SeenNameRow] = field(default_factory=dict)
    tools_seen: set[str] = field(default_factory=set)  # by the entries folded so far
    declared: dict[str, DeclaredNameRow] = field(default_factory=dict)
    touched: dict[type[Row], dict[int, Row]] = field(default_factory=lambda: {table: {} for table in TABLES})
    removed: list[WaitingRow] = field(default_factory=list)
    words_changed: bool = False
    _loaded_to: int = field(init=False)
    _counted: dict[int, tuple[int, int, int, int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._loaded_to = self.project.id << ID_BITS | self.row_number

    def new_id(self) -> int:
        self.row_number += 1
        return self.project.id << ID_BITS | self.row_number

    def is_new(self, row: Row) -> bool:
        """Whether this book made the row, and did not load it."""
        return row.id > self._loaded_to

    def touch(self, row: Row) -> None:
        self.touched[type(row)][row.id] = row

    # -- filing rows under their indexes, loaded or new --

    def file_run(self, run: RunRow) -> None:
        self.runs[run.stream_id, run.name] = run
        self.runs_by_id[run.id] = run

    def file_answer(self, answer: AnswerRow, run_ids: tuple[int, ...]) -> None:
        """`run_ids`: every run that is a leg of it."""
        self.answers[answer.id] = answer
        self._counted[answer.id] = _tally(answer)
        for run_id in run_ids:
            self.answers_of_run.setdefault(run_id, []).append(answer)

    def file_call(self, call: ToolCallRow) -> None:
        self.calls_of_answer.setdefault(call.answer_id, []).append(call)

    def file_choice_call(self, call: ChoiceCallRow) -> None:
        """Under its answer, run and iteration: nearly always one, in the order they came."""
        self.choice_calls.setdefault((call.answer_id, call.run_id, call.iteration), []).append(call)

    def file_waiting(self, row: WaitingRow) -> None:
        self.waiting.setdefault(row.stream_id, []).append(row)

    def drop_waiting(self, row: WaitingRow) -> None:
        self.waiting[row.stream_id].remove(row)
        self.removed.append(row)
        self.touched[WaitingRow].pop(row.id, None)

    def add_leg(self, answer: AnswerRow, run: RunRow) -> None:
        leg = LegRow(self.new_id(), self.project.id, self.project.epoch, answer.id, run.id, answer.legs)
        self.touch(leg)

    # -- finding --

    def memory(self, stream_id: int) -> StreamMemoryRow:
        found = self.memories.get(stream_id)
        if found is None:
            found = StreamMemoryRow(self.new_id(), self.project.id, self.project.epoch, stream_id)
            self.memories[stream_id] = found
            self.touch(found)
        return found

    def not_ended(self, stream_id: int) -> list[AnswerRow]:
        return [a for a in self.answers.values() if a.stream_id == stream_id and a.ending in NOT_ENDED]

    # -- what follows from a changed answer --

    def changed(self, answer: AnswerRow, position: int, received_ms: int) -> None:
        """Give the answer its new version; its ending is its run's at once, its counts follow in :meth:`carry`."""
        answer.version = max(answer.version, position)
        answer.last_ms = max(answer.last_ms, received_ms)
        self.touched[AnswerRow][answer.id] = answer
        first = self.runs_by_id.get(answer.run_id)
        if first is not None and answer.number == first.answers:
            first.ending = answer.ending
        if answer.current_run != answer.run_id:
            leg = self.runs_by_id.get(answer.current_run)
            if leg is not None:
                if leg.answers == 0:
                    leg.ending = answer.ending
                leg.version = max(leg.version, position)
                self.touch(leg)

    def carry(self) -> None:
        """Bring what changed in answers over to the rows of the runs that opened them. Once a batch, after the fold."""
        for row in self.touched[AnswerRow].values():
            assert isinstance(row, AnswerRow)
            first = self.runs_by_id.get(row.run_id)
            if first is None:
                continue
            before, after = self._counted.get(row.id, NOTHING_COUNTED), _tally(row)
            self._counted[row.id] = after
            first.calls += after[0] - before[0]
            first.failed_calls += after[1] - before[1]
            first.incomplete += after[2] - before[2]
            first.missed += after[3] - before[3]
            first.violations += after[4] - before[4]
            if row.skipped:
                first.skipped = join_words(first.skipped, *row.skipped.split(","))
            first.version = max(first.version, row.version)
            self.touch(first)


NOTHING_COUNTED = (0, 0, 0, 0, 0)


def _tally(answer: AnswerRow) -> tuple[int, int, int, int, int]:
    incomplete = int(not answer.complete and answer.ending not in NOT_ENDED)
    return answer.calls, answer.failed, incomplete, answer.missed, answer.violations


@lru_cache(maxsize=4096)
def join_words(words: str, *more: str) -> str:
    """Comma-separated sorted words with some more: how sets of closed words rest in a column."""
    return ",".join(sorted({word for word in (*words.split(","), *more) if word}))
