"""What if: a shape decides as `narrow_served` does, for every N and every floor."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runs.rules.choice_replay import (
    FLOORS,
    LONGEST_CHAIN,
    Shape,
    read_shape,
    shape_of,
    shape_word,
    sureness,
    what_if,
)
from runs.rules.tool_choice import (
    ClassifierId,
    OutcomeRow,
    Pick,
    PickFailed,
    PickResult,
    ToolChoiceScore,
    narrow_served,
    outcome_row_for,
    pick_row,
)

TOOLS = [f"tool_{letter}" for letter in "abcdefg"]
DOORS = {"present", "read_skill"}


@st.composite
def recorded_calls(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A run's model calls: what was on the wire, how it was ranked, what was called. Iterations may have holes."""
    calls, iteration = [], 0
    for _ in range(draw(st.integers(1, LONGEST_CHAIN + 1))):
        iteration += draw(st.sampled_from([1, 1, 1, 2]))
        wire = draw(st.permutations([*TOOLS, *DOORS]))[: draw(st.integers(1, 9))]
        candidates = [name for name in wire if name not in DOORS]
        ranked = draw(st.permutations(candidates))[: draw(st.integers(0, len(candidates)))]
        calls.append(
            {
                "iteration": iteration,
                "wire": wire,
                "ranked": ranked,
                "confidence": draw(st.sampled_from([0.0, 0.05, 0.29, 0.5, 0.55, 0.85, 1.0])),
                "called": draw(st.lists(st.sampled_from([*wire, "made_up"]), max_size=3)),
                "wrap_up": draw(st.booleans()) and draw(st.booleans()),
                "failed": draw(st.sampled_from([False, False, False, True])),
            }
        )
    return calls


def by_the_rule(calls: list[dict[str, Any]], top: int, floor: float) -> tuple[int, int, int, int]:
    """The calls one after the other through the very rule; a reading below the floor is as good as none."""
    narrowed = saved = missed = after_miss = 0
    prior: list[OutcomeRow] = []
    for call in calls:
        pick: PickResult = Pick(
            classifier=ClassifierId("c"),
            ranked=tuple(ToolChoiceScore(name, 1) for name in call["ranked"]),
            confidence=call["confidence"],
            latency_ms=1,
        )
        below = sureness(call["confidence"]) < round(floor * FLOORS)
        if call["failed"] or below:
            pick = PickFailed(classifier=ClassifierId("c"), message="", latency_ms=1)
        served = narrow_served(
            wire=call["wire"],
            doors=DOORS,
            pick=pick,
            top=top,
            iteration=call["iteration"],
            # A failed reading or one below the floor is served all for that reason; it needs no other.
            prior=[] if call["failed"] or below else prior,
            wrap_up_asked=call["wrap_up"],
        )
        narrowed += served.narrowed
        saved += len(call["wire"]) - len(served.served)
        after_miss += served.narrowed_skipped == "after-miss"
        row = (
            pick_row(pick, iteration=call["iteration"], offered=TOOLS, narrowing=served)
            if isinstance(pick, Pick)
            else None
        )
        outcome = outcome_row_for(row, call["called"], call["iteration"])
        missed += outcome.miss is not None
        prior.append(outcome)
    return narrowed, saved, missed, after_miss


def shapes(calls: list[dict[str, Any]]) -> list[Shape]:
    found: list[Shape] = []
    at: dict[int, Shape] = {}
    for call in calls:
        shape = shape_of(
            wire=call["wire"],
            doors=DOORS,
            ranked=call["ranked"],
            confidence=call["confidence"],
            called=call["called"],
            held=call["wrap_up"] or call["failed"],
            before=at.get(call["iteration"] - 1),
        )
        at[call["iteration"]] = shape
        found.append(shape)
    return found


@given(recorded_calls(), st.integers(1, 8), st.integers(0, FLOORS))
def test_shapes_come_to_what_the_rule_comes_to(calls: list[dict[str, Any]], top: int, floor: int) -> None:
    counted: dict[Shape, int] = {}
    for shape in shapes(calls):
        word = shape_word(shape)
        assert read_shape(word) == shape
        counted[shape] = counted.get(shape, 0) + 1
    (found,) = what_if(counted, [top], floor=floor)
    assert (found.narrowed, found.saved, found.missed, found.after_miss) == by_the_rule(
        calls, top, floor / FLOORS
    )
    assert found.calls == len(calls)


def test_a_worked_example() -> None:
    """Three tools and a door; the second is called. N = 1 misses it, N = 2 saves one, N = 3 is everything."""
    shape = shape_of(
        wire=["a", "b", "c", "present"], doors=DOORS, ranked=["a", "b", "c"], confidence=0.9, called=["b"]
    )
    one, two, three = what_if({shape: 10}, [1, 2, 3])
    assert (one.narrowed, one.saved, one.missed) == (10, 20, 10)
    assert (two.narrowed, two.saved, two.missed) == (10, 10, 0)
    assert (three.narrowed, three.saved, three.missed) == (0, 0, 0)
    assert one.saved_share == 20 / 30
    assert what_if({shape: 10}, [1], floor=19)[0].narrowed == 0


def test_after_a_miss_comes_a_full_call() -> None:
    """Four calls in a row that lack what they call: the first and the third miss, the second and the fourth do not."""
    before, counted = None, {}
    for _ in range(4):
        before = shape_of(wire=TOOLS, doors=(), ranked=TOOLS, confidence=1, called=["tool_c"], before=before)
        counted[before] = 1
    (found,) = what_if(counted, [1])
    assert (found.narrowed, found.missed, found.after_miss) == (2, 2, 2)


def test_confidence_in_twentieths() -> None:
    assert [sureness(x) for x in (None, -1, 0, 0.049, 0.05, 0.15, 0.55, 0.7, 0.999, 1, 7)] == [
        0, 0, 0, 0, 1, 3, 11, 14, 19, 20, 20,
    ]  # fmt: skip
    assert [sureness(step / FLOORS) for step in range(FLOORS + 1)] == list(range(FLOORS + 1))
