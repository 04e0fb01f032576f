"""What lies behind an answer, for operators: names and ids, the tool choice, spawns, the plot, events as kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.urls import reverse

from runs.pages.addresses import run_href
from runs.pages.model_calls import model_items
from runs.pages.timeline import Item, Timeline, timeline
from runs.rules import words
from runs.rules.vocabulary import Outcome, RosterReason, ToolStatus
from runs.store import reads_answer as reads
from runs.store.second_readings import SecondReading

from .choices import model_call, steps
from .reader import Material, ending_of, outcome_of, reader_answer, runs_of, seen_call
from .second import second_readings
from .shapes import (
    EventLine,
    EventList,
    Fact,
    ModelCalls,
    OperatorAnswer,
    OperatorBlock,
    OperatorCall,
    RosterViolation,
    SpawnSeen,
)

MODEL_CALLS_A_SCREEN = 10  # each has a menu of dozens of tools
MODEL_CALLS_FOLLOWED = 40  # of an answer that grows: its page has no further screens
MODEL_CALLS_DRAWN = 240  # events: a start and an end each


@dataclass(frozen=True, slots=True)
class Behind:
    """The further rows an operator's page is made of."""

    legs: list[reads.LegRow]
    messages: dict[int, str]
    spawns: list[reads.SpawnRow]
    rosters: dict[int, reads.RosterRow]
    children: dict[str, str]
    violations: list[reads.ViolationRow]
    host: reads.HostCheck | None
    model_events: list[reads.EventRow]
    second: list[SecondReading] = field(default_factory=list)


def operator_answer(material: Material, behind: Behind, *, followed: bool = False) -> OperatorAnswer:
    """`followed`: for a page that is sent what changes, and has been sent all of it so far."""
    answer, project = material.answer, material.project
    seen = reader_answer(material)
    calls = operator_calls(material.calls, material, behind.legs)
    shown = model_calls(material, behind, in_one=followed or not seen.ending.ended)
    spawned = {spawn.id for spawn in behind.spawns}
    return OperatorAnswer(
        seen=seen,
        facts=_facts(answer, behind.legs),
        blocks=operator_blocks(calls, seen.ending.ended),
        model_calls=shown.calls,
        model_calls_left=shown.left,
        model_calls_href=shown.more_href,
        second_readings=second_readings(behind.second, material.calls, material.words),
        spawns=tuple(_spawn(spawn, material, behind) for spawn in behind.spawns),
        other_violations=tuple(_violation(row) for row in behind.violations if row.spawn_id not in spawned),
        host_check=_host_check(answer, behind.host),
        host_agrees={"agrees": True, "differs": False}.get(answer.host_check),
        timeline=_timeline(material, behind.model_events),
        events_href=reverse("answer-events", args=[project.key, answer.slug]),
    )


def operator_calls(
    rows: Sequence[reads.CallRow], material: Material, legs: Sequence[reads.LegRow]
) -> list[OperatorCall]:
    ending = ending_of(material.answer)
    leg_of = {leg.run_id: leg.number for leg in legs}
    return [
        OperatorCall(
            seen=seen_call(row, ending, material.words),
            tool=row.tool,
            call_id=row.call_id,
            status=ToolStatus.read(row.status or None),
            iteration=row.iteration,
            path=row.path if row.path != material.answer.path else "",
            leg=leg_of.get(row.run_id, 1),
        )
        for row in rows
    ]


def operator_blocks(calls: Sequence[OperatorCall], folding: bool) -> tuple[OperatorBlock, ...]:
    runs = runs_of(calls, lambda call: (call.tool, call.seen.outcome, call.seen.late, call.status), folding)
    return tuple(OperatorBlock(run[0], run, words.times(len(run))) for run in runs)


def model_calls(material: Material, behind: Behind, *, after: int = 0, in_one: bool = False) -> ModelCalls:
    """A screen of model calls with their tool choice: those after place `after`. `in_one`: as many as are followed."""
    found = [step for step in steps(material.choices) if step.number > after]
    leg_of = {leg.run_id: leg.number for leg in behind.legs}
    size = MODEL_CALLS_FOLLOWED if in_one else MODEL_CALLS_A_SCREEN
    calls = tuple(
        model_call(
            step,
            leg_of.get(step.run_id, 1),
            material.words,
            behind.messages.get(step.reading.position, "") if step.reading is not None else "",
        )
        for step in found[:size]
    )
    goes_on = len(found) > size
    here = reverse("answer-choices", args=[material.project.key, material.answer.slug])
    unread = material.answer.choice_rows > len(material.choices)
    return ModelCalls(
        calls=calls,
        left="The first model calls are shown; the others are among the events."
        if (goes_on and in_one) or (unread and not goes_on)
        else "",
        more_href=f"{here}?{urlencode({'after': calls[-1].number})}" if goes_on and not in_one else "",
    )


