"""A classifier's pick is advice: it may narrow what a call is served, and never costs the run its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.rules.tool_choice import (
    ALWAYS_SERVED_TOOLS,
    ClassifierId,
    ClassifyRequest,
    Miss,
    Narrowing,
    OutcomeRow,
    Pick,
    PickFailed,
    PickResult,
    PickRow,
    TokenUsage,
    ToolCandidate,
    ToolChoiceRow,
    ToolChoiceScore,
    always_served_names,
    narrow_served,
    outcome_row_for,
    pick_error_row,
    pick_row,
    pick_tools,
    read_pick,
    tool_choice_question,
)
from runs.rules.vocabulary import NarrowSkip

CANDIDATES = (
    ToolCandidate("search", "finds things"),
    ToolCandidate("refund"),
    ToolCandidate("lookup", "looks up"),
)
DOORS = always_served_names()


def reply(**answer: Any) -> dict[str, Any]:
    whole = {
        "type": "choice",
        "choice": "search",
        "confidence": 0.8,
        "probabilities": {"search": 0.8, "refund": 0.2},
    }
    return {"model": "m-1", "answers": {"tool": whole | answer}}


def picked(*names: str) -> Pick:
    ranked = tuple(ToolChoiceScore(name, 1 - n / 10) for n, name in enumerate(names))
    return Pick(classifier=ClassifierId("clf", "m-1"), ranked=ranked, confidence=0.5, latency_ms=7)


FAILED = PickFailed(classifier=ClassifierId("clf"), message="down", latency_ms=7)


# --- the question ---


def test_one_question_in_offered_order_with_descriptions_as_they_are() -> None:
    request = tool_choice_question("refund my order", "billing", CANDIDATES)
    wire = json.loads(msgspec.json.encode(request))
    assert wire["state"] == {"userMessage": "refund my order", "currentSkillId": "billing"}
    assert list(wire["questions"]) == ["tool"]
    assert wire["questions"]["tool"]["type"] == "choice"
    assert list(wire["questions"]["tool"]["criteria"].items()) == [
        ("search", "finds things"),
        ("refund", ""),
        ("lookup", "looks up"),
    ]
    assert tool_choice_question("hi", None, ()).state == {"userMessage": "hi"}


def test_doors_are_the_frameworks_and_the_apps_own() -> None:
    assert ALWAYS_SERVED_TOOLS == ("read_skill", "list_skills", "skip_step", "present")
    assert always_served_names(["ask_human"]) == {*ALWAYS_SERVED_TOOLS, "ask_human"}


# --- reading a reply ---


def test_ranked_highest_first_ties_in_offered_order_and_the_unscored_absent() -> None:
    pick = read_pick(CANDIDATES, reply(probabilities={"lookup": 0.5, "search": 0.5, "not_offered": 0.9}))
    assert isinstance(pick, Pick)
    assert pick.ranked == (ToolChoiceScore("search", 0.5), ToolChoiceScore("lookup", 0.5))


def test_chosen_is_the_providers_own_and_never_an_argmax() -> None:
    own = read_pick(CANDIDATES, reply(choice="refund"))
    stranger = read_pick(CANDIDATES, reply(choice="not_offered"))
    assert isinstance(own, Pick) and isinstance(stranger, Pick)
    assert own.chosen == "refund"
    assert stranger.chosen is None


@pytest.mark.parametrize(
    "score", [float("nan"), float("inf"), -float("inf"), 10**400, True, "0.9", None, [], {}]
)
def test_what_is_no_finite_number_is_no_score(score: object) -> None:
    pick = read_pick(CANDIDATES, reply(probabilities={"search": score, "refund": 0}))
    assert isinstance(pick, Pick)
    assert pick.ranked == (ToolChoiceScore("refund", 0),)
    assert not read_pick(CANDIDATES, reply(confidence=score)).ok


@pytest.mark.parametrize(
    "amiss",
    [
        None,
        "text",
        [],
        {},
        {"answers": None},
        {"answers": {}},
        {"answers": {"tool": "search"}},
        {"answers": {"other": {"type": "choice", "choice": "search", "confidence": 1}}},
        {"answers": {"tool": {"type": "score", "score": 1, "confidence": 1}}},
    ],
)
def test_a_reply_without_the_choice_is_a_failed_pick(amiss: object) -> None:
    pick = read_pick(CANDIDATES, amiss, classifier_name="clf", latency_ms=12)
    assert isinstance(pick, PickFailed)
    assert (pick.classifier.name, pick.latency_ms, pick.status) == ("clf", 12, None)


def test_usage_and_latency_are_the_replys_own_where_it_says_so() -> None:
    said = reply() | {"usage": {"inputTokens": 5, "outputTokens": 2}, "latencyMs": 31}
    pick = read_pick(CANDIDATES, said, latency_ms=99)
    assert isinstance(pick, Pick)
    assert (pick.usage, pick.latency_ms) == (TokenUsage(5, 2), 31)
    bare = read_pick(CANDIDATES, reply() | {"usage": {"inputTokens": 5}, "latencyMs": -1}, latency_ms=99)
    assert isinstance(bare, Pick)
    assert (bare.usage, bare.latency_ms) == (None, 99)


def test_big_integers_stay_digit_for_digit() -> None:
    pick = read_pick(CANDIDATES, reply(probabilities={"search": 9007199254740993}))
    assert b"9007199254740993" in msgspec.json.encode(pick)


# --- asking ---


class Provider:
    """A classifier that does what it is told to."""

    name = "clf"

    def __init__(self, does: Callable[[], Awaitable[object]]) -> None:
        self.does = does
        self.asked: ClassifyRequest | None = None

    async def classify(self, request: ClassifyRequest, /) -> object:
        self.asked = request
        return await self.does()


def ticking() -> Callable[[], float]:
    """A clock on which every reading is a quarter of a second after the one before."""
    seconds: Iterator[int] = iter(range(100))
    return lambda: next(seconds) / 4


def ask(provider: Any) -> PickResult:
    async def story() -> PickResult:
        return await pick_tools(provider, user_message="hi", candidates=CANDIDATES, clock=ticking())

    return asyncio.run(story())


def answers(value: object) -> Callable[[], Awaitable[object]]:
    async def does() -> object:
        return value

    return does


def raises(error: BaseException) -> Callable[[], Awaitable[object]]:
    async def does() -> object:
        raise error

    return does


class Refused(Exception):
    status = 429


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError

    @property
    def status(self) -> int:
        raise RuntimeError


def test_a_good_reply_is_a_pick_with_the_latency_measured() -> None:
    provider = Provider(answers(reply()))
    pick = ask(provider)
    assert isinstance(pick, Pick)
    assert pick.ok
    assert (pick.classifier, pick.chosen, pick.latency_ms) == (ClassifierId("clf", "m-1"), "search", 250)
    assert provider.asked == tool_choice_question("hi", None, CANDIDATES)


@pytest.mark.parametrize(
    ("does", "status", "message"),
    [
        (raises(Refused("slow down")), 429, "slow down"),
        (raises(ConnectionError()), None, "ConnectionError"),
        (raises(TimeoutError("too slow")), None, "too slow"),
        (raises(Unspeakable()), None, "Unspeakable"),
        (raises(asyncio.CancelledError()), None, "The classifier's own call was cancelled."),
        (answers({"answers": {}}), None, "The reply held no answer to the choice that was asked."),
    ],
)
def test_whatever_the_provider_does_comes_back_as_a_failed_pick(
    does: Callable[[], Awaitable[object]], status: int | None, message: str
) -> None:
    pick = ask(Provider(does))
    assert isinstance(pick, PickFailed)
    assert not pick.ok
    assert (pick.classifier.name, pick.status, pick.message, pick.latency_ms) == ("clf", status, message, 250)


def test_a_provider_that_is_not_one_fails_too() -> None:
    class Broken:
        @property
        def name(self) -> str:
            raise RuntimeError

        def classify(self, request: object) -> int:
            return 3

    pick = ask(Broken())
    assert isinstance(pick, PickFailed)
    assert pick.classifier.name == ""


def test_a_providers_own_cancelled_task_is_a_failed_pick() -> None:
    async def does() -> object:
        inner = asyncio.create_task(asyncio.sleep(60))
        asyncio.get_running_loop().call_soon(inner.cancel)
        await inner
        return reply()

    assert isinstance(ask(Provider(does)), PickFailed)


def cancelled_story(does: Callable[[], Awaitable[object]], *, before: bool = False) -> None:
    async def story() -> None:
        provider = Provider(does)
        asking = asyncio.create_task(
            pick_tools(provider, user_message="hi", candidates=CANDIDATES, clock=ticking())
        )
        if not before:
            while provider.asked is None:
                await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert asking.cancelled()

    asyncio.run(story())


def test_cancelling_the_callers_own_task_still_cancels() -> None:
    async def waits() -> object:
        await asyncio.sleep(60)
        return reply()

    cancelled_story(waits)
    cancelled_story(waits, before=True)


def test_a_provider_cannot_swallow_the_callers_cancellation() -> None:
    async def swallows() -> object:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise RuntimeError("mine now") from None
        return reply()

    cancelled_story(swallows)


def test_a_cancellation_asked_for_before_the_call_is_the_callers() -> None:
    async def story() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await pick_tools(
            Provider(answers(reply())), user_message="hi", candidates=CANDIDATES, clock=ticking()
        )

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(story())


def test_the_callers_time_out_is_the_callers() -> None:
    async def waits() -> object:
        await asyncio.sleep(60)
        return reply()

    async def story() -> None:
        async with asyncio.timeout(0.01):
            await pick_tools(Provider(waits), user_message="hi", candidates=CANDIDATES, clock=ticking())

    with pytest.raises(TimeoutError):
        asyncio.run(story())


# --- narrowing ---

WIRE = ("read_skill", "a", "b", "c", "d")


def narrow(pick: PickResult = FAILED, *, top: int | None = 2, **given: Any) -> Narrowing:
    whole: dict[str, Any] = {
        "wire": WIRE,
        "doors": DOORS,
        "iteration": 5,
        "prior": (),
        "wrap_up_asked": False,
    }
    return narrow_served(pick=pick, top=top, **(whole | given))


def miss_at(iteration: int) -> OutcomeRow:
    return OutcomeRow(iteration=iteration, called=("z",), miss=Miss(("z",)))


def test_top_n_and_the_doors_in_the_wires_order() -> None:
    assert narrow(picked("d", "b", "a")) == Narrowing(("read_skill", "b", "d"), narrowed=True)
    assert narrow(picked("d", "b")) == Narrowing(("read_skill", "b", "d"), narrowed=True)


def test_nobody_asked_to_narrow() -> None:
    assert narrow(picked("a", "b"), top=None, wrap_up_asked=True, prior=[miss_at(4)]) == Narrowing(
        WIRE, False
    )


@pytest.mark.parametrize(
    ("given", "skip"),
    [
        ({"wrap_up_asked": True, "prior": [miss_at(4)]}, NarrowSkip.WRAP_UP),
        ({"tools_off": True, "wire": ("a",)}, NarrowSkip.WRAP_UP),
        ({"prior": [miss_at(4)], "wire": ("a",)}, NarrowSkip.AFTER_MISS),
        ({"wire": ("read_skill", "a", "b"), "pick": FAILED}, NarrowSkip.TOO_FEW),
        ({"wire": ()}, NarrowSkip.TOO_FEW),
        ({"pick": FAILED}, NarrowSkip.UNAVAILABLE),
        ({"pick": picked("a")}, NarrowSkip.UNAVAILABLE),
        ({"prior": [miss_at(3), miss_at(5), OutcomeRow(iteration=4, called=())]}, NarrowSkip.UNAVAILABLE),
    ],
)
def test_the_order_of_the_reasons(given: dict[str, Any], skip: NarrowSkip) -> None:
    narrowing = narrow(**given)
    assert narrowing == Narrowing(tuple(given.get("wire", WIRE)), False, skip)


def test_an_older_miss_is_forgiven() -> None:
    assert narrow(picked("a", "b"), prior=[miss_at(3)]).narrowed


names = st.sampled_from([*"abcdef", *ALWAYS_SERVED_TOOLS])


@given(
    st.lists(names, unique=True),
    st.lists(names, unique=True),
    st.none() | st.integers(1, 5),
    st.booleans(),
    st.booleans(),
    st.integers(3, 6),
)
def test_served_is_a_subsequence_of_the_wire_with_every_door(
    wire: list[str], ranked: list[str], top: int | None, wrap_up: bool, failed: bool, missed_at: int
) -> None:
    narrowing = narrow(
        FAILED if failed else picked(*ranked),
        top=top,
        wire=wire,
        doors=always_served_names("f"),
        wrap_up_asked=wrap_up,
        prior=[miss_at(missed_at)],
    )
    remaining = iter(wire)
    assert all(name in remaining for name in narrowing.served)
    assert {name for name in wire if name in always_served_names("f")} <= set(narrowing.served)
    if not narrowing.narrowed:
        assert narrowing.served == tuple(wire)
        assert (narrowing.narrowed_skipped is None) == (top is None)


# --- rows ---


def row(
    *, narrowed: bool = True, chosen: str | None = "a", served: tuple[str, ...] = ("read_skill", "a")
) -> PickRow:
    pick = msgspec.structs.replace(picked("a", "b"), chosen=chosen)
    return pick_row(pick, iteration=2, offered=("a", "b"), narrowing=Narrowing(served, narrowed))


@pytest.mark.parametrize(
    ("pick", "called", "agrees", "wanted"),
    [
        (row(), ("a",), True, None),
        (row(), ("b", "a"), False, ("b",)),
        (row(), ("a", "skip_step", "ghost"), True, ("skip_step", "ghost")),
        (row(), (), None, None),
        (row(chosen=None), ("b",), None, ("b",)),
        (row(narrowed=False), ("b",), False, None),
        (pick_error_row(FAILED, iteration=2, narrowing=Narrowing(WIRE, False)), ("ghost",), None, None),
        (None, ("a",), None, None),
    ],
)
def test_the_outcome_row(pick: Any, called: tuple[str, ...], agrees: bool | None, wanted: Any) -> None:
    expected = OutcomeRow(
        iteration=2, called=called, first_agrees=agrees, miss=Miss(wanted) if wanted else None
    )
    assert outcome_row_for(pick, called, 2) == expected


def test_rows_on_the_wire_are_camel_case_and_leave_out_what_they_do_not_have() -> None:
    wire = json.loads(msgspec.json.encode(row()))
    assert wire == {
        "kind": "pick",
        "iteration": 2,
        "source": "classifier",
        "classifier": {"name": "clf", "model": "m-1"},
        "offered": ["a", "b"],
        "ranked": [{"name": "a", "score": 1.0}, {"name": "b", "score": 0.9}],
        "chosen": "a",
        "confidence": 0.5,
        "latencyMs": 7,
        "served": ["read_skill", "a"],
        "narrowed": True,
    }
    error = pick_error_row(FAILED, iteration=2, narrowing=Narrowing(WIRE, False, NarrowSkip.UNAVAILABLE))
    assert json.loads(msgspec.json.encode(error)) == {
        "kind": "pick-error",
        "iteration": 2,
        "source": "classifier",
        "classifier": {"name": "clf"},
        "message": "down",
        "latencyMs": 7,
        "served": list(WIRE),
        "narrowedSkipped": "unavailable",
    }


def test_every_row_kind_is_read_back_as_it_was_written() -> None:
    error = pick_error_row(FAILED, iteration=2, narrowing=Narrowing(WIRE, False, NarrowSkip.TOO_FEW))
    for written in (row(), error, outcome_row_for(row(), ("b",), 2)):
        assert msgspec.json.decode(msgspec.json.encode(written), type=ToolChoiceRow) == written
