"""How the reader's part of the answer page is made: from the rows on record and the app's words, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.urls import reverse

from runs.pages.addresses import run_href
from runs.pages.fragments import LiveTag
from runs.rules import kept, words, zones
from runs.rules.display_name import MAX_NAMED_CALLS
from runs.rules.vocabulary import Ending, IncompleteReason, Outcome, RosterReason, StopReason
from runs.store import reads_answer as reads
from runs.store.people import ProjectRow
from runs.store.words import Words

from .choices import effects
from .shapes import CallList, Grounds, NotKnown, ReaderAnswer, Said, SeenBlock, SeenCall

One = TypeVar("One")

FOLD_FROM = 3
"""So many calls next to each other that read the same are folded into one line."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How somebody wants to see the page: only calls of one outcome, the words as they were then, following or not."""

    only: Outcome | None = None
    words_then: bool = False


@dataclass(frozen=True, slots=True)
class Material:
    """The rows one page is made of, read once."""

    project: ProjectRow
    answer: reads.AnswerRow
    words: Words
    said: dict[str, reads.SaidRow]
    groups: list[reads.CallGroup]
    calls: list[reads.CallRow]
    more_calls: bool
    choices: list[reads.ChoiceRecord]
    violations: dict[str, int]
    asked: Asked


def reader_answer(material: Material) -> ReaderAnswer:
    answer, project, asked = material.answer, material.project, material.asked
    ending = ending_of(answer)
    reasons = [reason for word in answer.reasons.split(",") if (reason := IncompleteReason.known(word))]
    verdict = words.completeness(reasons, ending.ended)
    question = _said(material, "question", answer.question_at)
    through = material.calls[-1].number if material.calls else 0
    listing = _listing(material, through)
    return ReaderAnswer(
        slug=answer.slug,
        title=_title(answer, project.time_zone),
        run_href=run_href(project.key, answer.run.slug),
        turn=_turn(answer),
        question=question,
        answer=_said(material, "answer", answer.answer_at),
        asked_by=answer.run.principal,
        ending=ending,
        stands=_stands(answer, ending, project.time_zone),
        running=ending is Ending.RUNNING,
        opened_ms=answer.opened_ms,
        ended_ms=answer.ended_ms if ending.ended else None,
        took=words.duration_words(_took(answer)) if ending.ended else "",
        pauses="" if answer.legs < 2 else f"Continued {words.times(answer.legs - 1)} after a pause.",
        late=answer.late,
        rests_on=_rests_on(material, ending, verdict.complete),
        complete=verdict.complete,
        verdict=verdict.text,
        cannot_know=tuple(
            _not_known(material, sentence)
            for sentence in words.cannot_know(reasons)
            if sentence.group is not IncompleteReason.NOT_ENDED  # the verdict says it already
        ),
        shown=effects(material.choices),
        helpers=words.helpers(answer.spawns) if answer.spawns else "",
        roster_problems=_roster_problems(material.violations),
        blocks=fold([seen_call(row, ending, material.words) for row in material.calls], ending.ended),
        list=listing,
        words_then=asked.words_then,
        words_href=_words_href(material),
        live=LiveTag(
            page="answer",
            project=project.key,
            slug=answer.slug,
            epoch=answer.epoch,
            version=answer.version,
            words=material.words.version,
            following=not ending.ended,
        )
        if asked == Asked()
        else None,
    )


def ending_of(answer: reads.AnswerRow) -> Ending:
    return Ending.known(answer.ending) or Ending.UNKNOWN


def outcome_of(row: reads.CallRow) -> Outcome:
    return Outcome.known(row.outcome) or Outcome.OPEN


def seen_call(row: reads.CallRow, ending: Ending, said: Words) -> SeenCall:
    name = said.display_name_of(row.tool)
    outcome = outcome_of(row)
    return SeenCall(
        number=row.number,
        words=name or words.UNNAMED_CALL,
        named=name is not None,
        outcome=outcome,
        word=outcome.word_in(ending),
        opened_ms=row.opened_ms if row.opened_ms is not None else row.closed_ms,
        took=_call_took(row, outcome),
        late=row.late,
    )


def _call_took(row: reads.CallRow, outcome: Outcome) -> str:
    """Nothing for a call that has not ended or never ran: it took no time that could be missing."""
    if outcome is Outcome.OPEN or (outcome is Outcome.NOT_RUN and row.duration_ms is None):
        return ""
    return words.duration_words(row.duration_ms)


def fold(calls: Sequence[SeenCall], folding: bool) -> tuple[SeenBlock, ...]:
    """Calls next to each other that read the same, as one block; each alone while the answer still grows."""
    runs = runs_of(calls, lambda call: (call.words, call.outcome, call.late), folding)
    return tuple(SeenBlock(run[0], run, words.times(len(run))) for run in runs)


def runs_of(items: Iterable[One], key: Callable[[One], object], folding: bool) -> list[tuple[One, ...]]:
    """Neighbours of one key together where there are at least `FOLD_FROM` of them, else each alone."""
    found: list[list[One]] = []
    for item in items:
        if found and folding and key(found[-1][0]) == key(item):
            found[-1].append(item)
        else:
            found.append([item])
    return [
        part for run in found for part in ([tuple(run)] if len(run) >= FOLD_FROM else [(one,) for one in run])
    ]


# -- parts ------------------------------------------------------------------------------------------


