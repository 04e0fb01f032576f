"""The allow-list: what of an event is kept, by example for each kind and by law for every text that can come."""

import json
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins as plain

from runs.rules.kept import (
    KEPT,
    MAX_TEXT_BYTES,
    Dropped,
    Kept,
    Refused,
    SaidText,
    decode_body,
    encode,
    encode_body,
    keep,
    keep_object,
    table,
)
from runs.rules.kept_kinds import CLOCK_FROM_MS, MAX_INT, WORDS
from runs.rules.kept_reading import full_type


def event(kind: str, payload: Any = None, meta: Any = None, **more: Any) -> str:
    told = {"type": full_type(kind), "payload": payload, "meta": {"runId": "r1"} if meta is None else meta}
    return json.dumps({**told, **more})


def kept(kind: str, payload: Any = None, meta: Any = None) -> Kept:
    read = keep(event(kind, payload, meta))
    assert isinstance(read, Kept), read
    return read


def refused(kind: str, payload: Any = None, meta: Any = None) -> Refused:
    read = keep(event(kind, payload, meta))
    assert isinstance(read, Refused), read
    return read


# -- each kind, by example ----------------------------------------------------------------------


def test_a_name_is_required_to_be_a_string_and_emptied_when_it_is_too_long() -> None:
    start = {"toolName": "look_up", "toolCallId": "c1"}
    assert kept("stream.tool_start", start).body.tool_name == "look_up"
    assert kept("stream.tool_start", {**start, "toolCallId": "i" * 256}).oversized == ()
    long = kept("stream.tool_start", {**start, "toolCallId": "i" * 257})
    assert (long.body.tool_call_id, long.oversized) == ("", ("tool_call_id",))
    # UTF-16 units, as the other side counts
    assert kept("stream.tool_start", {**start, "toolName": "🙂" * 129}).oversized == ("tool_name",)
    assert refused("stream.tool_start", {**start, "toolName": 7}) == Refused(
        "shape", "payload.toolName: expected string, got number", "r1"
    )
    assert "toolCallId" in refused("stream.tool_start", {"toolName": "look_up"}).reason


@pytest.mark.parametrize("value", [7, None, True, ["x"], {"a": "x"}, 1.5])
def test_an_optional_name_that_is_not_a_string_is_not_recorded(value: object) -> None:
    assert kept("skill.rejected", {"requestedId": value}).body.requested_id is None
    assert kept("skill.rejected", {"requestedId": "s1"}).body.requested_id == "s1"


def test_a_word_is_one_of_a_few_or_other() -> None:
    end = {"toolCallId": "c1"}
    assert kept("stream.tool_end", {**end, "status": "denied"}).body.status == "denied"
    assert kept("stream.tool_end", {**end, "status": "my own secret"}).body.status == "other"
    assert kept("stream.tool_end", {**end, "status": {"deep": 1}}).body.status == "other"
    assert kept("stream.tool_end", end).body.status is None
    assert kept("stream.tool_end", {**end, "status": None}).body.status is None


def test_flags_and_presence_never_keep_what_is_in_them() -> None:
    body = kept(
        "stream.tool_end", {"toolCallId": "c1", "error": "the text of it", "notDispatched": {"why": "x"}}
    ).body
    assert (body.error, body.not_dispatched, body.not_executed) == (True, True, False)
    body = kept("stream.tool_end", {"toolCallId": "c1", "error": False, "notDispatched": None}).body
    assert (body.error, body.not_dispatched) == (False, False)


def test_a_count_is_required_to_be_a_whole_number_that_fits() -> None:
    assert kept("stream.llm_end", {"toolCallCount": MAX_INT}).body.tool_call_count == MAX_INT
    for value in (-1, 1.5, "1", None, [1], 10**30):
        assert "payload.toolCallCount" in refused("stream.llm_end", {"toolCallCount": value}).reason


def test_an_optional_count_is_exact_or_not_recorded() -> None:
    def iteration(value: object) -> int | None:
        found: int | None = kept("stream.llm_start", {"iteration": value}).body.iteration
        return found

    assert iteration(2**53 + 1) == 9_007_199_254_740_993
    assert iteration(3.0) == 3
    for value in (-1, 1.5, "1", None, [1], True, 10**30, MAX_INT + 1):
        assert iteration(value) is None


