"""Classifiers compared on a recording whose figures are known, and on files that are no recordings."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runs.sender import bench_tools
from runs.sender.bench_tools import Reading, cases, score
from tests.lines import line

TOOLS = ["lookup_order", "track_parcel", "issue_refund"]
WORDS = {
    "lookup_order": "Looks up an order.",
    "track_parcel": "Where a parcel is.",
    "issue_refund": "Pays money back.",
}
# What was asked, and what was called. Recorded, every reading chose lookup_order first, then track_parcel.
CALLS = (
    ("Look up my order", ["lookup_order"]),
    ("Where is my parcel?", ["track_parcel"]),
    ("I want my money back", ["issue_refund"]),
    ("Where is my parcel, and may I have my money back?", ["track_parcel", "issue_refund"]),
)


def row(**payload: Any) -> str:
    return line("footprint.tool_choice.row", payload)


def recording() -> list[str]:
    lines = [line("stream.llm_start", {"tools": [{"name": n, "description": d} for n, d in WORDS.items()]})]
    for iteration, (message, called) in enumerate(CALLS, start=1):
        ranked = [{"name": "lookup_order", "score": 0.7}, {"name": "track_parcel", "score": 0.2}]
        lines += [
            line("agent.turn_start", {"userPrompt": message}),
            row(
                kind="pick",
                iteration=iteration,
                offered=TOOLS,
                ranked=ranked,
                chosen="lookup_order",
                latencyMs=10,
            ),
            row(kind="outcome", iteration=iteration, called=called),
        ]
    lines += [
        row(kind="pick", iteration=9, offered=TOOLS),
        row(kind="outcome", iteration=9, called=["present"]),
    ]
    return lines


def perfect(message: str, tools: Mapping[str, str]) -> dict[str, float]:
    called = dict(CALLS)[message]
    return {name: 1 - called.index(name) / 10 for name in called}


def broken(message: str, tools: Mapping[str, str]) -> dict[str, float]:
    raise ValueError("broken")


def test_recorded_readings_score_what_they_score() -> None:
    found = list(cases(recording()))
    assert [case.message for case in found] == [message for message, _ in CALLS]
    assert found[0].candidates[0].description == "Looks up an order."
    told = score(found, [Reading(case.recorded, case.chosen, False, case.latency_ms) for case in found])
    assert (told.first.hits, told.first.n) == (1, 4)
    assert [told.recall[top].hits for top in (1, 3)] == [1, 2]
    assert (told.p50_ms, told.failed) == (10, 0)


def test_classifiers_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text("\n".join(["no json", "[" * 9999, "{}", *recording(), json.dumps({"type": 7})]))
    ours = ["--called", f"{__name__}:perfect", "--called", f"{__name__}:broken"]
    assert bench_tools.main([str(file), "--lexical", *ours]) == 0
    first, _, *table = capsys.readouterr().out.splitlines()
    assert first == "4 model calls that called an offered tool"
    as_recorded, lexical, ours_perfect, ours_broken = table
    assert as_recorded.split()[:4] == ["as", "recorded", "25%", "(5%-70%)"]
    assert lexical.split()[1] in ("75%", "100%")
    assert "100% (51%-100%)" in ours_perfect
    assert ours_broken.split()[-5] == "4"


@pytest.mark.parametrize(
    ("text", "arguments", "code"),
    [
        ("", [], 1),
        ("nothing\n{}\n", [], 1),
        ("", ["--called", "no_such_module:f"], 2),
        ("", ["--called", "json:no_such_name"], 2),
    ],
)
def test_what_cannot_be_compared_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, arguments: list[str], code: int
) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(text)
    assert bench_tools.main([str(file), *arguments]) == code
    assert capsys.readouterr().err
    assert bench_tools.main([str(tmp_path / "gone.jsonl")]) == 2
