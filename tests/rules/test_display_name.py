"""Calls are named in the app's words, and in no others."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.rules.display_name import (
    MAX_DISPLAY_NAME_CHARS,
    MAX_NAMED_CALLS,
    display_name_problem,
    ecma_trim,
    name_equals_a_tool_problem,
    named_calls,
    read_display_name,
    readable_name,
)

ECMA_WHITE = [0x9, 0xA, 0xB, 0xC, 0xD, 0x20, 0xA0, 0x1680, *range(0x2000, 0x200B)]
ECMA_WHITE += [0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF]


@dataclass(frozen=True)
class Call:
    tool_name: str


def phrase(tools: str, names: dict[str, str], also_unnamed: int = 0) -> str | None:
    return named_calls([Call(tool) for tool in tools.split()], also_unnamed, names.get)


def test_trimming_takes_exactly_what_ecmascript_takes() -> None:
    trimmed = [point for point in range(0x110000) if ecma_trim(f"{chr(point)}x{chr(point)}") == "x"]
    assert trimmed == sorted(ECMA_WHITE)
    assert ecma_trim(" \ufeff\u3000 loading  the data\u2029\n") == "loading  the data"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "displayName must be a string, and it is null."),
        (7, "displayName must be a string, and it is a number."),
        (True, "displayName must be a string, and it is a boolean."),
        (["secret"], "displayName must be a string, and it is a list."),
        ({"a": "secret"}, "displayName must be a string, and it is an object."),
        ("", "displayName must not be empty."),
        (" \ufeff\t", "displayName must not be empty."),
        ("x\x85", "displayName must be one plain line, and it holds U+0085, a control character."),
        ("a" * 61, "displayName must be at most 60 characters, and it has 61."),
        ("a" * 10_000, "displayName must be at most 60 characters, and it has 10000."),
        (
            "a\u200b" + "a" * 100,
            "displayName must be one plain line, and it holds U+200B, an invisible format character.",
        ),
    ],
)
def test_a_refusal_gives_the_type_or_length_never_the_value(value: object, sentence: str) -> None:
    assert display_name_problem("displayName", value) == sentence
    assert read_display_name(value) is None


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("  loading the attached data\n", "loading the attached data"),
        ("a" * 60, "a" * 60),
        ("   " + "👍" * 60 + "   ", "👍" * 60),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("None", "None"),
        ("half \ud83d of a pair", "half \ufffd of a pair"),
    ],
)
def test_a_name_is_read_trimmed(value: str, name: str) -> None:
    assert display_name_problem("displayName", value) is None
    assert read_display_name(value) == name


def test_a_name_that_is_some_tools_registered_name_is_no_name_for_readers() -> None:
    problem = name_equals_a_tool_problem("The name", " load_attachment ", {"load_attachment"})
    assert problem == "The name is the registered name of a tool, which readers never see."
    assert name_equals_a_tool_problem("The name", "loading the data", {"load_attachment"}) is None
    assert readable_name(" load_attachment ", {"load_attachment"}) is None
    assert readable_name(" loading the data ", {"load_attachment"}) == "loading the data"
    assert readable_name("two\nlines", set()) is None


NAMES = {
    "t1": "a",
    "t2": "b",
    "t3": "c",
    "t4": "d",
    "t5": "e",
    "same": "a",
    "bad": "x\u202ey",
    "long": "y" * 61,
}


@pytest.mark.parametrize(
    ("tools", "also_unnamed", "expected"),
    [
        ("t1", 0, "a"),
        ("t1 t2", 0, "a and b"),
        ("t1 t2 t3", 0, "a, b and c"),
        ("t1 nameless", 0, "a and 1 other call"),
        ("t1 t2 nameless", 0, "a, b and 1 other call"),
        ("t1 t2 t3 nameless", 1, "a, b, c and 2 other calls"),
        ("t3 t1 t2", 0, "c, a and b"),
        ("t1 t1 t1", 0, "a"),
        ("t1 same", 0, "a"),
        ("t1 t2 t3 t4", 0, "a, b, c and 1 other call"),
        ("t1 t2 t3 t4 t4 t5 t1", 0, "a, b, c and 3 other calls"),
        ("bad long t1", 0, "a and 2 other calls"),
        ("nameless bad", 0, None),
        ("nameless", 5, None),
        ("", 0, None),
        ("", 3, None),
        ("t1", -1, "a"),
    ],
)
def test_calls_named_and_counted(tools: str, also_unnamed: int, expected: str | None) -> None:
    assert phrase(tools, NAMES, also_unnamed) == expected


def test_the_published_example() -> None:
    names = {"load_attachment": "loading the attached data"}
    assert phrase("load_attachment list_runs", names) == "loading the attached data and 1 other call"


REFUSED = ("\u202eevil", "x" * 61, "two\nlines", "", " ")

registered = st.sampled_from([f"registered_{n}" for n in range(8)])
declared = st.one_of(st.none(), st.text("abc \u202e\n"), st.sampled_from(["Loading", "Searching", *REFUSED]))


@given(st.lists(registered), st.integers(0, 5), st.dictionaries(registered, declared))
def test_no_refused_and_no_registered_name_is_ever_printed(
    tools: list[str], also_unnamed: int, names: dict[str, str | None]
) -> None:
    said = named_calls([Call(tool) for tool in tools], also_unnamed, names.get)
    if all(read_display_name(names.get(tool)) is None for tool in tools):
        assert said is None
        return
    assert said is not None
    assert "registered" not in said
    assert not any(refused in said for refused in REFUSED if refused.strip())
    assert display_name_problem("", said[:MAX_DISPLAY_NAME_CHARS]) is None


@given(st.lists(registered), st.integers(0, 5))
def test_every_call_is_named_or_counted_once(tools: list[str], also_unnamed: int) -> None:
    names = {f"registered_{n}": f"name {chr(97 + n)}" for n in range(5)}
    said = named_calls([Call(tool) for tool in tools], also_unnamed, names.get)
    order = list(dict.fromkeys(names[tool] for tool in tools if tool in names))
    printed = order[:MAX_NAMED_CALLS]
    others = also_unnamed + sum(names.get(tool) not in printed for tool in tools)
    if not printed:
        assert said is None
        return
    items = printed + ([f"{others} other call" + "s" * (others != 1)] if others else [])
    assert said == (items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1])


@given(st.text())
def test_what_is_read_may_be_read_again(value: str) -> None:
    name = read_display_name(value)
    if name is not None:
        assert read_display_name(name) == name
        assert 0 < len(name) <= MAX_DISPLAY_NAME_CHARS
        name.encode("utf-8")
