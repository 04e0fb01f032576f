"""What the answer page asks the database. A constant number of queries, whatever the length of the answer.

Rows come back as they are on record; names are applied by whoever prints them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, F, Min, Q, QuerySet

from runs.models import (
    ID_BITS,
    Answer,
    ChoiceRow,
    KeptEvent,
    Leg,
    Roster,
    Run,
    Spawn,
    Text,
    ToolCall,
    Violation,
)
from runs.rules import kept
from runs.rules.vocabulary import Ending
from runs.store.ask import ask, ask_rows
from runs.store.rows import ToolCallRow

# The rows by the names pages know them by.
AnswerRow = Answer
CallRow = ToolCall
ChoiceRecord = ChoiceRow
EventRow = KeptEvent
LegRow = Leg
RosterRow = Roster
SpawnRow = Spawn
ViolationRow = Violation

CALLS_A_SCREEN = 100
CHOICE_ROWS_READ = 400
EVENTS_A_SCREEN = 100
SPAWNS_READ = 100


@dataclass(frozen=True, slots=True)
class SaidRow:
    """A kept text, or why there is none is for the page to say."""

    text: str
    cut: bool


@dataclass(frozen=True, slots=True)
class CallGroup:
    """How many calls of one tool came to one outcome; `first` is the place of the first of them."""

    tool: str | None
    outcome: str
    count: int
    first: int


@dataclass(frozen=True, slots=True)
class HostCheck:
    """The run's own list of calls, the last it sent within this answer."""

    calls: int
    incomplete: bool


@dataclass(frozen=True, slots=True)
class VersionRow:
    """Where an answer stands: enough to know whether a page shows the latest."""

    epoch: int
    version: int
    words_version: int
    ending: str

    @property
    def ended(self) -> bool:
        ending = Ending.known(self.ending)
        return ending is not None and ending.ended


def find_answer(project_id: int, slug: str) -> Answer | None:
    """The answer of the project's present epoch, with its run, or None."""
    return (
        Answer.objects.filter(project_id=project_id, slug=slug, epoch=F("project__epoch"))
        .select_related("run", "project", "stream")
        .first()
    )


def find_version(project_id: int, slug: str) -> VersionRow | None:
    """Asked for every open page again and again: a plain statement, which costs a tenth of building one."""
    for row in ask(_STANDS, project_id, slug):
        return VersionRow(*row)
    return None


_STANDS = (
    "SELECT answer.epoch, answer.version, project.words_version, answer.ending "
    "FROM runs_answer answer JOIN runs_project project ON project.id = answer.project_id "
    "WHERE answer.project_id = %s AND answer.slug = %s AND answer.epoch = project.epoch"
)


def said(answer: Answer) -> dict[str, SaidRow]:
    """The kept texts of the answer by kind: question, answer."""
    places = Q(position=answer.question_at, kind="question") | Q(position=answer.answer_at, kind="answer")
    rows = Text.objects.filter(places, project_id=answer.project_id)
    return {kind: SaidRow(text, cut) for kind, text, cut in rows.values_list("kind", "text", "cut")}


def call_groups(answer_id: int) -> list[CallGroup]:
    """Every call of the answer, counted by tool and outcome, in the order of their first."""
    rows = (
        ToolCall.objects.filter(answer_id=answer_id)
        .order_by()
        .values_list("tool", "outcome")
        .annotate(count=Count("id"), first=Min("number"))
        .order_by("first")
    )
    return [CallGroup(*row) for row in rows]


def calls(
    answer_id: int, *, after: int = 0, only: str | None = None, limit: int = CALLS_A_SCREEN
) -> tuple[list[ToolCall], bool]:
    """The calls after place `after`, in order, and whether there are more. `only`: those of one outcome."""
    rows = ToolCall.objects.filter(answer_id=answer_id, number__gt=after).order_by("number")
    if only is not None:
        rows = rows.filter(outcome=only)
    found = list(rows[: limit + 1])
    return found[:limit], len(found) > limit


def latest_calls(answer_id: int, count: int) -> list[ToolCall]:
    """The last calls, oldest of them first."""
    return list(ToolCall.objects.filter(answer_id=answer_id).order_by("-number")[:count])[::-1]


def latest_choice_rows(answer_id: int, count: int) -> list[ChoiceRow]:
    """The last tool-choice rows, oldest of them first."""
    return list(ChoiceRow.objects.filter(answer_id=answer_id).order_by("-number")[:count])[::-1]


