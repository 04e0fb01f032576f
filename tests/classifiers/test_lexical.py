"""The lexical classifier on a real list of tools: what it ranks first, how it makes shares, and what it cannot read."""

import time

import pytest

from runs.classifiers.lexical import Lexical, words_of
from runs.rules.tool_choice import Pick, ToolCandidate, pick_tools

DESK = [
    ToolCandidate("lookup_order", "Looks up one order by its number: what was bought, when it ships."),
    ToolCandidate("track_parcel", "Where a parcel is now, and when it will be delivered."),
    ToolCandidate("issue_refund", "Pays money back to a customer for an order."),
    ToolCandidate("search_catalog", "Searches products by name, size, colour and price."),
    ToolCandidate("getStoreHours", ""),
]


async def pick(message: str, tools: list[ToolCandidate] = DESK, **more: float) -> Pick:
    found = await pick_tools(Lexical(**more), user_message=message, candidates=tools, clock=time.monotonic)
    assert isinstance(found, Pick)
    return found


@pytest.mark.parametrize(
    ("message", "tool"),
    [
        ("Where is my parcel?", "track_parcel"),
        ("Please refund me, I want my money back", "issue_refund"),
        ("Do you have red chairs? Search your products!", "search_catalog"),
        ("What are the hours of your store?", "getStoreHours"),
        ("Look up order NW-77", "lookup_order"),
    ],
)
async def test_the_tool_whose_words_fit_comes_first(message: str, tool: str) -> None:
    found = await pick(message)
    assert found.chosen == tool == found.ranked[0].name
    assert found.confidence == found.ranked[0].score


async def test_shares_are_a_distribution_over_all_tools() -> None:
    found = await pick("Where is my parcel?")
    assert sum(score.score for score in found.ranked) == pytest.approx(1)
    assert len(found.ranked) == len(DESK)
    assert (await pick("Where is my parcel?", temperature=0.2)).confidence > found.confidence


@pytest.mark.parametrize("message", ["", "    ", "zzz qqq", "🐑🐑🐑", "\x00"])
async def test_a_message_without_a_known_word_ranks_nothing(message: str) -> None:
    found = await pick(message)
    assert (found.ranked, found.chosen, found.confidence) == ((), None, 0)


async def test_tools_without_words_and_no_tools_at_all() -> None:
    assert (await pick("anything", [ToolCandidate("_"), ToolCandidate("__", "")])).ranked == ()
    assert (await pick("anything", [])).ranked == ()
    alone = await pick("order", [ToolCandidate("_"), ToolCandidate("order", "order")])
    assert alone.chosen == "order"


async def test_equal_tools_stay_in_offered_order() -> None:
    twins = [ToolCandidate("b", "the same words"), ToolCandidate("a", "the same words")]
    assert [score.name for score in (await pick("words", twins)).ranked] == ["b", "a"]


def test_names_are_taken_apart() -> None:
    assert words_of("getStoreHours look_up_orders HTTPServer2 address") == [
        "get", "store", "hour", "look", "up", "order", "http", "server", "2", "address",
    ]  # fmt: skip


def test_a_menu_is_indexed_once_and_old_ones_are_forgotten() -> None:
    lexical = Lexical()
    for number in range(40):
        lexical.scores("order", {"order": str(number), "x": ""})
        lexical.scores("order", {"order": str(number), "x": ""})
    assert len(lexical._indexes) == 16


def test_a_temperature_is_above_zero() -> None:
    with pytest.raises(ValueError, match="above 0"):
        Lexical(0)
