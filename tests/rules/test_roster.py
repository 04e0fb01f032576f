"""A roster is an upper bound: what a helper may be given, by name and by where its content comes from."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.rules.json_types import ABSENT
from runs.rules.roster import (
    CONTENT_CLASSES,
    EXTRA_TOOL_NAMES_CODE,
    DelegationPoolRow,
    ExtraToolDeclaration,
    ExtraToolNamesError,
    ToolProduct,
    delegation_pool_face,
    first_undeclared_extra_tool,
    read_extra_tool_names,
    undeclared_extra_tool,
    undeclared_extra_tools,
)
from runs.rules.vocabulary import ContentClass, RosterReason

SECRET = "s3cret-host-value"


def test_classes_are_ordered_nearest_to_home_first() -> None:
    assert CONTENT_CLASSES == ("internal", "workspace", "external")


def test_a_declaration_is_read_once_into_frozen_copies() -> None:
    value = [{"name": "a", "aliases": ["a", "b"], "contentOrigin": "workspace"}, {"name": "c"}]
    roster = read_extra_tool_names(value, True)
    value.clear()
    assert roster == (
        ExtraToolDeclaration("a", ("a", "b"), ContentClass.WORKSPACE),
        ExtraToolDeclaration("c", (), None),
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        roster[0].name = "x"  # type: ignore[misc]


def test_an_absent_roster_is_none_and_an_empty_one_is_a_roster() -> None:
    assert read_extra_tool_names(ABSENT, True) is None
    assert read_extra_tool_names(ABSENT, False) is None
    assert read_extra_tool_names([], True) == ()


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "A roster of extra tools must be a list, and it is null."),
        (SECRET, "A roster of extra tools must be a list, and it is a string."),
        (3.5, "A roster of extra tools must be a list, and it is a number."),
        (True, "A roster of extra tools must be a list, and it is a boolean."),
        ({"name": SECRET}, "A roster of extra tools must be a list, and it is an object."),
        ([{"name": "a"}, SECRET], "Entry 2 of the roster must be an object, and it is a string."),
        ([[SECRET]], "Entry 1 of the roster must be an object, and it is a list."),
        ([None], "Entry 1 of the roster must be an object, and it is null."),
        ([{}], "The name of entry 1 of the roster must be a non-empty string, and it is nothing."),
        ([{"name": 7}], "The name of entry 1 of the roster must be a non-empty string, and it is a number."),
        ([{"name": None}], "The name of entry 1 of the roster must be a non-empty string, and it is null."),
        (
            [{"name": ""}],
            "The name of entry 1 of the roster must be a non-empty string, and it is an empty one.",
        ),
        (
            [{"name": SECRET, "aliases": SECRET}],
            "The aliases of entry 1 of the roster must be a list, and they are a string.",
        ),
        (
            [{"name": "a", "aliases": None}],
            "The aliases of entry 1 of the roster must be a list, and they are null.",
        ),
        (
            [{"name": "a", "aliases": ["b", False]}],
            "Alias 2 of entry 1 of the roster must be a non-empty string, and it is a boolean.",
        ),
        (
            [{"name": "a", "aliases": [""]}],
            "Alias 1 of entry 1 of the roster must be a non-empty string, and it is an empty one.",
        ),
        (
            [{"name": "a", "contentOrigin": None}],
            "The content class of entry 1 of the roster must be internal, workspace or external, and it is null.",
        ),
        (
            [{"name": "a", "contentOrigin": SECRET}],
            (
                "The content class of entry 1 of the roster must be internal, workspace or external, "
                "and it is another string."
            ),
        ),
        (
            [{"name": "a"}, {"name": "b"}, {"name": "c", "aliases": ["x", "a"]}],
            "Entry 3 of the roster carries a spelling that entry 1 carries too.",
        ),
    ],
)
def test_a_shape_refusal_names_the_place_and_the_type(value: object, sentence: str) -> None:
    with pytest.raises(ExtraToolNamesError) as refusal:
        read_extra_tool_names(value, True)
    assert str(refusal.value) == sentence
    assert refusal.value.code == EXTRA_TOOL_NAMES_CODE == "config.extra_tool_names"
    assert refusal.value.reason is RosterReason.SHAPE


@pytest.mark.parametrize("value", [[], [{"name": "a"}], None, SECRET])
def test_a_roster_without_a_factory_is_refused(value: object) -> None:
    with pytest.raises(ExtraToolNamesError, match="needs a factory") as refusal:
        read_extra_tool_names(value, False)
    assert refusal.value.reason is RosterReason.SHAPE


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(10**6) | st.floats(10**6) | st.just(SECRET) | st.just("external"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "aliases", "contentOrigin", SECRET]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values, st.booleans())
def test_no_shape_sentence_contains_a_host_value(value: object, has_factory: bool) -> None:
    sentence = ""
    try:
        read_extra_tool_names(value, has_factory)
    except ExtraToolNamesError as refusal:
        sentence = str(refusal)
    assert SECRET not in sentence
    digits = [int(word.strip(".,")) for word in sentence.split() if word.strip(".,").isdigit()]
    assert all(number < 10**6 for number in digits)


ROSTER = (
    ExtraToolDeclaration("fetch", ("web_fetch",), ContentClass.EXTERNAL),
    ExtraToolDeclaration("notes", ("read_notes",), ContentClass.WORKSPACE),
    ExtraToolDeclaration("anything"),
)


@pytest.mark.parametrize(
    "product",
    [
        ToolProduct("fetch"),
        ToolProduct("web_fetch", (), "internal"),
        ToolProduct("fetch", ("web_fetch", "fetch"), "external"),
        ToolProduct("notes", ("read_notes",), "workspace"),
        ToolProduct("notes", (), "internal"),
        ToolProduct("anything"),
        ToolProduct("anything", (), "made-up"),
    ],
)
def test_a_product_declared_as_it_is_has_no_problem(product: ToolProduct) -> None:
    assert undeclared_extra_tool(ROSTER, product, "delegate") is None


@pytest.mark.parametrize(
    ("product", "reason", "sentence"),
    [
        (
            ToolProduct("other"),
            RosterReason.UNDECLARED_NAME,
            "delegate injected a tool that answers to other; no entry carries that name in its roster.",
        ),
        (
            ToolProduct("fetch", ("curl",)),
            RosterReason.UNDECLARED_NAME,
            "delegate injected a tool that answers to curl; no entry carries that name in its roster.",
        ),
        (
            ToolProduct("fetch", ("notes",)),
            RosterReason.UNDECLARED_NAME,
            (
                "delegate injected a tool that answers to fetch and to notes; "
                "entries 1 and 2 of its roster declare these as two tools."
            ),
        ),
        (
            ToolProduct("notes", (), "external"),
            RosterReason.UNDECLARED_ORIGIN,
            "delegate injected notes with external content; "
            "its roster declares that tool no further out than workspace.",
        ),
        (
            ToolProduct("notes"),
            RosterReason.UNDECLARED_ORIGIN,
            "delegate injected notes with external content; "
            "its roster declares that tool no further out than workspace.",
        ),
        (
            ToolProduct("notes", ("nope",), "external"),  # Names are checked before the class.
            RosterReason.UNDECLARED_NAME,
            "delegate injected a tool that answers to nope; no entry carries that name in its roster.",
        ),
    ],
)
def test_an_undeclared_product_is_told(product: ToolProduct, reason: RosterReason, sentence: str) -> None:
    problem = undeclared_extra_tool(ROSTER, product, "delegate")
    assert problem is not None
    assert (problem.reason, problem.sentence) == (reason, sentence)


def test_the_first_and_every_undeclared_product() -> None:
    products = (ToolProduct("fetch"), ToolProduct("x"), ToolProduct("notes", (), "external"))
    every = undeclared_extra_tools(ROSTER, products, "delegate")
    assert [(place, problem.reason) for place, problem in every] == [
        (1, "undeclared_name"),
        (2, "undeclared_origin"),
    ]
    assert first_undeclared_extra_tool(ROSTER, products, "delegate") == every[0][1]
    assert first_undeclared_extra_tool(ROSTER, products[:1], "delegate") is None
    assert undeclared_extra_tools(ROSTER, (), "delegate") == ()
    assert [place for place, _ in undeclared_extra_tools((), products, "delegate")] == [0, 1, 2]


spellings = st.sampled_from(["a", "b", "c", "d"])
classes = st.sampled_from([None, *CONTENT_CLASSES])
entries = st.builds(ExtraToolDeclaration, spellings, st.lists(spellings, max_size=2).map(tuple), classes)
products = st.builds(
    ToolProduct,
    spellings,
    st.lists(spellings, max_size=2).map(tuple),
    st.sampled_from([None, "x", *CONTENT_CLASSES]),
)


@given(st.lists(entries, max_size=4), st.lists(products, max_size=4))
def test_every_product_not_exactly_covered_by_one_entry_is_reported(
    roster: list[ExtraToolDeclaration], spawned: list[ToolProduct]
) -> None:
    reported = {place for place, _ in undeclared_extra_tools(roster, spawned, "delegate")}
    for place, product in enumerate(spawned):
        names = {product.name, *product.aliases}
        touching = [entry for entry in roster if names & {entry.name, *entry.aliases}]
        covered = len(touching) == 1 and names <= {touching[0].name, *touching[0].aliases}
        if covered and touching[0].content_origin is not None:
            own = product.content_origin if product.content_origin in CONTENT_CLASSES else "external"
            covered = CONTENT_CLASSES.index(own) <= CONTENT_CLASSES.index(touching[0].content_origin)  # type: ignore[arg-type]
        assert (place in reported) == (not covered)


def test_the_face_is_the_static_pool_and_what_the_factory_may_inject() -> None:
    own = (
        ToolProduct("search", ("find",), "external"),
        ToolProduct("plain"),
        ToolProduct("odd", (), "made-up"),
    )
    rows: tuple[Any, ...] = (
        DelegationPoolRow("search", ("find",), ContentClass.EXTERNAL),
        DelegationPoolRow("plain"),
        DelegationPoolRow("odd"),
    )
    assert delegation_pool_face(own, False, None) == rows
    assert delegation_pool_face(own, True, None) is None
    assert delegation_pool_face(own, True, ()) == rows
    assert delegation_pool_face(own, True, ROSTER[:1]) == (
        *rows,
        DelegationPoolRow("fetch", ("web_fetch",), ContentClass.EXTERNAL),
    )
