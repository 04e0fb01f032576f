"""What second readings ask and write: answers without a reading of their own, and the model calls of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runs.models import Answer, Project, SecondReading, Text
from runs.rules.kept import decode_body
from runs.rules.tool_choice import ToolCandidate
from runs.rules.vocabulary import Ending
from runs.store import reads_answer

ANSWERS_A_STEP: Final = 20
MODEL_CALLS: Final = 200  # of one answer; a longer one is read so far
PATIENCE_MS: Final = 3_600_000
"""So long an answer that has not ended is waited for; then those after it go first, and it has no second reading."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A project that wants second readings."""

    project_id: int
    epoch: int
    name: str
    after: int  # answers opened up to this position are looked at


@dataclass(frozen=True, slots=True)
class Unread:
    """One model call to be read."""

    answer: str
    position: int
    iteration: int
    message: str
    tools: tuple[ToolCandidate, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What comes next of a project, and where it goes on after that. `waits`: the next answer has not ended."""

    unread: tuple[Unread, ...]
    through: int
    waits: bool

    def went_on(self, reader: Reader) -> bool:
        return self.through > reader.after


@dataclass(frozen=True, slots=True)
class Made:
    """One reading, made. `body` is `rules.second_reading.second_row`."""

    of: Unread
    body: str


def readers() -> list[Reader]:
    rows = Project.objects.exclude(second_reader="").order_by("pk")
    return [Reader(*row) for row in rows.values_list("pk", "epoch", "second_reader", "second_read_to")]


def next_step(reader: Reader, now_ms: int) -> Step:
    """The next answers in the order they opened, up to one that is still at work."""
    answers = Answer.objects.filter(
        project_id=reader.project_id, epoch=reader.epoch, opened_position__gt=reader.after
    ).order_by("opened_position", "id")[:ANSWERS_A_STEP]
    unread: list[Unread] = []
    through = reader.after
    for answer in answers:
        ending = Ending.known(answer.ending)
        if (ending is None or not ending.ended) and answer.last_ms > now_ms - PATIENCE_MS:
            return Step(tuple(unread), through, True)
        if not answer.choice_rows and answer.llm_calls:
            unread += _model_calls(answer)
        through = answer.opened_position
    return Step(tuple(unread), through, False)


def _model_calls(answer: Answer) -> list[Unread]:
    """The starts of the answer's model calls that were offered tools; none where its question is not kept."""
    message = _question(answer)
    if not message:
        return []
    found = []
    for row in reads_answer.model_calls(answer, reads_answer.legs(answer.pk), 2 * MODEL_CALLS):
        if row.type != "stream.llm_start":
            continue
        event = decode_body(row.type, row.body)
        offered = {tool.name: tool.description or "" for tool in event.body.tools or () if tool.name}
        if offered and event.path == answer.path:
            found.append(
                Unread(
                    answer.slug,
                    reads_answer.position_of(row),
                    event.body.iteration or 0,
                    message,
                    tuple(ToolCandidate(name, words) for name, words in offered.items()),
                )
            )
    return found


def _question(answer: Answer) -> str:
    if answer.question_at is None:
        return ""
    texts = Text.objects.filter(project_id=answer.project_id, position=answer.question_at)
    return texts.values_list("text", flat=True).first() or ""


def keep(reader: Reader, step: Step, made: Sequence[Made], now_ms: int) -> bool:
    """Write what was made, unless the project changed its mind meanwhile, or the answers left.

    Expects a transaction. Another process may have made the same: it stands once, and nobody goes back.
    """
    project = Project.objects.select_for_update().filter(pk=reader.project_id).first()
    if project is None or project.second_reader != reader.name or project.epoch != reader.epoch:
        return False
    slugs = {one.of.answer for one in made}
    there = set(
        Answer.objects.filter(project=project, epoch=project.epoch, slug__in=slugs).values_list(
            "slug", flat=True
        )
    )
    SecondReading.objects.bulk_create(
        [
            SecondReading(
                project=project,
                answer=one.of.answer,
                position=one.of.position,
                iteration=one.of.iteration,
                reader=reader.name,
                made_ms=now_ms,
                body=one.body,
            )
            for one in made
            if one.of.answer in there
        ],
        ignore_conflicts=True,
    )
    Project.objects.filter(pk=project.pk, second_read_to__lt=step.through).update(second_read_to=step.through)
    return True


def of_answer(project_id: int, slug: str, limit: int) -> list[SecondReading]:
    """The second readings of an answer, in the order of its model calls."""
    return list(
        SecondReading.objects.filter(project_id=project_id, answer=slug).order_by("position", "id")[:limit]
    )
