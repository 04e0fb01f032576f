"""The short way through the allow-list says what the patient one says, wherever it says anything."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.rules import kept
from runs.rules.kept import KEPT, Kept, keep_patiently
from runs.rules.kept_event import EventMeta
from runs.rules.kept_kinds import (
    CLOCK_FROM_MS,
    CLOCK_TO_MS,
    LONGEST_MS,
    MAX_INT,
    MAX_ITEMS,
    WORDS,
    Fields,
    camel,
    kinds_in,
)
from runs.rules.kept_reading import full_type
from runs.rules.kept_strict import StrictReader
from tests import recordings

strict = StrictReader(KEPT, kept.TEXT_KINDS, full_type)


def agree(line: str | bytes) -> Kept | None:
    short, patient = strict.keep(line), keep_patiently(line)
    if short is not None:
        assert isinstance(patient, Kept)
        assert kept.encode_body(short) == kept.encode_body(patient)
        assert (short.type, short.texts, short.oversized) == (patient.type, patient.texts, patient.oversized)
        assert isinstance(short.body, KEPT[short.type])
    return short


@pytest.mark.parametrize("name", recordings.names())
def test_both_ways_agree_on_every_recorded_event(name: str) -> None:
    for line in recordings.lines(name):
        agree(line)
        agree(line.encode())


def test_nearly_every_recorded_event_takes_the_short_way() -> None:
    lines = [line for name in recordings.names() for line in recordings.lines(name)]
    patient = [line for line in lines if isinstance(keep_patiently(line), Kept)]
    short = [line for line in patient if strict.keep(line) is not None]
    assert len(short) > 0.98 * len(patient)


# -- whatever may stand in a field --

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        [0, -1, 1, 3.0, 3.5, -0.5, 1e300, 1e301, CLOCK_FROM_MS, CLOCK_FROM_MS + 0.9, CLOCK_TO_MS]
    ),
    st.sampled_from([CLOCK_TO_MS - 1, LONGEST_MS, LONGEST_MS + 1, MAX_INT, MAX_INT + 1, 10**30, 2**53 + 1]),
    st.floats(),
    st.sampled_from(sorted({word for words in WORDS.values() for word in words})),
    st.sampled_from(
        ["", " ", "a\x00b", "\ud83d", "🙂" * 64, "🙂" * 65, "🙂" * 129, "x" * 128, "x" * 129, "x" * 257]
    ),
    st.sampled_from(["s/" * 125, "s/" * 251, "t" * 2_001, "t" * 8_193, "é" * 20_000, "None", "other"]),
    st.text(max_size=5),
)
ANYTHING = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.text(max_size=3), SCALARS, max_size=2)
)


def shaped(shape: type[Fields]) -> st.SearchStrategy[dict[str, Any]]:
    """An object with some of the shape's fields, most of them as they should be."""
    return st.fixed_dictionaries(
        {},
        optional={
            camel(name): fitting(name, kind, nested) for name, (kind, nested) in kinds_in(shape).items()
        },
    )


def fitting(name: str, kind: str, nested: type[Fields] | None) -> st.SearchStrategy[Any]:
    if nested is not None:
        inner = shaped(nested)
        return st.one_of(inner if kind == "struct" else st.lists(inner, max_size=3), ANYTHING)
    usual = {
        "word": st.sampled_from(sorted(WORDS.get(name, {"x"}))),
        "flag": st.booleans(),
        "presence": st.booleans(),
        "plain": st.booleans(),
        "names": st.lists(st.text(max_size=4), max_size=3),
        "opt_names": st.lists(st.text(max_size=4), max_size=3),
        "number": st.floats(0, 1),
    }
    numbers = st.integers(0, 10**6)
    return st.one_of(usual.get(kind, numbers if kind in NUMBERS else st.text(max_size=6)), SCALARS, ANYTHING)


NUMBERS = frozenset(["count", "opt_count", "millis", "clock", "length"])
EVENTS = st.sampled_from(sorted(KEPT)).flatmap(
    lambda name: st.fixed_dictionaries(
        {"type": st.just(full_type(name)), "payload": shaped(KEPT[name]), "meta": shaped(EventMeta)}
    )
)


@settings(max_examples=600)
@given(EVENTS, st.sampled_from([(",", ":"), (", ", ": ")]), st.booleans())
def test_both_ways_agree_on_whatever_stands_in_the_fields(
    event: dict[str, Any], separators: tuple[str, str], ascii_only: bool
) -> None:
    line = json.dumps(event, separators=separators, ensure_ascii=ascii_only)
    agree(line)
    agree(line.encode("utf-8", "surrogatepass"))


REQUIRED = {"name": "a", "names": ["a"], "count": 1, "word": "pick", "struct": {}, "structs": []}
ODD = [None, "", "a", 0, 1, 1.5, -1, True, False, [], {}, ["a"], [None], [{}], {"name": "a"}, "x" * 300]


@pytest.mark.parametrize("name", sorted(KEPT))
def test_both_ways_agree_on_each_field_by_itself(name: str) -> None:
    kinds = {camel(field): kind for field, (kind, _) in kinds_in(KEPT[name]).items()}
    whole = {field: REQUIRED[kind] for field, kind in kinds.items() if kind in REQUIRED}
    for field in kinds:
        for value in ODD:
            for flag in (True, False, None):
                told = {**whole, "hasFactory": flag, field: value}
                agree(json.dumps({"type": full_type(name), "payload": told, "meta": {"runId": "r"}}))


def test_a_type_said_twice_is_no_short_way() -> None:
    """In JSON the last one holds: what the line begins with may not decide."""
    first, last = '{"type":"agentfootprint.stream.tool_end",', '"type":"agentfootprint.stream.token"}'
    assert agree(f'{first}"payload":{{"toolCallId":"c"}},"meta":{{}},{last}') is None


def test_too_many_of_something_is_no_short_way() -> None:
    tools = [{"name": f"tool-{n}"} for n in range(MAX_ITEMS + 1)]
    told = {"type": "agentfootprint.stream.llm_start", "meta": {}, "payload": {"tools": tools[:-1]}}
    assert agree(json.dumps(told)) is not None
    told["payload"] = {"tools": tools}
    assert agree(json.dumps(told)) is None


def test_a_number_with_a_fraction_is_rounded_and_an_unknown_word_is_other() -> None:
    told = {"toolCallId": "c", "durationMs": 12.5, "status": "brand-new"}
    line = json.dumps(
        {"type": "agentfootprint.stream.tool_end", "payload": told, "meta": {"runOffsetMs": 7.9}}
    )
    short = agree(line)
    assert short is not None
    assert (short.body.duration_ms, short.body.status, short.meta.run_offset_ms) == (12, "other", 8)