def test_times_in_another_unit_are_not_recorded() -> None:
    def clock(value: object) -> int | None:
        return kept("integrity.disposition", meta={"runId": "r", "wallClockMs": value}).meta.wall_clock_ms

    assert clock(1_790_000_000_000) == 1_790_000_000_000
    assert clock(1_790_000_000_000.7) == 1_790_000_000_000
    for value in (1_790_000_000, 1_790_000_000_000_000, 0, -1, None, "2026", CLOCK_FROM_MS - 1, 10**30, True):
        assert clock(value) is None


def test_durations_that_cannot_be_are_not_recorded() -> None:
    def duration(value: object) -> int | None:
        found: int | None = kept("stream.tool_end", {"toolCallId": "c", "durationMs": value}).body.duration_ms
        return found

    assert duration(12.4) == 12
    for value in (-1, 10**18, "12", None, True, {}):
        assert duration(value) is None


def test_a_label_is_cut_and_a_list_is_only_counted() -> None:
    tools = [{"name": "a", "description": "d" * 3_000}, {"name": "b" * 300}]
    body = kept("stream.llm_start", {"tools": tools}).body
    assert [(tool.name, len(tool.description)) for tool in body.tools] == [("a", 2_000)]
    note = kept("validation.args_invalid", {"toolCallId": "c", "issues": [{"path": "secret"}, {}]})
    assert note.body.issues == 2
    assert b"secret" not in encode_body(note)


def test_names_that_are_too_long_are_left_out_of_a_list() -> None:
    read = kept("tool_choice.outcome", {"called": ["a", "b" * 257]})
    assert (read.body.called, read.oversized) == (["a"], ("called",))


