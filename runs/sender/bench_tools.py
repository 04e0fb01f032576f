"""Compares classifiers on what an agent recorded: `python -m runs.sender.bench_tools run.jsonl --lexical`.

Each recorded model call with a reading and an outcome is asked again: the same question, the same tools, and what the
model then called is the answer looked for. The file holds events as lines of JSON, as `replay` takes them. Descriptions
are those the model was given (`llm_start`) or the app declared; a tool without one is read by its name alone.

Printed for each classifier, and for the readings as they were recorded: how often the first choice was the first call,
how often all that was called is among the best N (doors left out), readings that failed, and their time.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from runs.rules.agreement import Share
from runs.rules.tool_choice import Classifier, Pick, PickResult, ToolCandidate, pick_tools

TOPS: Final = (1, 3, 5, 10)
ROW: Final = "footprint.tool_choice.row"


class Case(Struct, frozen=True):
    """One recorded model call. `called`: the offered tools it called, in order; `recorded`: names, best first."""

    message: str
    candidates: tuple[ToolCandidate, ...]
    called: tuple[str, ...]
    recorded: tuple[str, ...]
    chosen: str | None
    latency_ms: float | None


class Reading(Struct, frozen=True):
    """What a classifier made of a case."""

    ranked: tuple[str, ...]
    chosen: str | None
    failed: bool
    latency_ms: float | None


def cases(lines: Iterable[str]) -> Iterator[Case]:
    """The cases of a recording. What is no event, and calls that say nothing to compare, are passed over."""
    question: dict[str, str] = {}
    described: dict[str, str] = {}
    readings: dict[tuple[str, Any], Mapping[str, Any]] = {}
    for event in filter(None, map(_event, lines)):
        kind, payload, run = event
        if kind == "agentfootprint.agent.turn_start":
            question[run] = _text(payload.get("userPrompt"))
        elif kind in ("agentfootprint.stream.llm_start", "footprint.tools.declared"):
            described |= dict(_descriptions(payload.get("tools")))
        elif kind == ROW and payload.get("kind") == "pick":
            readings[run, payload.get("iteration")] = payload
        elif kind == ROW and payload.get("kind") == "outcome":
            reading = readings.pop((run, payload.get("iteration")), None)
            case = None if reading is None else _case(question.get(run, ""), described, reading, payload)
            if case is not None:
                yield case


def _case(
    message: str, described: Mapping[str, str], reading: Mapping[str, Any], outcome: Mapping[str, Any]
) -> Case | None:
    offered = _names(reading.get("offered"))
    called = tuple(name for name in _names(outcome.get("called")) if name in offered)
    if not called:
        return None
    ranked = [one.get("name") for one in reading.get("ranked") or () if isinstance(one, dict)]
    latency = reading.get("latencyMs")
    chosen = reading.get("chosen")
    return Case(
        message=message,
        candidates=tuple(ToolCandidate(name, described.get(name, "")) for name in offered),
        called=called,
        recorded=tuple(name for name in ranked if isinstance(name, str)),
        chosen=chosen if isinstance(chosen, str) else None,
        latency_ms=latency if isinstance(latency, int | float) else None,
    )


async def read_again(classifier: Classifier, found: Sequence[Case]) -> list[Reading]:
    """One after the other, as an agent would ask."""
    return [
        _reading(
            await pick_tools(
                classifier, user_message=case.message, candidates=case.candidates, clock=time.monotonic
            )
        )
        for case in found
    ]


def _reading(pick: PickResult) -> Reading:
    if not isinstance(pick, Pick):
        return Reading((), None, True, pick.latency_ms)
    return Reading(tuple(one.name for one in pick.ranked), pick.chosen, False, pick.latency_ms)


class Score(Struct, frozen=True):
    """`recall`: by N. Shares are over all cases: a reading that failed found nothing."""

    first: Share
    recall: dict[int, Share]
    failed: int
    p50_ms: float | None
    p95_ms: float | None


def score(found: Sequence[Case], readings: Sequence[Reading]) -> Score:
    both = list(zip(found, readings, strict=True))
    took = sorted(reading.latency_ms for reading in readings if reading.latency_ms is not None)
    return Score(
        first=Share(sum(reading.chosen == case.called[0] for case, reading in both), len(both)),
        recall={
            top: Share(
                sum(set(case.called) <= set(reading.ranked[:top]) for case, reading in both), len(both)
            )
            for top in TOPS
        },
        failed=sum(reading.failed for reading in readings),
        p50_ms=statistics.median(took) if took else None,
        p95_ms=took[min(len(took) - 1, int(0.95 * len(took)))] if took else None,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m runs.sender.bench_tools", description=__doc__.split("\n")[0]
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="events as lines of JSON")
    parser.add_argument("--lexical", action="store_true", help="BM25 over the tools' own words")
    parser.add_argument("--embedding", action="store_true", help="embeddings of the tools' own words")
    parser.add_argument("--chat", metavar="URL", help="a chat endpoint; its key is in OPENAI_API_KEY")
    parser.add_argument("--model", default="", help="the endpoint's model")
    parser.add_argument(
        "--called", metavar="MODULE:FUNCTION", action="append", default=[], help="a function of yours"
    )
    options = parser.parse_args(arguments)
    try:
        found = [case for file in options.files for case in cases(_lines(file))]
        classifiers = dict(_classifiers(options))
    except (OSError, UnicodeDecodeError, ImportError, AttributeError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    if not found:
        print("The recording holds no reading with an outcome that called an offered tool.", file=sys.stderr)
        return 1
    print(f"{len(found)} model calls that called an offered tool")
    recorded = [Reading(case.recorded, case.chosen, False, case.latency_ms) for case in found]
    scores = {"as recorded": score(found, recorded)}
    for name, classifier in classifiers.items():
        scores[name] = score(found, asyncio.run(read_again(classifier, found)))
    _print(scores)
    return 0


def _classifiers(options: argparse.Namespace) -> Iterator[tuple[str, Classifier]]:
    if options.lexical:
        from runs.classifiers.lexical import Lexical

        yield "lexical", Lexical()
    if options.embedding:
        from runs.classifiers.embedding import Embedding

        yield "embedding", Embedding()
    if options.chat:
        from runs.classifiers.chat import Chat

        yield (
            f"chat {options.model}".strip(),
            Chat(options.chat, options.model, api_key=os.environ.get("OPENAI_API_KEY")),
        )
    for place in options.called:
        from runs.classifiers.called import Called

        module, _, name = place.partition(":")
        yield place, Called(place, getattr(importlib.import_module(module), name))


def _print(scores: Mapping[str, Score]) -> None:
    width = max(map(len, scores))
    heads = ("first choice", *(f"best {top}" for top in TOPS), "failed", "p50", "p95")
    print(" " * width, *(f"{head:>14}" for head in heads))
    for name, one in scores.items():
        cells = (
            f"{one.first.share:.0%} ({one.first.low:.0%}-{one.first.high:.0%})",
            *(f"{one.recall[top].share:.0%}" for top in TOPS),
            str(one.failed),
            *("-" if ms is None else f"{ms:.2f} ms" for ms in (one.p50_ms, one.p95_ms)),
        )
        print(f"{name:<{width}}", *(f"{cell:>14}" for cell in cells))


def _lines(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8", newline="\n") as lines:
        yield from lines


def _event(line: str) -> tuple[str, Mapping[str, Any], str] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    kind, payload, meta = event.get("type"), event.get("payload"), event.get("meta")
    if not isinstance(kind, str) or not isinstance(payload, dict):
        return None
    return kind, payload, _text(meta.get("runId")) if isinstance(meta, dict) else ""


def _descriptions(tools: object) -> Iterator[tuple[str, str]]:
    for tool in tools if isinstance(tools, list) else ():
        if (
            isinstance(tool, dict)
            and isinstance(tool.get("name"), str)
            and isinstance(tool.get("description"), str)
        ):
            yield tool["name"], tool["description"]


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


if __name__ == "__main__":
    sys.exit(main())
