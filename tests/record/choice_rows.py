"""Tool-choice rows as an agent files them, made by the very rule: what a project would record over many model calls."""

from __future__ import annotations

import random
from typing import Any

import msgspec

from runs.rules.tool_choice import (
    ClassifierId,
    OutcomeRow,
    Pick,
    PickFailed,
    PickResult,
    PickRow,
    ToolChoiceScore,
    always_served_names,
    narrow_served,
    outcome_row_for,
    pick_error_row,
    pick_row,
)

TOOLS = [f"tool_{number}" for number in range(12)]


def recorded_rows(iterations: int, seed: int = 1, top: int | None = 3) -> list[dict[str, Any]]:
    """Two rows a model call, as payloads of `footprint.tool_choice.row`: readings that fail, misses, wrap-ups too."""
    dice, doors, prior = random.Random(seed), always_served_names(["app_door"]), list[OutcomeRow]()
    told: list[dict[str, Any]] = []
    for iteration in range(1, iterations + 1):
        wire = [*dice.sample(TOOLS, dice.randint(2, len(TOOLS))), "app_door", "present"]
        candidates = [name for name in wire if name not in doors]
        ranked = dice.sample(candidates, dice.randint(1, len(candidates)))
        who = ClassifierId("lexical")
        pick: PickResult = Pick(
            classifier=who,
            ranked=tuple(ToolChoiceScore(name, 1 / place) for place, name in enumerate(ranked, start=2)),
            chosen=ranked[0],
            confidence=dice.random(),
            latency_ms=dice.randint(1, 90),
        )
        if dice.random() < 0.1:
            pick = PickFailed(classifier=who, status=503, message="down", latency_ms=2_000)
        narrowing = narrow_served(
            wire=wire,
            doors=doors,
            pick=pick,
            top=top,
            iteration=iteration,
            prior=prior,
            wrap_up_asked=dice.random() < 0.05,
        )
        reading = (
            pick_row(pick, iteration=iteration, offered=candidates, narrowing=narrowing)
            if isinstance(pick, Pick)
            else pick_error_row(pick, iteration=iteration, narrowing=narrowing)
        )
        called = dice.sample([*wire, "made_up"], dice.choice([0, 1, 1, 1, 2]))
        reply = outcome_row_for(reading if isinstance(reading, PickRow) else None, called, iteration)
        prior.append(reply)
        beside = {"top": top, "doors": sorted(doors), "wire": wire}
        told += [msgspec.to_builtins(reading) | beside, msgspec.to_builtins(reply)]
    return told
