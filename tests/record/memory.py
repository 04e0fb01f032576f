"""A project's record in plain memory: the real numbering and the real fold, and no database.

What arrives goes through `runs.intake.numbering` and `runs.record.fold` as in the writer's transaction; the book is the
one that the fold itself filled. So thousands of streams can be folded in seconds; that the rows are those of the real
socket and database is a test (test_honesty.py), made with `rows` and `rows_in_database`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from enum import StrEnum
from typing import Any

import msgspec

from runs.intake.numbering import Batch, Item, Missing, Work, settle_batch
from runs.models import Project, RecordRow, Stream
from runs.record.entries import Entry
from runs.record.fold import fold_all
from runs.rules.kept import Dropped, Kept, Refused
from runs.store.book import ID_BITS, Book
from runs.store.incoming import LockedProject, LockedStream
from runs.store.rows import TABLES, AnswerRow, LegRow, ProjectFacts, Row

SECRET = "5e" * 32
STREAM = "stream-1"
RECEIVED_MS = 1_800_000_000_000


class MemoryRecord:
    """One project with one stream or several, all of them told in the order of the calls."""

    def __init__(self, secret: str = SECRET, ledger_limit: int = 10_000) -> None:
        facts = ProjectFacts(1, secret, 1, ledger_limit)
        self.project = LockedProject(facts, position=0, row_number=0, keep_text=True, silent_after_s=900)
        self.book = Book(facts, 0)
        self.streams: dict[str, LockedStream] = {}
        self.texts: dict[int, str] = {}
        self.entries: list[Entry] = []

    def stream(self, name: str = STREAM) -> LockedStream:
        if name not in self.streams:
            number = len(self.streams) + 1
            self.streams[name] = LockedStream(number, name, 1, 0, False, 0, 0, 0, 0, 0, 0)
            self.book.stream_names[number] = name
        return self.streams[name]

    def arrive(self, items: Iterable[Item | Missing], stream: str = STREAM) -> MemoryRecord:
        """Settle and fold what one connection brought at one time."""
        row, work = self.stream(stream), Work(self.project)
        settle_batch(work, row, Batch(1, row.id, row.epoch, 1, RECEIVED_MS, list(items)))
        for _, position, _, text, _ in work.texts:
            self.texts[position] = text
        return self.fold(work.entries)

    def send(self, events: Iterable[Kept | Dropped | Refused], stream: str = STREAM) -> MemoryRecord:
        """A numbered sender brings these, in order."""
        first = self.stream(stream).acked + 1
        return self.arrive((Item(seq, read) for seq, read in enumerate(events, first)), stream)

    def fold(self, entries: Iterable[Entry]) -> MemoryRecord:
        listed = list(entries)
        self.entries += listed
        fold_all(self.book, listed)
        return self

    # -- what the record says --

    @property
    def answers(self) -> list[AnswerRow]:
        return sorted(self.book.answers.values(), key=lambda answer: (answer.opened_position, answer.id))

    def tell(self, answer: AnswerRow) -> dict[str, Any]:
        """An answer in the words of the recordings' facts, and its texts and totals."""
        book = self.book
        legs = [leg for leg in book.touched[LegRow].values() if leg.answer_id == answer.id]  # type: ignore[attr-defined]
        return {
            "run": book.runs_by_id[answer.run_id].name,
            "path": answer.path,
            "ordinal": answer.ordinal,
            "legs": [book.runs_by_id[leg.run_id].name for leg in sorted(legs, key=lambda leg: leg.number)],  # type: ignore[attr-defined]
            "ending": answer.ending,
            "stop_reason": answer.stop_reason,
            "complete": answer.complete,
            "incomplete": answer.reasons.split(",") if answer.reasons else [],
            "undispatched": answer.undispatched,
            "calls": [[c.tool, c.call_id, c.outcome] for c in book.calls_of_answer.get(answer.id, ())],
            "question": self.texts.get(answer.question_at or 0),
            "answer": self.texts.get(answer.answer_at or 0),
            "tokens": [answer.input_tokens, answer.output_tokens],
            "replaced": answer.replaced,
        }

    def told(self) -> list[dict[str, Any]]:
        return [self.tell(answer) for answer in self.answers]

    def runs(self) -> dict[str, dict[str, Any]]:
        """What each run's row says beside its answers."""
        return {run.name: {name: getattr(run, name) for name in RUN_FACTS} for run in self.book.runs.values()}

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of the record, comparable with `rows_in_database`."""
        return {
            table.table: sorted(
                (_plain(table, row.values(), {s.id: s.name for s in self.streams.values()}))
                for row in self.book.touched[table].values()
            )
            for table in TABLES
        }


RUN_FACTS = ("agent", "provider", "model", "session", "principal", "tenant", "composition")


def rows_in_database(project: Project) -> dict[str, list[tuple[Any, ...]]]:
    """The same of a project in the database."""
    streams = dict(Stream.objects.filter(project=project).values_list("id", "name"))
    models = {model._meta.db_table: model for model in RecordRow.__subclasses__()}
    return {
        table.table: sorted(
            _plain(table, values, streams)
            for values in models[table.table]  # type: ignore[attr-defined]
            .objects.filter(project=project, epoch=project.epoch)
            .values_list(*table.columns())
        )
        for table in TABLES
    }


def _plain(table: type[Row], values: tuple[Any, ...], streams: dict[int, str]) -> tuple[Any, ...]:
    """A row as text: ids without their project's part, streams by name, no time of receipt."""
    plain = []
    for field, value in zip(fields(table), values, strict=True):
        if field.name in ("project_id", "epoch") or field.name in RECEIPTS:
            continue
        if field.name == "stream_id":
            value = streams[value]
        elif field.name == "last_runs":
            value = {agent: _number(row_id) for agent, row_id in msgspec.json.decode(value).items()}
        elif field.name == "id" or (isinstance(value, int) and value >> ID_BITS and field.name in REFERENCES):
            value = _number(value)
        plain.append(f"{field.name}={str(value) if isinstance(value, StrEnum) else value!r}".replace("'", ""))
    return tuple(plain)


def _number(row_id: int) -> int:
    return row_id & ((1 << ID_BITS) - 1)


RECEIPTS = frozenset(["at_ms", "opened_ms", "last_ms", "ended_ms", "closed_ms", "received_ms"])
REFERENCES = frozenset(
    ["run_id", "answer_id", "current_run", "leg_of", "previous", "retry_of", "spawn_id", "roster"]
)
