"""Every case a reference implementation answered, answered the same here."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runs.rules.plain_line import plain_line_problem
from runs.rules.tool_choice import (
    ClassifierId,
    Pick,
    PickFailed,
    PickResult,
    PickRow,
    ToolCandidate,
    ToolChoiceRow,
    always_served_names,
    narrow_served,
    outcome_row_for,
    read_pick,
)

COMMITTED = Path(__file__).parent.parent / "recordings" / "parity" / "tool_choice.json"
CASES: dict[str, list[dict[str, Any]]] = json.loads(
    Path(os.environ.get("FOOTPRINT_PARITY", COMMITTED)).read_text(encoding="utf-8")
)


def each(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", CASES[kind], ids=[f"{kind}-{n}" for n in range(len(CASES[kind]))])


def test_all_625_cases_are_here() -> None:
    counts = {kind: len(CASES[kind]) for kind in ("narrow", "rank", "outcome", "plainLine")}
    assert counts == {"narrow": 300, "rank": 150, "outcome": 150, "plainLine": 25}


@each("narrow")
def test_narrow(case: dict[str, Any]) -> None:
    given = case["input"]
    narrowing = narrow_served(
        wire=given["wire"],
        doors=always_served_names(given.get("alwaysServe", ())),
        pick=as_pick(given["pick"]),
        top=given.get("top"),
        iteration=given["iteration"],
        prior=msgspec.convert(given["prior"], list[ToolChoiceRow]),
        wrap_up_asked=given["wrapUpAsked"],
        tools_off=given.get("toolsOff", False),
    )
    expected = case["expected"]
    assert list(narrowing.served) == expected["served"]
    assert narrowing.narrowed is expected["narrowed"]
    assert narrowing.narrowed_skipped == expected.get("narrowedSkipped")


@each("rank")
def test_rank(case: dict[str, Any]) -> None:
    candidates = msgspec.convert(case["candidates"], list[ToolCandidate])
    pick = read_pick(candidates, case["reply"], classifier_name="clf", latency_ms=99)
    expected = case["expected"]
    assert pick.ok is expected["ok"]
    if pick.ok:
        assert on_the_wire(pick) | {"ok": True} == expected


@each("outcome")
def test_outcome(case: dict[str, Any]) -> None:
    row = outcome_row_for(as_pick_row(case["pick"]), case["called"], case["iteration"])
    assert on_the_wire(row) == case["expected"]


@each("plainLine")
def test_plain_line(case: dict[str, Any]) -> None:
    problem = plain_line_problem("The text", case["text"])
    found = re.search(r"U\+[0-9A-F]{4,}", problem) if problem is not None else None
    assert (found.group() if found else problem) == case["codePoint"]


def on_the_wire(struct: msgspec.Struct) -> dict[str, Any]:
    read: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(struct))
    return read


def as_pick(value: dict[str, Any]) -> PickResult:
    return msgspec.convert(value, Pick if value["ok"] else PickFailed)


def as_pick_row(value: dict[str, Any] | None) -> PickRow | None:
    """The cases hold only the fields of a pick row that the rule reads; the rest is filled in."""
    if value is None:
        return None
    whole = {
        "source": "classifier",
        "classifier": on_the_wire(ClassifierId("clf", "m")),
        "offered": [],
        "ranked": [],
        "confidence": 0.5,
        "latencyMs": 7,
    }
    return msgspec.convert(whole | value, PickRow)
