"""The tool choice around each model call of an answer: for readers its effect, for operators all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from runs.rules import kept, words
from runs.rules.tool_choice import ALWAYS_SERVED_TOOLS
from runs.rules.vocabulary import NarrowSkip
from runs.store import reads_answer as reads
from runs.store.words import Words

from .shapes import Effect, MenuItem, ModelCall, RankBar

_EVENTS = {"pick": "tool_choice.picked", "pick-error": "tool_choice.failed", "outcome": "tool_choice.outcome"}


@dataclass(frozen=True, slots=True)
class Step:
    """One model call: the reading before it and the outcome after it, as far as they are on record."""

    number: int
    run_id: int
    iteration: int
    reading: reads.ChoiceRecord | None
    outcome: reads.ChoiceRecord | None


def steps(rows: Sequence[reads.ChoiceRecord]) -> list[Step]:
    """The rows as model calls, in order. Where an agent sent full rows and counting events, the full rows stand."""
    full = {(row.run_id, row.iteration, row.kind) for row in rows if row.origin == "row"}
    found: list[Step] = []
    last: dict[tuple[int, int], int] = {}
    for row in rows:
        if row.origin != "row" and (row.run_id, row.iteration, row.kind) in full:
            continue
        key = (row.run_id, row.iteration)
        is_outcome = row.kind == "outcome"
        step = found[last[key]] if key in last else None
        if step is None or (step.outcome if is_outcome else step.reading) is not None:
            last[key] = len(found)
            found.append(Step(row.number, *key, None if is_outcome else row, row if is_outcome else None))
        elif is_outcome:
            found[last[key]] = Step(step.number, *key, step.reading, row)
        else:
            found[last[key]] = Step(step.number, *key, row, step.outcome)
    return found


class _Menu(msgspec.Struct):
    """Of a kept row, what is counted: lists of a full row, numbers of an event. A page reads hundreds of them."""

    served: Any = None
    offered: Any = None
    wire: Any = None


_MENU = msgspec.json.Decoder(_Menu)


def effects(rows: Sequence[reads.ChoiceRecord]) -> tuple[Effect, ...]:
    """What narrowing did to the steps of an answer, without names, in the order of their first; each sentence once."""
    counted: dict[str, int] = {}
    for step in steps(rows):
        if step.reading is None:
            continue
        served, offered = _counts(step.reading, _MENU.decode(step.reading.body))
        skipped = NarrowSkip.known(step.reading.skipped)
        if skipped is None and (served is None or offered is None):
            continue
        sentence = words.narrowing_for_readers(step.reading.narrowed, served or 0, offered or 0, skipped)
        counted[sentence] = counted.get(sentence, 0) + 1
    return tuple(Effect(sentence, count) for sentence, count in counted.items())


def body_of(row: reads.ChoiceRecord) -> Any:
    """The kept row again, read through the list: the full row, or the framework's event that only counts."""
    name = "footprint.tool_choice.row" if row.origin == "row" else _EVENTS[row.kind]
    return kept.decode_body(name, f'{{"p":{row.body}}}').body


def model_call(step: Step, leg: int, said: Words, message: str) -> ModelCall:
    """One step with everything on record about it."""
    reading = None if step.reading is None else body_of(step.reading)
    after = None if step.outcome is None else body_of(step.outcome)
    called = tuple(after.called or ()) if after is not None else ()
    wanted = _wanted(after)
    menu = _menu(reading, called, said)
    return ModelCall(
        number=step.number,
        iteration=step.iteration,
        leg=leg,
        narrowing=_narrowing(step.reading, reading),
        skipped=None if step.reading is None else NarrowSkip.known(step.reading.skipped),
        menu=menu,
        counts=_menu_counts(menu),
        ranked=_bars(reading, called, said),
        unranked=_unranked(reading),
        chosen=getattr(reading, "chosen", None) or "",
        called=called,
        called_known=after is not None,
        agreement=_agreement(step.outcome, len(called), len(wanted)),
        agrees=None if step.outcome is None else step.outcome.agrees,
        missed=wanted,
        confidence=_number(getattr(reading, "confidence", None)),
        latency=words.duration_words(getattr(reading, "latency_ms", None)),
        tokens=_tokens(reading),
        classifier=_classifier(reading),
        failure=_failure(step.reading, reading, message),
    )