def event_list(material_project: str, slug: str, rows: Sequence[reads.EventRow], more: bool) -> EventList:
    lines = tuple(
        EventLine(reads.position_of(row), row.seq, row.type, row.received_ms, _pretty(row.body))
        for row in rows
    )
    here = reverse("answer-events", args=[material_project, slug])
    return EventList(lines, f"{here}?{urlencode({'after': lines[-1].position})}" if more else "")


def _pretty(body: str) -> str:
    """One line, as kept; integers keep every digit."""
    stored = json.loads(body)
    return json.dumps({"payload": stored.get("p", {}), "meta": stored.get("m", {})}, ensure_ascii=False)


def _facts(answer: reads.AnswerRow, legs: Sequence[reads.LegRow]) -> tuple[Fact, ...]:
    run = answer.run
    found = [
        ("agent", run.agent),
        ("model", " · ".join(part for part in (run.provider, run.model) if part)),
        ("composition", run.composition),
        ("path", answer.path),
        ("run", run.name),
        *((f"leg {leg.number}", leg.run.name) for leg in legs if leg.number > 1),
        ("session", answer.session or run.session),
        ("tenant", run.tenant),
        ("trace", run.trace),
        ("stream", answer.stream.name),
        ("model calls", str(answer.llm_calls)),
        ("steps", str(answer.iteration)),
        ("tokens in / out", _tokens(answer)),
        ("asked for and never sent", str(answer.undispatched) if answer.undispatched else ""),
        ("position", str(answer.version)),
    ]
    return tuple(Fact(name, value) for name, value in found if value)


def _tokens(answer: reads.AnswerRow) -> str:
    counts = (answer.input_tokens, answer.output_tokens)
    if counts == (None, None):
        return ""
    return " / ".join(words.NOT_RECORDED if count is None else f"{count:,}" for count in counts)


def _host_check(answer: reads.AnswerRow, host: reads.HostCheck | None) -> str:
    listed = answer.worked + answer.failed + answer.never_ran
    return words.host_ledger(
        answer.host_check == "agrees", listed, host.calls if host is not None and answer.host_check else None
    )


def _spawn(spawn: reads.SpawnRow, material: Material, behind: Behind) -> SpawnSeen:
    slug = behind.children.get(spawn.child_run or "", "")
    roster = behind.rosters.get(spawn.roster or 0)
    return SpawnSeen(
        tool=spawn.tool,
        words=material.words.display_name_of(spawn.tool) or "",
        call_id=spawn.call_id or "",
        received_ms=spawn.received_ms,
        child=spawn.child_run or "",
        child_href=run_href(material.project.key, slug) if slug else "",
        products=tuple(_product(item) for item in json.loads(spawn.products)),
        denied=tuple(json.loads(spawn.denied)) if spawn.denied else (),
        roster=_roster(roster),
        refused=_refused(spawn),
        violations=tuple(_violation(row) for row in behind.violations if row.spawn_id == spawn.id),
    )


def _roster(roster: reads.RosterRow | None) -> str:
    if roster is None or (roster.entries is None and not roster.reason):
        return words.no_roster()
    if roster.entries is None:
        return roster.sentence or RosterReason.SHAPE.sentence
    names = [_product(item) for item in json.loads(roster.entries)]
    return f"Its roster: {', '.join(names)}." if names else "Its roster is empty: nothing may be injected."


def _product(item: dict[str, object]) -> str:
    aliases = item.get("aliases")
    also = f" (also {', '.join(map(str, aliases))})" if isinstance(aliases, list) and aliases else ""
    origin = f" [{item['contentOrigin']}]" if item.get("contentOrigin") else ""
    return f"{item.get('name', '')}{also}{origin}"


def _refused(spawn: reads.SpawnRow) -> str:
    if not spawn.refused:
        return ""
    reason = RosterReason.known(spawn.refused_reason)
    return f"The host refused it: {reason.word}." if reason is not None else "The host refused it."


def _violation(row: reads.ViolationRow) -> RosterViolation:
    return RosterViolation(RosterReason.known(row.reason) or RosterReason.SHAPE, row.offender, row.sentence)


def _timeline(material: Material, events: Sequence[reads.EventRow]) -> Timeline | None:
    """Calls and model calls on the sender's clock; what has no time on it cannot be placed."""
    items = [_call_item(row, material) for row in material.calls if row.opened_clock_ms is not None]
    items += model_items(events)
    return timeline(items, material.answer.ended_clock_ms)


def _call_item(row: reads.CallRow, material: Material) -> Item:
    start = row.opened_clock_ms or 0
    is_open = row.outcome == Outcome.OPEN
    end = None if is_open else start + (row.duration_ms or 0)
    name = material.words.display_name_of(row.tool) or row.tool or words.UNNAMED_CALL
    return Item(name, "call", start, end, outcome_of(row), f"call-{row.number}")
