"""The record's rows as the fold holds them: one dataclass a table, fields named and ordered as the columns.

`record/fold.py` works on these and never sees a model; `store/book.py` loads and saves them. That the columns and
the model's fields agree is a test (tests/store/test_rows.py). Ids are drawn from the project's own counter, see
docs/decisions/004-positions-and-ids.md. Reasons and skips are comma-separated sorted words of `rules.vocabulary`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, ClassVar

from msgspec import Struct


@dataclass(slots=True)
class Row:
    """Base: every record row has an id, a project and the epoch of the record it belongs to."""

    table: ClassVar[str]
    id: int
    project_id: int
    epoch: int

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        return COLUMNS[cls]

    def values(self) -> tuple[Any, ...]:
        """In the order of `columns`."""
        return _VALUES[type(self)](self)


@dataclass(slots=True)
class StreamMemoryRow(Row):
    table: ClassVar[str] = "runs_streammemory"
    stream_id: int
    gap: bool = False
    unnumbered: bool = False
    unmatched: int = 0
    last_runs: str = "{}"


@dataclass(slots=True)
class WaitingRow(Row):
    table: ClassVar[str] = "runs_waiting"
    stream_id: int
    kind: str
    run: str
    path: str
    call_id: str | None
    tool: str | None
    not_run: bool
    position: int


@dataclass(slots=True)
class RunRow(Row):
    table: ClassVar[str] = "runs_run"
    stream_id: int
    name: str
    slug: str
    first_position: int
    version: int
    opened_ms: int
    last_ms: int
    session: str = ""
    session_slug: str = ""
    agent: str = ""
    provider: str = ""
    model: str = ""
    principal: str = ""
    tenant: str = ""
    trace: str = ""
    composition: str = ""
    begun: str = ""
    finished: bool = False
    gap: bool = False
    llm_seen: int = 0
    late: int = 0
    leg_of: int | None = None
    previous: int | None = None
    retry_of: int | None = None
    ending: str = "running"
    answers: int = 0
    calls: int = 0
    failed_calls: int = 0
    incomplete: int = 0
    missed: int = 0
    violations: int = 0
    skipped: str = ""
    ended_ms: int | None = None
    opened_clock_ms: int | None = None
    last_clock_ms: int | None = None


@dataclass(slots=True)
class AnswerRow(Row):
    table: ClassVar[str] = "runs_answer"
    run_id: int
    stream_id: int
    path: str
    ordinal: int
    number: int
    slug: str
    current_run: int
    opened_position: int
    version: int
    opened_ms: int
    last_ms: int
    session: str = ""
    ending: str = "running"
    stop_reason: str = ""
    stop_iteration: int | None = None
    reasons: str = ""
    sticky: str = ""
    complete: bool = False
    late: bool = False
    refused_evidence: bool = False
    replaced: bool = False
    legs: int = 1
    question_at: int | None = None
    answer_at: int | None = None
    iteration: int = 0
    requested: int = 0
    started: int = 0
    undispatched: int = 0
    llm_calls: int = 0
    open_llm: int = 0
    calls: int = 0
    worked: int = 0
    failed: int = 0
    never_ran: int = 0
    open: int = 0
    unlisted: int = 0
    unlisted_open: int = 0
    choice_rows: int = 0
    narrowed: int = 0
    missed: int = 0
    skipped: str = ""
    spawns: int = 0
    violations: int = 0
    host_check: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    duration_ms: int | None = None
    ended_ms: int | None = None
    opened_clock_ms: int | None = None
    ended_clock_ms: int | None = None


@dataclass(slots=True)
class LegRow(Row):
    table: ClassVar[str] = "runs_leg"
    answer_id: int
    run_id: int
    number: int


@dataclass(slots=True)
class ToolCallRow(Row):
    table: ClassVar[str] = "runs_toolcall"
    answer_id: int
    run_id: int
    number: int
    path: str
    tool: str | None
    call_id: str
    state: str
    outcome: str
    version: int
    run_position: int = 0
    not_run: bool = False
    erred: bool = False
    status: str = ""
    late: bool = False
    iteration: int = 0
    opened_position: int | None = None
    closed_position: int | None = None
    opened_ms: int | None = None
    closed_ms: int | None = None
    opened_clock_ms: int | None = None
    duration_ms: int | None = None


@dataclass(slots=True)
class ChoiceRowRow(Row):
    table: ClassVar[str] = "runs_choicerow"
    answer_id: int
    run_id: int
    number: int
    kind: str
    origin: str
    iteration: int
    position: int
    body: str
    narrowed: bool = False
    skipped: str = ""
    missed: bool = False
    agrees: bool | None = None


@dataclass(slots=True)
class ChoiceCallRow(Row):
    table: ClassVar[str] = "runs_choicecall"
    answer_id: int
    run_id: int
    number: int
    iteration: int
    at_ms: int
    reading: str = ""
    reading_from: str = ""
    reply_from: str = ""
    chosen: str | None = None
    called: str | None = None
    calls: int = 0
    agrees: bool | None = None
    confidence: float | None = None
    narrowed: bool = False
    skipped: str = ""
    missed: bool = False
    latency_ms: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    shape: str = ""
    misses_to: int = 0
    sure: int = 0
    menu: str = ""


@dataclass(slots=True)
class RosterRow(Row):
    table: ClassVar[str] = "runs_roster"
    stream_id: int
    run_id: int | None
    tool: str
    position: int
    has_factory: bool = False
    entries: str | None = None
    static_pool: str | None = None
    inherited: str | None = None
    reason: str = ""
    sentence: str = ""


@dataclass(slots=True)
class SpawnRow(Row):
    table: ClassVar[str] = "runs_spawn"
    stream_id: int
    run_id: int | None
    answer_id: int | None
    tool: str
    position: int
    received_ms: int
    roster: int | None = None
    call_id: str | None = None
    child_run: str | None = None
    products: str = "[]"
    denied: str | None = None
    refused: bool = False
    refused_reason: str = ""
    violations: int = 0


@dataclass(slots=True)
class ViolationRow(Row):
    table: ClassVar[str] = "runs_violation"
    stream_id: int
    run_id: int | None
    answer_id: int | None
    spawn_id: int | None
    tool: str
    reason: str
    offender: str
    sentence: str
    position: int
    received_ms: int


@dataclass(slots=True)
class SeenNameRow(Row):
    table: ClassVar[str] = "runs_seenname"
    name: str
    first_position: int
    last_ms: int
    alias: bool = False
    tool: bool = False
    calls: int = 0


@dataclass(slots=True)
class DeclaredNameRow(Row):
    table: ClassVar[str] = "runs_declaredname"
    stream_id: int
    tool: str
    text: str
    problem: str
    position: int


# In the order they may be inserted: a row's foreign keys point up this list.
TABLES: tuple[type[Row], ...] = (
    StreamMemoryRow,
    WaitingRow,
    RunRow,
    AnswerRow,
    LegRow,
    ToolCallRow,
    ChoiceRowRow,
    ChoiceCallRow,
    RosterRow,
    SpawnRow,
    ViolationRow,
    SeenNameRow,
    DeclaredNameRow,
)


COLUMNS: dict[type[Row], tuple[str, ...]] = {
    table: tuple(field.name for field in fields(table)) for table in TABLES
}
# The places of the columns that are true or false (or unknown).
FLAGS: dict[type[Row], tuple[int, ...]] = {
    table: tuple(place for place, field in enumerate(fields(table)) if str(field.type).startswith("bool"))
    for table in TABLES
}
_VALUES: dict[type[Row], Callable[[Row], tuple[Any, ...]]] = {
    table: attrgetter(*COLUMNS[table]) for table in TABLES
}


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """What the fold knows of a project. `secret` keys the opaque ids."""

    id: int
    secret: str
    epoch: int
    ledger_limit: int


class NoteEntry(Struct, frozen=True):
    """A fact that is no event, at its position: gap, lost, refused, unnumbered, silent, deleted."""

    position: int
    stream_id: int
    kind: str
    first: int
    last: int
    run: str
    code: str
    reason: str
    limit_s: int
    received_ms: int
