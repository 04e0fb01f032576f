"""Events no agent would send in this order: every type of the allow-list, with few ids, so that they meet.

The shapes come from the table itself (`runs.rules.kept.table`): a new event type is in here the day it is listed.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from runs.intake.numbering import Item, Missing
from runs.rules.kept import Dropped, Kept, Refused, keep_object, table
from runs.rules.kept_kinds import WORDS
from runs.rules.kept_reading import PREFIX
from tests.record.memory import MemoryRecord

RUNS = ["run-1", "run-2", "run-3"]
STAGES = [
    "stage#1",
    "sf-tools/stage#2",
    "step-a/stage#3",
    "step-a/sf-tools/stage#4",
    "step-b/final/stage#5",
    "body/in/stage#6",
]
LABELS = ["a", "b", "a", "b", "c", "", "x" * 257]
TYPES = sorted(table()["events"])
# Most of what happens in a run, so that random orders come near to real ones.
FREQUENT = [
    PREFIX + name
    for name in (
        *(
            "agent.turn_start",
            "agent.turn_end",
            "agent.iteration_start",
            "stream.llm_start",
            "stream.llm_end",
        ),
        *("stream.tool_start", "stream.tool_start", "stream.tool_end", "stream.tool_end", "permission.check"),
        *(
            "pause.request",
            "checkin.decision",
            "integrity.disposition",
            "error.fatal",
            "agent.run_configured",
        ),
    )
]

_small = st.integers(0, 3)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(LABELS),
    "opt_name": st.sampled_from([*LABELS, None, 7]),
    "flag": st.booleans(),
    "presence": st.sampled_from([True, {"any": 1}, None]),
    "count": _small,
    "opt_count": st.sampled_from([0, 1, 2, 3, None, "many"]),
    "millis": st.sampled_from([5, -1, None, 1e300]),
    "clock": st.sampled_from([1_700_000_000_000, 0, None]),
    "label": st.just("label"),
    "text": st.sampled_from(["said", "", None]),
    "names": st.lists(st.sampled_from(LABELS), max_size=2),
    "opt_names": st.none() | st.lists(st.sampled_from(LABELS), max_size=2),
    "length": st.sampled_from([[], [1, 2], 3, None]),
    "declared": st.sampled_from(["Look up", "", "\x07", 3, None]),
    "roster": st.sampled_from([None, 5, [{"name": "a"}], [{"name": "b", "aliases": ["c"]}, {"name": "c"}]]),
    "number": st.sampled_from([0.5, 1, None]),
    "plain": st.just(None),
}


def _value(field: str, shape: Any) -> st.SearchStrategy[Any]:
    if isinstance(shape, dict):
        ((kind, fields),) = shape.items()
        one = _object(fields)
        return st.none() | one if kind == "struct" else st.lists(one, max_size=2)
    if shape == "word":
        words = WORDS.get("".join("_" + c.lower() if c.isupper() else c for c in field), frozenset())
        return st.sampled_from([*sorted(words), "other", None])
    return _VALUES[shape]


def _object(fields: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({field: _value(field, shape) for field, shape in fields.items()})


_PAYLOADS = {kind: _object(fields) for kind, fields in table()["events"].items()}


@st.composite
def events(draw: st.DrawFn) -> Kept | Dropped | Refused:
    """One event as the door reads it: mostly kept, sometimes refused."""
    kind = draw(st.sampled_from(FREQUENT) | st.sampled_from(TYPES))
    payload = draw(_PAYLOADS[kind])
    if kind == PREFIX + "pause.request":
        payload = {
            "questionPayload": {
                "toolCallId": draw(st.sampled_from("ab")),
                "toolName": draw(st.sampled_from("ab")),
            }
        }
    run = draw(st.sampled_from(RUNS) | st.sampled_from(["consumer-scope", None]))
    if kind == PREFIX + "pause.request":
        run = "consumer-scope"
    meta = {
        "runId": run,
        "sessionId": draw(st.sampled_from([None, "session"])),
        "runtimeStageId": draw(st.sampled_from(STAGES)),
        "compositionPath": draw(st.sampled_from([[], ["Agent:x"], ["Sequence:y"]])),
        "wallClockMs": 1_700_000_000_000 + draw(_small),
    }
    return keep_object({"type": kind, "payload": payload, "meta": meta})


@st.composite
def arrivals(draw: st.DrawFn, max_size: int = 60) -> list[tuple[str, list[Item | Missing]]]:
    """What connections of two streams bring: new events, repeats, holes, `lost` and `bye`; (stream, items) in order."""
    acked = {"stream-1": 0, "stream-2": 0}
    brought: list[tuple[str, list[Item | Missing]]] = []
    for event in draw(st.lists(events(), max_size=max_size)):
        stream = draw(st.sampled_from(["stream-1", "stream-1", "stream-1", "stream-2"]))
        place = draw(st.sampled_from(["next"] * 12 + ["again", "after a hole", "lost", "bye"]))
        items: list[Item | Missing] = []
        if place == "lost":
            items.append(Missing(acked[stream] + 1, acked[stream] + 2))
            acked[stream] += 2
        elif place == "bye":
            items.append(Missing(acked[stream], acked[stream], ends=True))
        seq = (
            max(1, acked[stream] - 1)
            if place == "again"
            else acked[stream] + 1 + 2 * (place == "after a hole")
        )
        items.append(Item(seq, event))
        acked[stream] = max(acked[stream], seq)
        brought.append((stream, items))
    return brought


def told(brought: list[tuple[str, list[Item | Missing]]], ledger_limit: int = 10_000) -> MemoryRecord:
    record = MemoryRecord(ledger_limit=ledger_limit)
    for stream, items in brought:
        record.arrive(items, stream)
    return record
