"""The JavaScript filter and the Python one let the same out, and refuse the same in the same words."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import to_builtins as plain

from runs.rules.kept import Dropped, Kept, encode, keep, table
from tests.js.node import RECORDINGS, run_node

pytestmark = pytest.mark.node

ODD_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    1.5,
    2.5,
    -0.25,
    41.5,
    1e21,
    2**53,
    315_360_000_000,
    315_360_000_001,
    946_684_799_999,
    946_684_800_000.75,
    1_796_068_520_644,
    "",
    " ",
    "x",
    "allow",
    "max-iterations",
    "external",
    "a" * 256,
    "a" * 257,
    "\u00e9" * 257,
    "\U0001f9ed" * 128,
    "\U0001f9ed" * 129,
    "a" * 501,
    "a" * 2_001,
    "\U0001f9ed" * 2_001,
    "nul \x00 inside",
    "half \ud83d of a pair",
    "a" * 32_768,
    "a" * 32_769,
    "a" * 32_767 + "\u00e9",
    "a" * 32_767 + "\U0001f9ed tail",
    "\u20ac" * 20_000,
    [],
    ["a"],
    ["a", 1],
    ["a", None],
    ["a" * 257, "b"],
    {},
    {"name": "a tool", "secret": "x"},
    [{}],
    [{"name": "a tool", "secret": "x"}],
    [{"name": "a tool", "aliases": ["a", "b"], "contentOrigin": "internal"}],
    [{"name": "a tool", "aliases": "a", "contentOrigin": None}],
    [{"name": "a tool", "contentOrigin": "elsewhere", "score": 0.5}],
    [{"name": "", "aliases": [1]}],
    ["a", {"name": 5}],
    [[]],
]


def lines_of(name: str) -> list[str]:
    return (RECORDINGS / name).read_text(encoding="utf-8").strip("\n").split("\n")


@pytest.mark.parametrize("name", sorted(path.name for path in RECORDINGS.glob("*.jsonl")))
def test_every_recorded_event_is_let_out_alike(name: str):
    lines = lines_of(name)
    outgoing = run_node("filter_lines.mjs", stdin="\n".join(lines)).split("\n")
    assert len(outgoing) == len(lines)
    for line, out in zip(lines, outgoing, strict=True):
        kept = keep(line)
        expected = json.loads(encode(kept)) if isinstance(kept, Kept) else None
        assert json.loads(out) == expected


def whole_payload(fields: dict[str, Any]) -> dict[str, Any]:
    """A payload with every listed field, each well formed."""
    return {field: whole_value(kind) for field, kind in fields.items()}


def whole_value(kind: Any) -> Any:
    if isinstance(kind, str):
        if kind == "roster":
            return [{"name": "a"}]
        return {
            "name": "a",
            "names": ["a"],
            "opt_names": ["a"],
            "count": 1,
            "number": 0.5,
            "plain": True,
        }.get(kind)
    return whole_payload(kind["struct"]) if "struct" in kind else [whole_payload(kind["structs"])]


def places(fields: dict[str, Any], *above: str | int) -> Iterator[tuple[str | int, ...]]:
    for field, kind in fields.items():
        yield (*above, field)
        if isinstance(kind, dict) and "struct" in kind:
            yield from places(kind["struct"], *above, field)
        elif isinstance(kind, dict):
            yield from places(kind["structs"], *above, field, 0)


def with_value(event: dict[str, Any], place: tuple[str | int, ...], value: Any) -> str:
    changed = copy.deepcopy(event)
    target: Any = changed
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    return json.dumps(changed)


def without(event: dict[str, Any], place: tuple[str | int, ...]) -> str:
    changed = copy.deepcopy(event)
    target: Any = changed
    for step in place[:-1]:
        target = target[step]
    del target[place[-1]]
    return json.dumps(changed)


def odd_lines() -> Iterator[str]:
    kinds = table()
    for event_type, fields in kinds["events"].items():
        event = {"type": event_type, "payload": whole_payload(fields), "meta": {"runId": "run-1"}}
        yield json.dumps(event)
        for place in places(fields, "payload"):
            yield without(event, place)
            for value in ODD_VALUES:
                yield with_value(event, place, value)
    event = {
        "type": "agentfootprint.stream.tool_start",
        "payload": {"toolName": "a", "toolCallId": "b"},
        "meta": {},
    }
    for place in [("payload",), ("meta",), ("type",), *places(kinds["meta"], "meta")]:
        for value in ODD_VALUES:
            yield with_value(event, place, value)
    for event_type in (
        "constructor",
        "__proto__",
        "stream.tool_start",
        "agentfootprint.footprint.tools.declared",
    ):
        yield json.dumps({"type": event_type, "payload": {}, "meta": {}})


def test_whatever_stands_in_a_field_the_dashboard_reads_the_same():
    lines = list(odd_lines())
    outgoing = run_node("filter_lines.mjs", stdin="\n".join(lines)).split("\n")
    assert len(outgoing) == len(lines)
    for line, out in zip(lines, outgoing, strict=True):
        directly = keep(line)
        if isinstance(directly, Dropped):
            assert out == "null", line[:500]
        else:
            assert plain(keep(out)) == plain(directly), (line[:500], out[:500])