def calls_changed(answer_id: int, since: int, limit: int) -> tuple[list[ToolCallRow], bool]:
    """The calls whose version is after `since`, in order, and whether there are more than `limit`."""
    condition = "answer_id = %s AND version > %s ORDER BY number LIMIT %s"
    found = ask_rows(ToolCallRow, condition, answer_id, since, limit + 1)
    return found[:limit], len(found) > limit


def choice_rows(answer_id: int, limit: int = CHOICE_ROWS_READ) -> list[ChoiceRow]:
    """The tool-choice rows in order, at most `limit`."""
    return list(ChoiceRow.objects.filter(answer_id=answer_id).order_by("number")[:limit])


def classifier_messages(project_id: int, rows: Sequence[ChoiceRow]) -> dict[int, str]:
    """The kept message of each failed reading among `rows`, by position. For operators alone."""
    positions = [row.position for row in rows if row.kind == "pick-error"]
    found = Text.objects.filter(project_id=project_id, position__in=positions, kind="classifier")
    return dict(found.values_list("position", "text"))


def legs(answer_id: int) -> list[Leg]:
    return list(Leg.objects.filter(answer_id=answer_id).select_related("run__stream").order_by("number"))


def spawns(answer_id: int) -> list[Spawn]:
    return list(Spawn.objects.filter(answer_id=answer_id).order_by("position")[:SPAWNS_READ])


def violations(answer_id: int) -> list[Violation]:
    return list(Violation.objects.filter(answer_id=answer_id).order_by("position")[:SPAWNS_READ])


def violation_counts(answer_id: int) -> dict[str, int]:
    rows = Violation.objects.filter(answer_id=answer_id).order_by().values_list("reason")
    return dict(rows.annotate(count=Count("id")))


def rosters(spawned: Sequence[Spawn]) -> dict[int, Roster]:
    """The roster each spawn was judged by, by id."""
    wanted = {spawn.roster for spawn in spawned if spawn.roster is not None}
    return {roster.id: roster for roster in Roster.objects.filter(id__in=wanted)}


def child_runs(project_id: int, epoch: int, spawned: Sequence[Spawn]) -> dict[str, str]:
    """The slugs of the runs that spawns name as their children, where they are on record and only once."""
    names = {spawn.child_run for spawn in spawned if spawn.child_run}
    rows = Run.objects.filter(
        project_id=project_id,
        epoch=epoch,
        stream_id__in={spawn.stream_id for spawn in spawned},
        name__in=names,
    )
    return dict(rows.values_list("name", "slug"))


def host_check(answer: Answer, of_legs: Sequence[Leg]) -> HostCheck | None:
    """The run's own list as last sent between the answer's first and last word; None when it sent none."""
    row = _events(answer, of_legs).filter(type="footprint.answer.checked").order_by("-id").first()
    if row is None:
        return None
    view = kept.decode_body(row.type, row.body).body.tool_calls
    return HostCheck(len(view.calls), bool(view.incomplete))


def events(
    answer: Answer, of_legs: Sequence[Leg], after: int = 0, limit: int = EVENTS_A_SCREEN
) -> tuple[list[KeptEvent], bool]:
    """The events of the answer's runs as kept, from its first word to its last, after position `after`."""
    start = answer.project_id << ID_BITS
    found = list(_events(answer, of_legs).filter(id__gt=start | after).order_by("id")[: limit + 1])
    return found[:limit], len(found) > limit


def position_of(row: KeptEvent) -> int:
    return row.id & ((1 << ID_BITS) - 1)


def _events(answer: Answer, of_legs: Sequence[Leg]) -> QuerySet[KeptEvent]:
    start = answer.project_id << ID_BITS
    of_runs = Q(pk__in=[])
    for leg in of_legs:
        of_runs |= Q(stream_id=leg.run.stream_id, run=leg.run.name)
    return KeptEvent.objects.filter(
        of_runs, id__gte=start | answer.opened_position, id__lte=start | answer.version
    )


def model_calls(answer: Answer, of_legs: Sequence[Leg], limit: int) -> list[KeptEvent]:
    """The starts and ends of the model's calls as kept, for the timeline, in order, at most `limit`."""
    wanted = _events(answer, of_legs).filter(type__in=["stream.llm_start", "stream.llm_end"])
    return list(wanted.order_by("id")[:limit])
