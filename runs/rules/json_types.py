"""The type of a value from outside, in JSON's words: all that a refusal may say about what it found."""

from __future__ import annotations

from typing import Final

import msgspec

ABSENT: Final = msgspec.UNSET
"""A field that was not there at all, as against one that was null."""


def json_type_word(value: object) -> str:
    """``string``, ``number``, ``boolean``, ``null``, ``list``, ``object`` or ``nothing``. Never the value itself."""
    match value:
        case None:
            return "null"
        case bool():  # Before numbers: Python counts True as one.
            return "boolean"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list() | tuple():
            return "list"
        case dict():
            return "object"
        case msgspec.UNSET:
            return "nothing"
        case _:
            return "something that is not JSON"


def with_article(word: str) -> str:
    """A type word as a sentence says it: ``a string``, ``an object``; ``null`` and ``nothing`` stand alone."""
    if word in ("null", "nothing") or word.startswith("something"):
        return word
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"
