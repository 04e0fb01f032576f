"""The classifiers on the tools that recorded agents were really offered, and on what these were asked."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import cache

import pytest

from runs.classifiers.called import Called
from runs.classifiers.embedding import Embedding
from runs.classifiers.lexical import Lexical
from runs.rules.tool_choice import Classifier, Pick, ToolCandidate, pick_tools
from tests import recordings

Call = tuple[
    str, tuple[ToolCandidate, ...], str
]  # the question, the tools on offer, the first that was called


@cache
def recorded_calls() -> list[Call]:
    """Every model call of the recordings that chose among at least two tools."""
    found: list[Call] = []
    for name in recordings.names():
        question, tools = "", ()
        for text in recordings.lines(name):
            try:
                event = json.loads(text)
                kind, payload = event["type"].removeprefix("agentfootprint."), event["payload"]
            except (ValueError, TypeError, KeyError):
                continue
            if kind == "agent.turn_start" and isinstance(payload.get("userPrompt"), str):
                question = payload["userPrompt"]
            elif kind == "stream.llm_start":
                tools = tuple(
                    ToolCandidate(tool["name"], tool.get("description") or "")
                    for tool in payload.get("tools") or ()
                    if isinstance(tool, dict) and isinstance(tool.get("name"), str)
                )
            elif kind == "stream.tool_start" and tools:
                called = payload.get("toolName")
                if len(tools) > 1 and question and called in {tool.name for tool in tools}:
                    found.append((question, tools, called))
                tools = ()  # the first call of each reply
    return found


def shared_letters(message: str, tools: Mapping[str, str]) -> dict[str, float]:
    """A function as an app might have one."""
    asked = set(message.lower())
    return {name: len(asked & set(f"{name} {words}")) / 30 for name, words in tools.items()}


def test_the_recordings_hold_enough_to_read() -> None:
    assert len(recorded_calls()) >= 30
    assert len({tools for _, tools, _ in recorded_calls()}) >= 8


@pytest.mark.parametrize(
    "classifier", [Lexical(), Embedding(), Called("letters", shared_letters)], ids=lambda c: c.name
)
async def test_each_ranks_what_was_offered_and_nothing_else(classifier: Classifier) -> None:
    for question, tools, _ in recorded_calls():
        pick = await pick_tools(classifier, user_message=question, candidates=tools, clock=time.monotonic)
        assert isinstance(pick, Pick)
        ranked = [score.name for score in pick.ranked]
        assert set(ranked) in (set(), {tool.name for tool in tools})
        assert len(ranked) == len(set(ranked))
        assert pick.chosen == (ranked[0] if ranked else None)


@pytest.mark.parametrize("classifier", [Lexical(), Embedding()], ids=lambda c: c.name)
async def test_a_message_in_a_tools_own_words_finds_that_tool(classifier: Classifier) -> None:
    for tools in dict.fromkeys(tools for _, tools, _ in recorded_calls()):
        for tool in tools:
            if len({one.description for one in tools}) < len(tools) or not tool.description:
                continue
            pick = await pick_tools(
                classifier, user_message=tool.description, candidates=tools, clock=time.monotonic
            )
            assert isinstance(pick, Pick)
            assert pick.chosen == tool.name
