"""What lies behind a run, for operators: its names and ids, what it spawned, what was not declared, its timeline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from runs.pages.model_calls import model_items
from runs.pages.timeline import Item, Timeline, timeline
from runs.rules import words
from runs.rules.vocabulary import ContentClass, Outcome, RosterReason
from runs.store import reads_run
from runs.store.people import ProjectRow
from runs.store.reads_run import AnswerLine, LegLine, SpawnLine, ViolationLine
from runs.store.words import Words, read_words


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Product:
    """One tool a delegation injected. `problems` are the roster's sentences about it."""

    name: str
    words: str
    aliases: tuple[str, ...]
    origin: ContentClass
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SpawnNode:
    """One delegation of the run, a branch of its tree."""

    number: int
    tool: str
    words: str
    answer: str  # the label of the answer it belongs to
    received_ms: int
    child_href: str
    products: tuple[Product, ...]
    denied: tuple[str, ...]
    roster: str  # said where no roster was declared
    refused: str  # the host's own refusal
    problems: tuple[str, ...]  # beside those of its products


@dataclass(frozen=True, slots=True)
class Behind:
    facts: tuple[Fact, ...]
    spawns: tuple[SpawnNode, ...]
    other_violations: tuple[str, ...]  # of no delegation: a roster that is not one
    missed: int
    timeline: Timeline | None


def behind_of(
    project: ProjectRow, run: reads_run.Run, answers: Sequence[AnswerLine], legs: Sequence[LegLine]
) -> Behind:
    said = read_words(project.id, project.epoch)
    answer_ids = [answer.id for answer in answers]
    violations = reads_run.violations(run, answer_ids)
    numbers = {answer.id: answer.number for answer in answers} if len(answers) > 1 else {}
    spawns = reads_run.spawns(run, answer_ids)
    return Behind(
        facts=_facts(run),
        spawns=tuple(
            _node(project, number, spawn, numbers, violations, said)
            for number, spawn in enumerate(spawns, start=1)
        ),
        other_violations=tuple(row.sentence for row in violations if row.spawn_id is None),
        missed=run.missed,
        timeline=_timeline(run, answers, legs, said),
    )


def _facts(run: reads_run.Run) -> tuple[Fact, ...]:
    told = (
        ("Agent", run.agent),
        ("Model", run.model),
        ("Provider", run.provider),
        ("Composition", run.composition),
        ("Run", run.name),
        ("Session", run.session),
        ("Principal", run.principal),
        ("Tenant", run.tenant),
        ("Trace", run.trace),
    )
    return tuple(Fact(name, value) for name, value in told if value)


def _node(
    project: ProjectRow,
    number: int,
    spawn: SpawnLine,
    numbers: dict[int, int],
    violations: Sequence[ViolationLine],
    said: Words,
) -> SpawnNode:
    mine = [row for row in violations if row.spawn_id == spawn.id]
    products = tuple(_product(item, mine, said) for item in json.loads(spawn.products))
    names = {product.name for product in products}
    reason = RosterReason.known(spawn.refused_reason)
    answer = numbers.get(spawn.answer_id or 0)
    return SpawnNode(
        number=number,
        tool=spawn.tool,
        words=said.display_name_of(spawn.tool) or "",
        answer="" if answer is None else f"answer {answer}",
        received_ms=spawn.received_ms,
        child_href=reverse("run", args=[project.key, spawn.child_slug]) if spawn.child_slug else "",
        products=products,
        denied=tuple(json.loads(spawn.denied)) if spawn.denied else (),
        roster="" if spawn.judged else words.no_roster(),
        refused=""
        if not spawn.refused
        else f"The host refused it: {reason.word if reason else 'no reason given'}.",
        problems=tuple(row.sentence for row in mine if row.offender not in names),
    )


def _product(item: dict[str, object], violations: Sequence[ViolationLine], said: Words) -> Product:
    name = str(item.get("name") or "")
    aliases = item.get("aliases")
    return Product(
        name=name,
        words=said.display_name_of(name) or "",
        aliases=tuple(map(str, aliases)) if isinstance(aliases, list) else (),
        origin=ContentClass.read(item.get("contentOrigin")),
        problems=tuple(row.sentence for row in violations if row.offender == name),
    )


def _timeline(
    run: reads_run.Run, answers: Sequence[AnswerLine], legs: Sequence[LegLine], said: Words
) -> Timeline | None:
    """Calls, model calls and waits on the sender's clock; what has no time on it cannot be placed."""
    calls = reads_run.calls([answer.id for answer in answers])
    items = [
        Item(
            said.display_name_of(call.tool) or call.tool or words.UNNAMED_CALL,
            "call",
            call.opened_clock_ms,
            None if call.outcome == Outcome.OPEN else call.opened_clock_ms + (call.duration_ms or 0),
            Outcome.known(call.outcome),
        )
        for call in calls
        if call.opened_clock_ms is not None
    ]
    items += model_items(reads_run.model_events(run, legs))
    items += _waits(run, legs)
    return timeline(items, run.last_clock_ms)


def _waits(run: reads_run.Run, legs: Sequence[LegLine]) -> list[Item]:
    """Between the end of one leg and the beginning of the next, a person was asked."""
    waits = []
    before = run.last_clock_ms
    for leg in sorted(legs, key=lambda leg: leg.begun_ms):
        if before is not None and leg.begun_clock_ms is not None and leg.begun_clock_ms > before:
            waits.append(Item("waited for a person", "pause", before, leg.begun_clock_ms))
        before = leg.last_clock_ms
    return waits