def _counts(row: reads.ChoiceRecord, body: Any) -> tuple[int | None, int | None]:
    """How many tools the model call was served, of how many on the wire; None where the record does not say."""
    served, offered = getattr(body, "served", None), getattr(body, "offered", None)
    if row.origin != "row":
        # The event counts the candidates; the doors, which are always served, are not among them.
        return served, None if offered is None else max(offered, served or 0)
    if served is None:
        return None, None
    if (wire := body.wire) is not None:
        return len(served), len(wire)
    doors = [name for name in served if name not in (offered or ())]
    return len(served), len(offered) + len(doors) if offered is not None else len(served)


def _narrowing(row: reads.ChoiceRecord | None, body: Any) -> str:
    if row is None:
        return "No reading before this call is on record."
    served, offered = _counts(row, body)
    if row.narrowed and (served is None or offered is None):
        return "Narrowed; how far is not recorded."
    return words.narrowing_for_operators(
        row.narrowed, served or 0, offered or 0, NarrowSkip.known(row.skipped)
    )


def _menu(body: Any, called: Sequence[str], said: Words) -> tuple[MenuItem, ...]:
    """The numbered menu in the wire's order; where the wire is not on record, what was offered and what was served."""
    served = getattr(body, "served", None)
    if not isinstance(served, list):
        return ()
    offered = body.offered or []
    wire = body.wire if body.wire is not None else [*offered, *(n for n in served if n not in offered)]
    doors = {*ALWAYS_SERVED_TOOLS, *(body.doors or ())}
    return tuple(
        MenuItem(
            place=place,
            tool=name,
            words=said.display_name_of(name) or "",
            state="left out" if name not in served else ("held" if name in doors else "served"),
            chosen=name == body.chosen,
            called=name in called,
        )
        for place, name in enumerate(wire, start=1)
    )


def _menu_counts(menu: Sequence[MenuItem]) -> str:
    told = [
        (sum(1 for item in menu if item.state == state), state) for state in ("served", "held", "left out")
    ]
    return ", ".join(f"{count} {state}" for count, state in told if count)


def _bars(body: Any, called: Sequence[str], said: Words) -> tuple[RankBar, ...]:
    ranked = getattr(body, "ranked", None) or []
    highest = max((score.score for score in ranked if score.score is not None), default=0)
    return tuple(
        RankBar(
            tool=score.name,
            words=said.display_name_of(score.name) or "",
            score=_number(score.score),
            width=round(100 * max(0.0, score.score or 0) / highest) if highest > 0 else 0,
            chosen=score.name == body.chosen,
            called=score.name in called,
        )
        for score in ranked
    )


def _unranked(body: Any) -> tuple[str, ...]:
    offered = getattr(body, "offered", None)
    if not isinstance(offered, list) or body.kind != "pick":
        return ()
    ranked = {score.name for score in body.ranked or ()}
    return tuple(name for name in offered if name not in ranked)


def _wanted(after: Any) -> tuple[str, ...]:
    if after is None:
        return ()
    if isinstance(after, kept.ToolChoiceRow):
        return tuple(after.miss.wanted) if after.miss is not None else ()
    return tuple(after.missed or ())


def _agreement(row: reads.ChoiceRecord | None, called: int, wanted: int) -> str:
    if row is None:
        return "What the model called is not recorded."
    return words.agreement_for_operators(row.agrees, called, wanted)


def _classifier(body: Any) -> str:
    who = getattr(body, "classifier", None)
    return "" if who is None else " · ".join(part for part in (who.name, who.model) if part)


def _tokens(body: Any) -> str:
    """Of a full row or of the framework's event."""
    usage = getattr(body, "usage", None) or body
    asked, answered = getattr(usage, "input_tokens", None), getattr(usage, "output_tokens", None)
    return "" if asked is None or answered is None else f"{asked} tokens in, {answered} out"


def _failure(row: reads.ChoiceRecord | None, body: Any, message: str) -> str:
    if row is None or row.kind != "pick-error":
        return ""
    status = "" if body.status is None else f" (status {body.status})"
    return (
        f"The reading failed{status}: {message}"
        if message
        else f"The reading failed{status}; no message is kept."
    )


def _number(value: float | None) -> str:
    return words.NOT_RECORDED if value is None else f"{value:.3f}".rstrip("0").rstrip(".")