def _said(material: Material, kind: str, position: int | None) -> Said:
    found = material.said.get(kind)
    if found is not None:
        return Said(found.text, words.text_cut(kept.MAX_TEXT_BYTES // 1024) if found.cut else "")
    if position is None and kind == "answer":
        return Said(None, words.no_answer_yet(ending_of(material.answer)))
    if not material.project.keep_text:
        return Said(None, words.text_not_kept())
    if position is None:
        return Said(None, words.question_not_recorded())
    return Said(None, words.text_forgotten())


def _title(answer: reads.AnswerRow, zone: str) -> str:
    """What a tab and a history say: never the question, whose words may be the model's own."""
    when = zones.moment(answer.opened_ms, zone)
    return f"Answer, {when:%d %b %H:%M}" if when else "Answer"


def _turn(answer: reads.AnswerRow) -> str:
    if answer.run.answers <= 1:
        return ""
    return words.capital(words.part(answer.number)) if answer.run.composition else f"Turn {answer.number}"


def _stands(answer: reads.AnswerRow, ending: Ending, zone: str) -> str:
    reason = StopReason.read(answer.stop_reason) if answer.stop_reason else None
    return words.how_it_ended(ending, since=clock_words(answer.last_ms, zone), stopped_reason=reason)


def clock_words(ms: int, zone: str) -> str:
    at = zones.moment(ms, zone)
    return words.UNKNOWN if at is None else f"{at:%H:%M}"


def _took(answer: reads.AnswerRow) -> int | None:
    if answer.duration_ms is not None and answer.legs == 1:
        return answer.duration_ms
    if answer.opened_clock_ms is not None and answer.ended_clock_ms is not None:
        return answer.ended_clock_ms - answer.opened_clock_ms
    return None


def _rests_on(material: Material, ending: Ending, complete: bool) -> tuple[Grounds, ...]:
    said = material.words
    names: dict[str, list[str | None]] = {outcome.value: [] for outcome in Outcome}
    counts: dict[str, int] = dict.fromkeys(names, 0)
    distinct: dict[str, set[str]] = {outcome: set() for outcome in names}
    for group in material.groups:
        name = said.display_name_of(group.tool)
        # A name that is said once covers all its calls; those beyond the names that are said are only counted.
        if name is not None:
            distinct[group.outcome].add(name)
        covered = name is not None and len(distinct[group.outcome]) <= MAX_NAMED_CALLS
        names[group.outcome] += [name] if covered else [None] * group.count
        counts[group.outcome] += group.count
    sentences = words.rests_on(
        *(names[outcome] for outcome in (Outcome.OK, Outcome.ERROR, Outcome.NOT_RUN, Outcome.OPEN)),
        ending=ending,
        incomplete=not complete,
    )
    grounds = []
    for sentence in sentences:
        outcome = Outcome.known(sentence.group)
        calls = 0 if outcome is None else counts[outcome]
        grounds.append(Grounds(sentence.text, outcome, calls, _why(material, outcome) if calls else ""))
    return tuple(grounds)


def _why(material: Material, outcome: Outcome | None) -> str:
    """Where the rows of one outcome stand: on this page, or, in a long list, on the page of these rows alone."""
    if outcome is None:
        return ""
    if not material.more_calls and material.asked.only is None:
        return f"#why-{outcome}"
    return f"?{urlencode(_query(material, only=outcome))}#why-{outcome}"


def _not_known(material: Material, sentence: words.Sentence) -> NotKnown:
    reason = IncompleteReason.known(sentence.group) or IncompleteReason.NOT_OBSERVED
    has_open = any(group.outcome == Outcome.OPEN for group in material.groups)
    href = _why(material, Outcome.OPEN) if reason is IncompleteReason.STILL_OPEN and has_open else ""
    return NotKnown(sentence.text, reason, href)


def _roster_problems(counts: dict[str, int]) -> tuple[str, ...]:
    told = words.roster_for_readers(
        counts.get(RosterReason.UNDECLARED_NAME, 0),
        counts.get(RosterReason.UNDECLARED_ORIGIN, 0),
        unreadable=bool(counts.get(RosterReason.SHAPE)),
    )
    return tuple(sentence.text for sentence in told)


def _listing(material: Material, through: int) -> CallList:
    answer, only = material.answer, material.asked.only
    here = reverse("answer", args=[material.project.key, answer.slug])
    more = reverse("answer-calls", args=[material.project.key, answer.slug])
    counted = {g.outcome: 0 for g in material.groups}
    for group in material.groups:
        counted[group.outcome] += group.count
    return CallList(
        through=through,
        whole=not material.more_calls and only is None,
        shown=len(material.calls),
        of=counted.get(only, 0) if only is not None else sum(counted.values()),
        only=only,
        all_href=f"{here}{_tail(_query(material, only=None))}#calls",
        more_href=f"{more}{_tail({'after': through, **_query(material, only=only)})}"
        if material.more_calls
        else "",
    )


def _words_href(material: Material) -> str:
    here = reverse("answer", args=[material.project.key, material.answer.slug])
    return here if material.asked.words_then else f"{here}?words=then"


def _query(material: Material, only: Outcome | None) -> dict[str, str]:
    query = {"words": "then"} if material.asked.words_then else {}
    return {**query, "only": only.value} if only is not None else query


def _tail(query: dict[str, Any]) -> str:
    return f"?{urlencode(query)}" if query else ""
