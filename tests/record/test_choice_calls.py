"""Tool-choice rows brought together a model call, whatever way and order they come in; and what their shapes say."""

import json
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.rules.choice_replay import read_shape, what_if
from runs.rules.kept import keep_object
from runs.rules.tool_choice import ALWAYS_SERVED_TOOLS, OutcomeRow, Pick, PickFailed, narrow_served
from runs.store.rows import ChoiceCallRow
from tests.lines import line
from tests.record.choice_rows import recorded_rows
from tests.record.memory import SECRET, MemoryRecord, rows_in_database
from tests.record.test_cases import Event, answers, begins, say
from tests.wire import Wire, make_project, make_token, run

TOOLS = ["look_up", "refund", "purge"]
DOORS = list(ALWAYS_SERVED_TOOLS)
WIRE = [*TOOLS, "present"]


def row(kind: str, iteration: int = 1, **more: Any) -> Event:
    payload = {"kind": kind, "iteration": iteration, **more}
    meta = {"runId": "run-1", "runtimeStageId": "tools#1", "wallClockMs": 1_800_000_000_000}
    return keep_object({"type": "footprint.tool_choice.row", "payload": payload, "meta": meta})


def pick(iteration: int = 1, **more: Any) -> Event:
    said = {
        "source": "classifier",
        "ranked": [{"name": name, "score": 1 / rank} for rank, name in enumerate(TOOLS, start=1)],
        "chosen": "look_up",
        "confidence": 0.8,
        "latencyMs": 38,
        "usage": {"inputTokens": 400, "outputTokens": 2},
        "offered": TOOLS,
        "served": ["look_up", "refund", "present"],
        "narrowed": True,
        "top": 2,
        "doors": DOORS,
        "wire": WIRE,
    }
    return row("pick", iteration, **(said | more))


def outcome(iteration: int = 1, *called: str, **more: Any) -> Event:
    return row("outcome", iteration, called=list(called), **more)


def picked(iteration: int = 1, **more: Any) -> Event:
    """The framework's event of the same reading, which only counts."""
    said = {"classifier": "c", "candidates": 3, "chosen": "look_up", "confidence": 0.8, "narrowed": True}
    return say("tool_choice.picked", **(said | {"iteration": iteration} | more))


def calls_of(*events: Event) -> list[ChoiceCallRow]:
    record = MemoryRecord().send([*begins(1), *events])
    return [call for listed in record.book.choice_calls.values() for call in listed]


def test_a_reading_and_its_outcome_are_one_model_call() -> None:
    (call,) = calls_of(pick(), outcome(1, "refund", firstAgrees=False))
    assert (call.reading, call.reading_from, call.reply_from) == ("pick", "row", "row")
    assert (call.chosen, call.called, call.calls, call.agrees) == ("look_up", "refund", 1, False)
    assert (call.confidence, call.latency_ms, call.input_tokens, call.output_tokens) == (0.8, 38, 400, 2)
    assert (call.narrowed, call.skipped, call.missed) == (True, "", False)
    shape = read_shape(call.shape)
    assert (shape.candidates, shape.ranked, shape.need, shape.sure) == (3, 3, 2, 16)
    assert (call.misses_to, call.sure, call.menu) == (1, 16, "")


@pytest.mark.parametrize("first", ["row", "event"])
def test_the_frameworks_event_of_the_same_reading_adds_nothing_to_the_row(first: str) -> None:
    two = [pick(), picked(confidence=0.1)] if first == "row" else [picked(confidence=0.1), pick()]
    (call,) = calls_of(*two, outcome(1, "look_up", firstAgrees=True))
    assert (call.reading_from, call.confidence, call.agrees) == ("row", 0.8, True)
    assert call.shape


def test_events_alone_are_counted_and_cannot_be_replayed() -> None:
    (call,) = calls_of(picked(), say("tool_choice.outcome", iteration=1, called=["purge"], missed=["purge"]))
    assert (call.reading_from, call.reply_from, call.missed, call.shape) == ("event", "event", True, "")


def test_a_second_reading_of_one_iteration_is_another_call() -> None:
    listed = calls_of(pick(), outcome(1, "look_up"), pick(chosen="refund"), outcome(1, "refund"))
    assert [(call.chosen, call.called) for call in listed] == [("look_up", "look_up"), ("refund", "refund")]


