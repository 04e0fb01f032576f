"""One event of the agent as a line of the wire, holding the fields of THE allow-list and nothing else.

`rules.kept` decides what is kept. What this module adds is that it picks the listed fields out of the agent's own
objects first, so that a huge result, an endless structure or an object with a mind of its own costs the agent
nothing and is never walked, printed or encoded.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from runs.rules import kept

LONGEST_TEXT: Final = kept.MAX_TEXT_BYTES + 1  # one more than is kept: the server still sees that it was cut
ROSTER_DEPTH: Final = 4  # a list of entries, an entry, its aliases, an alias

Plan = tuple[tuple[str, Callable[[Any], Any]], ...]


class Line(Struct, frozen=True):
    """What is sent for one event. `refusal` names the place and the TYPE when the list refuses the event.

    `data` is None where not even its place can be told to the server: a number is used up, and reported as lost.
    """

    data: bytes | None
    refusal: str | None = None


def line_of(event: object) -> Line | None:
    """The event as it travels, or None when the list does not name its type. May raise on hostile objects."""
    if not isinstance(event, dict):
        return Line(None, "event: expected an object, got something else")
    event_type = dict.get(event, "type")
    if not isinstance(event_type, str):
        return Line(None, "type: expected string, got something else")
    plan = _PLANS.get(event_type)
    if plan is None:
        return None
    picked = {
        "type": str(event_type),
        "payload": _pick(dict.get(event, "payload"), plan),
        "meta": _pick(dict.get(event, "meta"), _META),
    }
    return _read(picked, _verdict(picked))


def _verdict(picked: dict[str, Any]) -> kept.Kept | kept.Dropped | kept.Refused:
    """What is picked is plain JSON already, so it is written at once; what JSON cannot say goes the patient way."""
    try:
        line = msgspec.json.encode(picked)
    except (ValueError, OverflowError, TypeError, RecursionError):  # half a character, a huge number
        return kept.keep_object(picked)
    return kept.keep(line)


def line_of_text(text: bytes | str) -> Line | None:
    """The same for an event that already is a JSON text (a line of a recording)."""
    verdict = kept.keep(text)
    if isinstance(verdict, kept.Kept) and not _odd(verdict):
        return Line(kept.encode(verdict))
    if isinstance(verdict, kept.Dropped):
        return None
    try:
        return line_of(json.loads(text))
    except (ValueError, RecursionError):
        return Line(None, verdict.reason if isinstance(verdict, kept.Refused) else "event: expected JSON")


def _read(picked: dict[str, Any], verdict: kept.Kept | kept.Dropped | kept.Refused) -> Line | None:
    if isinstance(verdict, kept.Kept) and not _odd(verdict):
        return Line(kept.encode(verdict))
    if isinstance(verdict, kept.Dropped):
        return None
    # A name that is too long, a text that is cut or an event that is refused leaves a mark on the answer. The server
    # has to see it for itself: the listed fields travel as they came. ASCII, so that no character is in the way.
    data = json.dumps(picked, separators=(",", ":")).encode("ascii")
    return Line(data, verdict.reason if isinstance(verdict, kept.Refused) else None)


def _odd(event: kept.Kept) -> bool:
    return bool(event.oversized) or any(text.cut for text in event.texts)


# -- picking ------------------------------------------------------------------------------------


def _pick(value: Any, plan: Plan) -> Any:
    if not isinstance(value, dict):
        return _scalar(value)
    picked: dict[str, Any] = {}
    get = dict.get
    for field, read in plan:
        item = get(value, field, _ABSENT)
        if item is not _ABSENT:
            picked[field] = read(item)
    return picked


_ABSENT: Final = object()


def _scalar(value: Any) -> Any:
    """A plain value as it is, cut to what a text may be; of anything else only its JSON type."""
    kind = type(value)  # the plain ones first: nearly every value is one
    if kind is str:
        return value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT]
    if kind is int:
        return value if -(10**18) < value < 10**18 else _whole(value)
    if value is None or kind is bool or kind is float:
        return value
    if isinstance(value, str):
        return str.__str__(value)[:LONGEST_TEXT]
    if isinstance(value, int):
        return _whole(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, list | tuple):
        return []
    return {} if isinstance(value, dict) else None


def _whole(value: int) -> int | None:
    whole = int.__index__(value)
    return whole if abs(whole) < 10**300 else None


def _presence(value: Any) -> bool:
    return value is not None and value is not False


def _length(value: Any) -> Any:
    return len(value) if isinstance(value, list | tuple) else _scalar(value)


def _names(value: Any) -> Any:
    return [_scalar(item) for item in value] if isinstance(value, list | tuple) else _scalar(value)


def _roster(value: Any, depth: int = ROSTER_DEPTH) -> Any:
    if depth and isinstance(value, list | tuple):
        return [_roster(item, depth - 1) for item in value]
    if depth and isinstance(value, dict):
        return {
            field: _roster(dict.get(value, field), depth - 1)
            for field in ("name", "aliases", "contentOrigin")
            if field in dict.keys(value)
        }
    return _scalar(value)


_BY_KIND: Final[dict[str, Callable[[Any], Any]]] = {
    "presence": _presence,
    "length": _length,
    "names": _names,
    "opt_names": _names,
    "roster": _roster,
}


def _reader(kind: Any) -> Callable[[Any], Any]:
    if isinstance(kind, str):
        return _BY_KIND.get(kind, _scalar)
    if "struct" in kind:
        plan = _plan(kind["struct"])
        return lambda value: _pick(value, plan)
    items = _plan(kind["structs"])
    return lambda value: (
        [_pick(item, items) for item in value] if isinstance(value, list | tuple) else _scalar(value)
    )


def _plan(shape: dict[str, Any]) -> Plan:
    return tuple((field, _reader(kind)) for field, kind in shape.items())


_TABLE: Final = kept.table()
_META: Final = _plan(_TABLE["meta"])
_PLANS: Final = {name: _plan(shape) for name, shape in _TABLE["events"].items()}
