"""Display names: the app's own words for what a call of a tool does, and the one way calls are named in them.

A tool's registered name is the model's vocabulary and never reaches a reader. A call is named only by the words
declared for its tool; a call without such words is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Protocol

from .json_types import json_type_word, with_article
from .plain_line import plain_line_problem

MAX_DISPLAY_NAME_CHARS = 60
"""The longest display name, in code points of the trimmed text."""

MAX_NAMED_CALLS = 3
"""At most this many names in one phrase: a line for a person, not a list."""

# What ECMAScript trims, so that both sides of the wire agree. Python's own `strip()` also takes U+001C to U+001F and
# U+0085, which are control characters here, and leaves U+FEFF.
_ECMA_WHITE = (
    "\t\n\v\f\r \u00a0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


class NamedTool(Protocol):
    """Anything that is one call of a tool."""

    @property
    def tool_name(self) -> str: ...


def ecma_trim(text: str) -> str:
    """`text` without white space at either end, as ECMAScript's ``trim`` understands white space."""
    return text.strip(_ECMA_WHITE)


def display_name_problem(label: str, value: object) -> str | None:
    """Why `value` is not a display name, or None when it is; `label` names the field in the sentence.

    Judged on the trimmed text, in this order: a string, not empty, one plain line, at most
    `MAX_DISPLAY_NAME_CHARS`. The sentence gives the value's type or length, never the value.
    """
    if not isinstance(value, str):
        return f"{label} must be a string, and it is {with_article(json_type_word(value))}."
    name = ecma_trim(value)
    if not name:
        return f"{label} must not be empty."
    problem = plain_line_problem(label, name)
    if problem is not None:
        return problem
    if len(name) > MAX_DISPLAY_NAME_CHARS:
        return f"{label} must be at most {MAX_DISPLAY_NAME_CHARS} characters, and it has {len(name)}."
    return None


def read_display_name(value: object) -> str | None:
    """The trimmed name a person may read, or None where the rule refuses it.

    Every name passes here again whenever it is read, wherever it came from. Half of a surrogate pair, which the rule
    allows and no page can encode, reads as U+FFFD.
    """
    return _read(value) if isinstance(value, str) else None


@lru_cache(maxsize=4096)  # an answer of thousands of calls has the same few names, judged call by call
def _read(value: str) -> str | None:
    if display_name_problem("", value) is not None:
        return None
    return ecma_trim(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def name_equals_a_tool_problem(label: str, value: str, registered_names: Collection[str]) -> str | None:
    """Why a well-formed display name may still not be printed: it is some tool's registered name or alias.

    The name itself is not repeated. `registered_names` holds every registered name and alias of the project.
    """
    if ecma_trim(value) in registered_names:
        return f"{label} is the registered name of a tool, which readers never see."
    return None


def readable_name(value: object, registered_names: Collection[str]) -> str | None:
    """The name a page may print: what `read_display_name` reads, unless it is some tool's registered name or alias."""
    name = read_display_name(value)
    return None if name is None or name in registered_names else name


def named_calls(
    calls: Iterable[NamedTool], also_unnamed: int, display_name_of: Callable[[str], str | None]
) -> str | None:
    """The calls in the app's words, or None when no call's tool has any; then the page says what it always says.

    Each distinct name once, in the order of the calls, at most `MAX_NAMED_CALLS`; every call not covered by a printed
    name is counted, with `also_unnamed` calls that the record does not name. `display_name_of` takes a registered
    name, which is a key and never printed. ``a``, ``a, b and c``, ``a and 1 other call``.
    """
    printed: list[str] = []
    others = also_unnamed
    for call in calls:
        name = read_display_name(display_name_of(call.tool_name))
        if name is None:
            others += 1
        elif name not in printed:
            if len(printed) < MAX_NAMED_CALLS:
                printed.append(name)
            else:
                others += 1
    if not printed:
        return None
    if others > 0:
        printed.append("1 other call" if others == 1 else f"{others} other calls")
    return and_list(printed)


def and_list(items: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``. At least one item."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
