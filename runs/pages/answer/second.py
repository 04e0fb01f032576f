"""Second readings on an operator's page: what the dashboard's own classifier would have picked, after the fact."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from runs.rules import words
from runs.store import reads_answer as reads
from runs.store.second_readings import SecondReading
from runs.store.words import Words

from .shapes import RankBar, SecondReadingSeen

SHOWN = 50  # readings on one page
BEST = 5  # tools of a ranking


def second_readings(
    rows: Sequence[SecondReading], calls: Sequence[reads.CallRow], said: Words
) -> tuple[SecondReadingSeen, ...]:
    """`calls`: those that stand on the page; what a model call called first is found among them."""
    first: dict[int, str] = {}
    for call in calls:
        if call.tool is not None:
            first.setdefault(call.iteration, call.tool)
    return tuple(_seen(row, json.loads(row.body), first.get(row.iteration), said) for row in rows)


def _seen(row: SecondReading, body: dict[str, Any], called: str | None, said: Words) -> SecondReadingSeen:
    ranked = body.get("ranked", [])[:BEST]
    chosen = body.get("chosen") or ""
    who = body.get("classifier", {})
    highest = max((one["score"] for one in ranked), default=0)
    confidence = body.get("confidence")
    return SecondReadingSeen(
        iteration=row.iteration,
        classifier=" · ".join(part for part in (who.get("name"), who.get("model")) if part),
        chosen=chosen,
        called=called,
        agrees=chosen == called if chosen and called else None,
        confidence=words.NOT_RECORDED if confidence is None else f"{confidence:.0%}".replace("%", " %"),
        failure=body.get("message", "") if body.get("kind") == "pick-error" else "",
        ranked=tuple(
            RankBar(
                tool=one["name"],
                words=said.display_name_of(one["name"]) or "",
                score=f"{one['score']:.3f}",
                width=round(100 * one["score"] / highest) if highest > 0 else 0,
                chosen=one["name"] == chosen,
                called=one["name"] == called,
            )
            for one in ranked
        ),
        made_ms=row.made_ms,
    )
