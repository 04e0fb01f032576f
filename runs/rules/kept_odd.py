"""JSON that a strict decoder does not take: lone surrogates, NaN, Infinity, numbers without measure, depth."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

import msgspec

from runs.rules.kept_kinds import MAX_INT

MAX_DEPTH: Final = 200

_SURROGATES: Final = re.compile("[\ud800-\udfff]")


class TooDeep(Exception):
    """More than MAX_DEPTH levels."""


def clean(text: str) -> str:
    """The text as it may rest: U+0000 shown as U+2400, a lone surrogate as U+FFFD."""
    if "\x00" in text:
        text = text.replace("\x00", "\u2400")
    return _SURROGATES.sub("\ufffd", text)


def mended_line(line: bytes | str) -> bytes:
    """The same event as strict JSON. Raises TooDeep, RecursionError, or what says that it is not JSON."""
    if isinstance(line, bytes):
        line = line.decode("utf-8", "surrogatepass")
    return mended_value(json.loads(line, parse_constant=lambda _: None, parse_float=_finite))


def mended_value(value: object) -> bytes:
    """A Python value as strict JSON; what JSON cannot say becomes null or U+FFFD. Raises TooDeep."""
    return msgspec.json.encode(_mend(value, 0))


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _mend(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise TooDeep
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value <= MAX_INT else float(value) if abs(value) < 10**300 else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {_mend(str(key), depth + 1): _mend(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mend(item, depth + 1) for item in value]
    return None  # an object only its own program understands: not JSON, so it does not exist here