def test_said_texts_leave_the_event_and_are_cut_at_a_character() -> None:
    read = kept("agent.turn_start", {"userPrompt": "Where is it?"})
    assert read.texts == (SaidText("question", "Where is it?"),)
    assert b"Where" not in encode_body(read)
    [said] = kept("agent.turn_end", {"finalContent": "é" * MAX_TEXT_BYTES}).texts
    assert said == SaidText("answer", "é" * (MAX_TEXT_BYTES // 2), cut=True)
    assert kept("agent.turn_end", {"finalContent": {"no": "text"}}).texts == ()


def test_a_refused_display_name_keeps_its_problem_and_never_its_value() -> None:
    def declare(**tool: object) -> Any:
        return kept("footprint.tools.declared", {"tools": [{"name": "t", **tool}]}).body.tools[0]

    assert declare(displayName="  looked it up ").display_name == "looked it up"
    for value in ("se\x00cret", "", " ", "s" * 61, 7, ["secret"], {"secret": 1}):
        told = declare(displayName=value)
        assert told.display_name is None
        assert told.display_name_problem
        assert "secret" not in told.display_name_problem
    assert "U+0000" in declare(displayName="se\x00cret").display_name_problem
    assert declare(displayName="fine", displayNameProblem="not so").display_name_problem is None


def test_a_roster_is_read_by_its_rule() -> None:
    def declare(roster: object, **more: object) -> Kept:
        return kept(
            "footprint.delegation.declared",
            {"toolName": "d", "hasFactory": True, "extraToolNames": roster, **more},
        )

    entry = {"name": "a", "aliases": ["b"], "contentOrigin": "workspace", "secret": "x"}
    assert declare([entry], rosterReason="shape").body.extra_tool_names == [
        {"name": "a", "aliases": ["b"], "contentOrigin": "workspace"}
    ]
    assert declare([entry], rosterReason="shape").body.roster_reason is None
    shape = declare([{"name": {"secret": 1}}]).body
    assert (shape.extra_tool_names, shape.roster_reason) == (None, "shape")
    assert "secret" not in shape.roster_sentence
    long = declare([{"name": "a"}, {"name": "b" * 257}, {"name": "c", "aliases": ["d" * 257]}])
    assert (long.body.extra_tool_names, long.oversized) == (
        [{"name": "a", "aliases": []}],
        ("extra_tool_names",),
    )


def test_a_number_that_is_none_is_not_recorded_or_refused_with_its_place() -> None:
    line = event("tool_choice.picked", {"confidence": 0.5, "latencyMs": 1})
    for word in ("NaN", "Infinity", "-Infinity"):
        read = keep(line.replace("0.5", word))
        assert isinstance(read, Kept)
        assert read.body.confidence is None
    read = keep(line.replace("0.5", "1e400"))
    assert read == Refused("shape", "payload.confidence: number out of range", "r1")
    row = event(
        "footprint.tool_choice.row", {"kind": "pick", "iteration": 1, "ranked": [{"name": "a", "score": 0.5}]}
    )
    read = keep(row.replace("0.5", "NaN"))
    assert isinstance(read, Refused)
    assert "payload.ranked" in read.reason


def test_nul_and_half_pairs_are_kept_with_a_visible_mark() -> None:
    read = keep(event("stream.tool_start", {"toolName": "a\x00b", "toolCallId": "c\ud83d"}))
    assert isinstance(read, Kept)
    assert (read.body.tool_name, read.body.tool_call_id) == ("a\u2400b", "c\ufffd")


# -- the envelope -------------------------------------------------------------------------------


def test_types_outside_the_list_are_dropped_and_known_from_unknown() -> None:
    assert keep(event("stream.token")) == Dropped(known=True, domain="stream")
    assert keep(event("weather.changed")) == Dropped(known=False)
    assert keep('{"type": "stream.tool_end"}') == Dropped(known=False)
    assert keep('{"type": "agentfootprint.footprint.tools.declared"}') == Dropped(known=False)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("", "not-json"),
        ("secret", "not-json"),
        ('{"type": "secret', "not-json"),
        ("[1]", "shape"),
        ("7", "shape"),
        ('"secret"', "shape"),
        ("null", "shape"),
        ("{}", "shape"),
        ('{"type": 7}', "shape"),
        ('{"type": "agentfootprint.stream.llm_start", "payload": "secret"}', "shape"),
        ('{"type": "agentfootprint.stream.llm_start", "meta": ["secret"]}', "shape"),
        ('{"type": "agentfootprint.stream.llm_start", "payload": ' + "[" * 100_000, "too-deep"),
        (b"\xff\xfe", "not-json"),
        (b'{"type": "agentfootprint.skill.rejected\xff"}', "not-json"),
    ],
)
def test_what_is_no_event_is_refused_in_words_that_hold_nothing_of_it(line: str | bytes, code: str) -> None:
    read = keep(line)
    assert isinstance(read, Refused)
    assert read.code == code
    assert "secret" not in read.reason


@pytest.mark.parametrize("depth", [5, 20, 100, 150])
def test_depth_in_what_is_not_kept_does_no_harm(depth: int) -> None:
    deep: Any = "x"
    for _ in range(depth):
        deep = [deep]
    start = {"toolName": "t", "toolCallId": "c", "args": deep}
    assert isinstance(keep(event("stream.tool_start", start, {"runId": "r", "other": deep})), Kept)
    assert isinstance(keep_object(json.loads(event("stream.tool_start", start))), Kept)


def test_a_run_id_or_a_stage_too_long_to_keep_is_refused() -> None:
    assert "meta.runId" in refused("integrity.disposition", meta={"runId": "r" * 257}).reason
    assert "runtimeStageId" in refused("integrity.disposition", meta={"runtimeStageId": "s/" * 251}).reason
    assert kept("integrity.disposition", meta={"sessionId": "s" * 257}).meta.session_id is None


def test_the_table_names_every_kept_type_and_every_word_has_its_list() -> None:
    told = table()
    assert len(told["events"]) == len(KEPT)
    for fields in (told["meta"], *told["events"].values()):
        for field, kind in _flat(fields):
            if kind == "word":
                assert "".join(f"_{c.lower()}" if c.isupper() else c for c in field) in WORDS


