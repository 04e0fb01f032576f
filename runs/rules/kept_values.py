"""One raw value read by its kind: what cannot be read is "not recorded", never an exception's text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Raw

from runs.rules import display_name, roster
from runs.rules.kept_kinds import (
    CLOCK_FROM_MS,
    CLOCK_TO_MS,
    LONGEST_MS,
    MAX_INT,
    MAX_ITEMS,
    MAX_LABEL_CHARS,
    WORDS,
)
from runs.rules.kept_odd import clean
from runs.rules.tool_ledger import MAX_TOOL_CALL_TEXT, utf16_length


def read_string(raw: Any) -> str | None:
    value = _load(raw)
    return clean(value) if isinstance(value, str) else None


def _load(raw: Any) -> Any:
    if not isinstance(raw, Raw):
        return raw
    data = bytes(raw)
    if data[:1] in b"[{":
        return None  # containers are never a scalar's value; not even unpacked
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError):
        return None


def _read_opt_name(raw: Any, field: str, limit: int, oversized: list[str]) -> str | None:
    text = read_string(raw)
    if text is not None and utf16_length(text) > limit:
        oversized.append(field)
        return None
    return text


def _read_word(raw: Any, field: str, limit: int, oversized: list[str]) -> str | None:
    value = _load(raw)
    if value is None and bytes(raw) == b"null":
        return None
    return value if isinstance(value, str) and value in WORDS[field] else "other"


def _read_flag(raw: Any, field: str, limit: int, oversized: list[str]) -> bool:
    return bytes(raw) not in (b"false", b"null", b"0", b'""') if isinstance(raw, Raw) else bool(raw)


def _read_presence(raw: Any, field: str, limit: int, oversized: list[str]) -> bool:
    return bytes(raw) not in (b"null", b"false") if isinstance(raw, Raw) else bool(raw)


def _read_opt_count(raw: Any, field: str, limit: int, oversized: list[str]) -> int | None:
    value = _load(raw)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INT else None


def _read_millis(raw: Any, field: str, limit: int, oversized: list[str]) -> int | None:
    value = _load(raw)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LONGEST_MS:
        return None
    return round(value)


def _read_clock(raw: Any, field: str, limit: int, oversized: list[str]) -> int | None:
    value = _load(raw)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if CLOCK_FROM_MS <= value < CLOCK_TO_MS else None


def _read_label(raw: Any, field: str, limit: int, oversized: list[str]) -> str | None:
    text = read_string(raw)
    return None if text is None else text[:MAX_LABEL_CHARS]


def _read_length(raw: Any, field: str, limit: int, oversized: list[str]) -> int | None:
    if isinstance(raw, int):
        return raw
    data = bytes(raw)
    if data[:1] == b"[":
        return len(msgspec.json.decode(data, type=list[Raw]))
    return _read_opt_count(raw, field, limit, oversized)  # our own stored form: the number itself


def read_declared(shape: Any, raw: Any) -> None:
    """A declared tool's `display_name`, or in `display_name_problem` why the rule refuses it; never both."""
    value = _load(raw)
    if value is None and isinstance(raw, Raw) and bytes(raw) != b"null":
        value = msgspec.json.decode(bytes(raw))  # a list or an object: the rule names its type
    shape.display_name = None
    if value is None:
        return
    problem = display_name.display_name_problem("displayName", value)
    if problem is None:
        shape.display_name = display_name.read_display_name(value)
    shape.display_name_problem = problem


def read_roster(shape: Any, raw: Any, oversized: list[str]) -> None:
    """A declaration's `extra_tool_names`, or in `roster_reason` and `roster_sentence` why it is no roster; never both.

    An entry with a name or alias that is too long is left out, as every such name is: no product can carry it.
    """
    value = msgspec.json.decode(bytes(raw)) if isinstance(raw, Raw) else raw
    if isinstance(value, list) and len(value) > MAX_ITEMS:
        oversized.append("extra_tool_names[]")
        value = value[:MAX_ITEMS]
    has_factory = shape.has_factory
    if not isinstance(has_factory, bool):
        has_factory = _read_flag(has_factory, "", 0, [])
    shape.extra_tool_names = shape.roster_reason = shape.roster_sentence = None
    try:
        entries = roster.read_extra_tool_names(value, has_factory) or ()
    except roster.ExtraToolNamesError as refusal:
        shape.roster_reason, shape.roster_sentence = refusal.reason, str(refusal)
        return
    fitting = [
        entry
        for entry in entries
        if all(utf16_length(name) <= MAX_TOOL_CALL_TEXT for name in (entry.name, *(entry.aliases or ())))
    ]
    if len(fitting) != len(entries):
        oversized.append("extra_tool_names")
    shape.extra_tool_names = [_plain_entry(entry) for entry in fitting]


def _plain_entry(entry: roster.ExtraToolDeclaration) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": clean(entry.name)}
    if entry.aliases is not None:
        plain["aliases"] = [clean(alias) for alias in entry.aliases]
    if entry.content_origin is not None:
        plain["contentOrigin"] = entry.content_origin
    return plain


READERS: Final[dict[str, Callable[[Any, str, int, list[str]], Any]]] = {
    "opt_name": _read_opt_name,
    "word": _read_word,
    "flag": _read_flag,
    "presence": _read_presence,
    "opt_count": _read_opt_count,
    "millis": _read_millis,
    "clock": _read_clock,
    "label": _read_label,
    "length": _read_length,
}
