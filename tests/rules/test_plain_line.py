"""A plain line holds nothing a person cannot see."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.rules.plain_line import plain_line_problem


@pytest.mark.parametrize(
    ("text", "code_point", "what"),
    [
        ("a\x00b", "U+0000", "a control character"),
        ("tab\there", "U+0009", "a control character"),
        ("line\u2028", "U+2028", "a line separator"),
        ("paragraph\u2029", "U+2029", "a paragraph separator"),
        ("\u202ereversed", "U+202E", "an invisible format character"),
        ("tag\U000e0041", "U+E0041", "an invisible format character"),
        ("newer than Unicode 14 \U00013439", "U+13439", "an invisible format character"),
    ],
)
def test_the_sentence_names_the_label_and_the_code_point(text: str, code_point: str, what: str) -> None:
    assert plain_line_problem("The name", text) == (
        f"The name must be one plain line, and it holds {code_point}, {what}."
    )


def test_the_first_offence_is_named() -> None:
    assert "U+0007" in str(plain_line_problem("x", "ok\x07\u202e"))


@pytest.mark.parametrize("text", ["", "été", "工具", "👍🏽", "a\u00a0b", "✈️", "half \ud83d"])
def test_everything_visible_is_plain(text: str) -> None:
    assert plain_line_problem("x", text) is None


@given(st.text())
def test_exactly_four_categories_are_refused(text: str) -> None:
    refused = [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]
    newer = [c for c in text if "\U00013439" <= c <= "\U0001343f"]
    assert (plain_line_problem("x", text) is None) == (not refused and not newer)