def _flat(fields: dict[str, Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for field, kind in fields.items():
        found += [(field, kind)] if isinstance(kind, str) else _flat(next(iter(kind.values())))
    return found


# -- laws ---------------------------------------------------------------------------------------

texts = st.text(max_size=300) | st.text(alphabet="\x00\ud83d\ude00<&\u202e\ufeff a", max_size=8)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | texts | st.sampled_from(sorted(WORDS["status"]))
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4)
)


def fields_of(shape: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Objects with the listed fields, each fitting its kind or anything at all, and unlisted ones beside them."""
    listed = {}
    for field, kind in shape.items():
        if isinstance(kind, dict):
            [(how, inner)] = kind.items()
            nested = fields_of(inner)
            listed[field] = nested if how == "struct" else st.lists(nested, max_size=3)
        else:
            listed[field] = FITTING.get(kind, values) | values
    optional: st.SearchStrategy[Any] = st.fixed_dictionaries({}, optional=listed)
    return st.tuples(optional, st.dictionaries(texts, values, max_size=2)).map(
        lambda two: {**two[1], **two[0]}
    )


names = st.text(string.ascii_letters, max_size=10)
FITTING = {
    "name": names,
    "count": st.integers(0, 9),
    "names": st.lists(names, max_size=3),
    "opt_names": st.lists(names, max_size=3),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "plain": st.booleans(),
    "roster": st.lists(st.fixed_dictionaries({"name": names}), max_size=3),
}


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    told = table()
    kind = draw(st.sampled_from(sorted(told["events"])))
    return {
        "type": kind,
        "payload": draw(fields_of(told["events"][kind])),
        "meta": draw(fields_of(told["meta"])),
    }


@given(st.binary() | st.text() | st.text(alphabet='{}[]":,ntfe019.\\u\ud800', max_size=40))
def test_keep_never_raises(line: bytes | str) -> None:
    assert isinstance(keep(line), Kept | Dropped | Refused)


@given(values)
def test_keep_object_never_raises(value: object) -> None:
    assert isinstance(keep_object(value), Kept | Dropped | Refused)


@settings(max_examples=100, deadline=None)
@given(events())
def test_what_was_kept_is_kept_the_same_again(told: dict[str, Any]) -> None:
    for read in (keep(json.dumps(told)), keep_object(told)):
        if not isinstance(read, Kept):
            assert isinstance(read, Refused)
            continue
        again = keep(encode(read))
        assert isinstance(again, Kept)
        assert again.type == read.type
        assert (plain(again.meta), plain(again.body)) == (plain(read.meta), plain(read.body))
        assert [(said.kind, said.text) for said in again.texts] == [
            (said.kind, said.text) for said in read.texts
        ]
        stored = decode_body(read.type, encode_body(read))
        # As plain values: a shape and its strict twin (kept_strict.py) are two classes.
        assert (plain(stored.meta), plain(stored.body)) == (plain(read.meta), plain(read.body))
        assert stored.oversized == read.oversized
        assert encode_body(stored) == encode_body(read)


@settings(max_examples=100, deadline=None)
@given(events(), st.data())
def test_no_string_that_is_not_on_the_list_survives(told: dict[str, Any], data: st.DataObject) -> None:
    listed = table()
    planted = _plant(told["payload"], listed["events"][told["type"]], "p")
    planted += _plant(told["meta"], listed["meta"], "m")
    read = keep(json.dumps(told))
    out = read.reason.encode() if isinstance(read, Refused) else encode(read) + encode_body(read)  # type: ignore[arg-type]
    for marker in planted:
        assert marker.encode() not in out


def _plant(told: Any, shape: dict[str, Any], at: str) -> list[str]:
    """Markers as keys and values wherever the list names nothing, in place."""
    marks = []
    for field, item in list(told.items()):
        if field not in shape:
            del told[field]
        elif isinstance(shape[field], dict):
            [inner] = shape[field].values()
            for place, part in enumerate(item if isinstance(item, list) else [item]):
                if isinstance(part, dict):
                    marks += _plant(part, inner, f"{at}{place}{field}")
    mark = f"zqx{at}"
    told[f"{mark}key"] = {f"{mark}inner": [f"{mark}value"]}
    return [*marks, mark]
