"""A function as a classifier: plain or awaited, and whatever it gives."""

import time
from collections.abc import Mapping
from typing import Any

import pytest

from runs.classifiers.called import Called
from runs.rules.tool_choice import Pick, PickFailed, PickResult, ToolCandidate, pick_tools

TOOLS = [ToolCandidate("a", "first"), ToolCandidate("b", "second")]


async def pick(function: Any) -> PickResult:
    return await pick_tools(
        Called("mine", function), user_message="m", candidates=TOOLS, clock=time.monotonic
    )


async def awaited(message: str, tools: Mapping[str, str]) -> dict[str, float]:
    assert (message, dict(tools)) == ("m", {"a": "first", "b": "second"})
    return {"a": 0.2, "b": 0.7, "unknown": 0.1}


async def test_its_highest_score_is_its_choice() -> None:
    for function in (awaited, lambda message, tools: {"b": 0.7, "a": 0.2}):
        found = await pick(function)
        assert isinstance(found, Pick)
        assert (found.chosen, found.confidence, found.classifier.name) == ("b", 0.7, "mine")
        assert [score.name for score in found.ranked] == ["b", "a"]


@pytest.mark.parametrize("scores", [{}, None])
async def test_no_scores_are_no_ranking(scores: Any) -> None:
    found = await pick(lambda message, tools: scores)
    assert isinstance(found, Pick)
    assert (found.ranked, found.chosen, found.confidence) == ((), None, 0)


@pytest.mark.parametrize("function", [lambda m, t: 1 / 0, lambda m, t: 7, dict, lambda m, t: ["a"]])
async def test_what_it_raises_or_gives_amiss_is_a_reading_that_failed(function: Any) -> None:
    assert isinstance(await pick(function), PickFailed)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), "high", None, True])
async def test_a_score_that_is_no_number_is_left_out(score: Any) -> None:
    found = await pick(lambda m, t: {"a": score, "b": 0.5})
    assert isinstance(found, Pick)
    assert ([one.name for one in found.ranked], found.chosen) == (["b"], "b")