def test_an_outcome_without_a_reading_and_a_failed_reading_stand_for_themselves() -> None:
    alone, failed = calls_of(outcome(1, "look_up"), row("pick-error", 2, status=503, latencyMs=2000))
    assert (alone.reading, alone.called, alone.agrees) == ("", "look_up", None)
    assert (failed.reading, failed.latency_ms, failed.chosen) == ("pick-error", 2000, None)


def test_rows_that_come_after_the_answer_belong_to_it_all_the_same() -> None:
    record = MemoryRecord().send([*begins(0), *answers(), pick(), outcome(1, "purge")])
    (answer,) = record.answers
    ((key, (call,)),) = record.book.choice_calls.items()
    assert key[0] == answer.id and call.misses_to == 2


def test_a_call_remembers_those_right_before_it() -> None:
    """Three calls in a row whose last-ranked tool was called: at N = 1 and 2 the first and the third would miss."""
    listed = calls_of(*(event for n in (1, 2, 3) for event in (pick(n), outcome(n, "purge"))))
    counted = Counter(read_shape(call.shape) for call in listed)
    one, two, three = what_if(counted, [1, 2, 3])
    assert (one.missed, one.after_miss, two.missed, two.after_miss) == (2, 1, 2, 1)
    assert (three.missed, three.after_miss, three.narrowed) == (0, 0, 0)


@pytest.mark.django_db(transaction=True)
def test_what_came_in_many_batches_is_what_came_at_once() -> None:
    """One line a batch through the socket and the database: the same calls as in memory, told in one go."""
    project, lines = make_project(secret=SECRET), [line("agent.turn_start", {"userPrompt": "?"})]
    lines += [line("footprint.tool_choice.row", payload) for payload in recorded_rows(40)]
    token = make_token(project)

    async def story() -> None:
        async with Wire(token, stream="stream-1") as wire:
            await wire.hello()
            for seq, one in enumerate(lines, start=1):
                await wire.events(seq, [one])
                await wire.until_acked(seq)
            await wire.bye(len(lines))

    run(story)
    memory = MemoryRecord().send(keep_object(json.loads(one)) for one in lines)
    calls = memory.rows()["runs_choicecall"]
    assert rows_in_database(project)["runs_choicecall"] == calls
    assert len(calls) == 40


def replayed(reading: dict[str, Any], prior: list[Any]) -> tuple[str, ...]:
    """A recorded reading through the rule again, at the N that was really used."""
    is_pick = reading["kind"] == "pick"
    pick = msgspec.convert(reading if is_pick else reading | {"message": ""}, Pick if is_pick else PickFailed)
    return narrow_served(
        wire=reading["wire"],
        doors=reading["doors"],
        pick=pick,
        top=reading["top"],
        iteration=reading["iteration"],
        prior=prior,
        wrap_up_asked=reading.get("narrowedSkipped") == "wrap-up",
    ).served


@given(st.integers(1, 30), st.integers(0, 10_000), st.integers(1, 12))
@settings(deadline=None)
def test_the_replay_at_the_n_really_used_reproduces_every_recorded_list(n: int, seed: int, top: int) -> None:
    """Row by row through the rule, and all of them as shapes: what was really narrowed, saved and missed."""
    rows = recorded_rows(n, seed, top)
    prior: list[OutcomeRow] = []
    for reading, reply in zip(rows[::2], rows[1::2], strict=True):
        assert replayed(reading, prior) == tuple(reading["served"])
        prior.append(msgspec.convert(reply, OutcomeRow))

    lines = [line("agent.turn_start"), *(line("footprint.tool_choice.row", payload) for payload in rows)]
    book = MemoryRecord().send(keep_object(json.loads(one)) for one in lines).book
    calls = [call for listed in book.choice_calls.values() for call in listed]
    counted = Counter(read_shape(call.shape) for call in calls if call.shape)
    (found,) = what_if(counted, [top])
    picks = [reading for reading in rows[::2] if reading["kind"] == "pick"]
    assert found.narrowed == sum(reading["narrowed"] for reading in picks)
    assert found.saved == sum(len(reading["wire"]) - len(reading["served"]) for reading in picks)
    assert found.missed == sum("miss" in reply for reply in rows[1::2])
