"""Hostile, malformed, huge: every way a sender can be wrong, on the real application and then on every page.

A text is shown as text, an event is kept with a visible mark or refused in words; nothing is a 500, nothing is
`unstorable`, and others are answered meanwhile. The same on SQLite and PostgreSQL.
"""

import asyncio
import json
import random
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from runs.models import Answer, KeptEvent, Project, Text, ToolCall
from runs.rules.kept import table
from runs.rules.kept_kinds import MAX_INT, WORDS
from tests.lines import line, turn
from tests.people import People, gather
from tests.record.story import answers_of
from tests.walk import addresses, read
from tests.wire import Wire, make_token, run, send_all

pytestmark = pytest.mark.django_db(transaction=True)

MARKUP = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'><b onmouseover='alert(1)",
    "javascript:alert(1)",
    "{{7*7}}{% debug %}",
    '<div hx-get="/stolen" hx-trigger="load" hx-swap-oob="true">',
)
ODD = (
    "nul\x00here",
    "half\ud83d",
    "\udc00",
    "\u202egnp.exe\u2066",
    "line\nfeed\u2028and\u2029more\r",
    "../../etc/passwd",
    "a/b?c#d&e=%2F",
    "__proto__",
    "constructor",
    "None",
    "null",
    "",
    " ",
    "\ufeff",
    "x" * 256,
    "x" * 257,
    "x" * 10_000,
    "🙂" * 128,
    "'; DROP TABLE runs_run; --",
    "%s %(x)s {0} \\",
)
RUNS = re.compile(
    r"<script>alert|<img src=x|<svg onload|<b onmouseover|(href|src|action)=[\"']?javascript:|<div hx-get=./stolen",
    re.IGNORECASE,
)


@pytest.fixture
def people_there() -> People:
    return gather()


def send(project: Project, lines: list[str], stream: str = "hostile") -> list[dict[str, Any]]:
    """Send them all, numbered; what was refused. Nothing may be unstorable."""
    token = make_token(project)

    async def story() -> list[dict[str, Any]]:
        async with Wire(token, stream=stream) as wire:
            await send_all(wire, lines, a_frame=50)
            return wire.refused

    refused = run(story)
    assert [frame for frame in refused if frame["code"] == "unstorable"] == []
    return refused


def every_page(people: People, *names: str) -> None:
    for name in names:
        browser = people.browser(name)
        for address in addresses(people.northwind):
            status, text = read(browser, address)
            assert status < 500, f"{name}: {address}"
            found = RUNS.search(text)
            assert found is None, f"{name}: {address}: {text[max(0, found.start() - 80) : found.end() + 80]}"


def filled(text: str, shape: dict[str, Any], word: str = "other") -> dict[str, Any]:
    """A payload in which every listed text is `text`, every word `word`."""
    told: dict[str, Any] = {}
    for field, kind in shape.items():
        if isinstance(kind, dict):
            [(how, inner)] = kind.items()
            told[field] = filled(text, inner, word) if how == "struct" else [filled(text, inner, word)] * 2
        elif kind in ("name", "opt_name", "label", "text", "declared"):
            told[field] = text
        elif kind == "word":
            told[field] = word
        elif kind in ("names", "opt_names"):
            told[field] = [text, text]
        elif kind == "roster":
            told[field] = [{"name": text, "aliases": [text + "2"], "contentOrigin": "workspace"}]
        elif kind in ("flag", "presence", "plain"):
            told[field] = True
        else:
            told[field] = 1
    return told


def every_event(text: str, number: int, word: str = "other", meta: str | None = None) -> list[str]:
    """One event of every listed type, in a turn of a run of their own; the run's name is hostile too."""
    said = text if meta is None else meta
    about = {
        "run": f"{said[:200]}{number}",
        "stage": f"{said[:200]}/call#1",
        "sessionId": said[:250],
        "principal": said,
        "tenant": said,
        "traceId": said,
        "compositionPath": [f"Sequence:{said[:200]}"],
    }
    kinds = sorted(table()["events"], key=lambda kind: (kind.endswith("disposition"), "turn_end" in kind))
    kinds = ["agentfootprint.agent.turn_start", *kinds]
    return [
        line(kind.removeprefix("agentfootprint."), filled(text, table()["events"][kind], word), **about)
        for kind in kinds
    ]


# -- text ---------------------------------------------------------------------------------------


def test_hostile_text_in_every_field_is_text_on_every_page(people_there: People) -> None:
    lines = [one for number, text in enumerate(MARKUP) for one in every_event(text, number)]
    refused = send(people_there.northwind, lines)
    assert refused == []
    assert Answer.objects.count() >= len(MARKUP)
    every_page(people_there, "rhea", "omar", "ada", "root")


def test_odd_text_in_every_field_is_kept_with_a_mark_or_refused_in_words(people_there: People) -> None:
    lines = [one for number, text in enumerate(ODD) for one in every_event(text, number)]
    refused = send(people_there.northwind, lines)
    for frame in refused:
        assert frame["code"] == "shape"
        assert frame["reason"].startswith("meta.") or "expected" in frame["reason"], frame
    for body in KeptEvent.objects.values_list("body", flat=True):
        assert "\x00" not in body
        json.loads(body)
    assert Text.objects.filter(text__contains="nul\u2400here").exists()
    assert Text.objects.filter(text__contains="half\ufffd").exists()
    assert ToolCall.objects.filter(tool="nul\u2400here").exists()
    every_page(people_there, "rhea", "ada")


def test_raw_bytes_that_are_no_text_cost_only_their_event(people_there: People) -> None:
    lines = [
        line("stream.tool_start", {"toolName": "a", "toolCallId": "b"}).replace('"a"', '"a\x00"'),
        line("stream.tool_start", {"toolName": "good", "toolCallId": "b"}),
    ]
    refused = send(people_there.northwind, lines)
    assert [frame["code"] for frame in refused] == ["not-json"]
    assert list(ToolCall.objects.values_list("tool", flat=True)) == ["good"]


def test_every_word_of_the_list_can_be_stored(people_there: People) -> None:
    words = sorted({word for several in WORDS.values() for word in several} | {"other"})
    lines = [one for number, word in enumerate(words) for one in every_event("t", number, word)]
    assert send(people_there.northwind, lines) == []
    every_page(people_there, "ada")


def test_the_longest_names_fit_every_index(people_there: People) -> None:
    dice = random.Random(1)
    letters = [chr(code) for code in range(0x4E00, 0x9FFF)]

    def longest(count: int) -> str:
        return "".join(dice.choices(letters, k=count))

    lines = [one for number in range(3) for one in every_event(longest(256), number, meta=longest(248))]
    assert send(people_there.northwind, lines) == []


@pytest.mark.parametrize("call_id", [None, "", 7, ["x"], "i" * 257, "same"])
def test_unreadable_call_ids_never_vanish_under_a_complete_sign(
    people_there: People, call_id: object
) -> None:
    lines = turn(calls=0)
    bracket = [
        line("stream.tool_start", {"toolName": "t", "toolCallId": call_id}),
        line("stream.tool_end", {"toolCallId": call_id}),
    ] * 2
    lines[2] = line("stream.llm_end", {"toolCallCount": 2})
    lines[3:3] = bracket
    send(people_there.northwind, lines)
    [answer] = answers_of(people_there.northwind)
    reasons = set(answer["incomplete"])
    if call_id in ("", "same"):
        assert len(answer["calls"]) == 2
    else:
        assert reasons & {"refused-event", "oversized"}
        assert not answer["complete"]


# -- numbers and times --------------------------------------------------------------------------

NUMBERS = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "9007199254740993",
    "1" * 30,
    "-1",
    "1.5",
    "true",
    '"1"',
    "[]",
)


def test_numbers_that_poison_others_poison_nothing(people_there: People) -> None:
    lines: list[str] = []
    for number, value in enumerate(NUMBERS):
        run_id = f"run-{number}"
        told = turn(run_id)
        spots = [
            told[0].replace('"turnIndex": 0', f'"turnIndex": {value}'),
            told[1].replace('"iteration": 1', f'"iteration": {value}'),
            told[3].replace('"args": {"secret": "args"}', f'"args": {{"deep": [{value}]}}'),
            told[4].replace('"durationMs": 5', f'"durationMs": {value}'),
            re.sub(r'"wallClockMs": \d+', f'"wallClockMs": {value}', told[4]),
            told[5].replace(
                '"iterationCount": 1', f'"totalInputTokens": {value}, "totalOutputTokens": {value}'
            ),
        ]
        row = {"kind": "pick", "iteration": 1, "offered": ["a"], "ranked": [{"name": "a", "score": 0.25}]}
        rows = [
            line("footprint.tool_choice.row", {**row, "confidence": 0.5}, run=run_id).replace("0.5", value),
            line("footprint.tool_choice.row", row, run=run_id).replace("0.25", value),
            line("footprint.tool_choice.row", {**row, "latencyMs": 77}, run=run_id).replace("77", value),
            line("tool_choice.picked", {"confidence": 0.5, "latencyMs": 77}, run=run_id).replace(
                "0.5", value
            ),
        ]
        lines += [told[0], *spots[1:2], told[2], *spots[2:5], *rows, spots[5], told[6]]
    refused = send(people_there.northwind, lines)
    for frame in refused:
        assert frame["code"] == "shape"
        assert re.match(r"payload\.\w+", frame["reason"]), frame
    for body in KeptEvent.objects.values_list("body", flat=True):
        json.loads(body, parse_constant=pytest.fail)
    # digit for digit
    exact = Answer.objects.get(run__name="run-4")
    assert (exact.input_tokens, exact.output_tokens) == (9_007_199_254_740_993, 9_007_199_254_740_993)
    every_page(people_there, "rhea", "ada")


def test_counts_as_large_as_can_be_make_no_later_event_unstorable(people_there: People) -> None:
    told = turn(calls=1)
    huge = [line("stream.llm_end", {"toolCallCount": MAX_INT, "iteration": MAX_INT})] * 3
    lines = [*told[:3], *huge, *told[3:]]
    assert send(people_there.northwind, lines) == []
    [answer] = answers_of(people_there.northwind)
    assert "undispatched" in answer["incomplete"]
    every_page(people_there, "rhea", "ada")


CLOCKS = (
    1_790_000_000,
    1_790_000_000_000_000,
    1_790_000_000_000_000_000,
    -5,
    0,
    None,
    "now",
    1.79e12,
    253_402_300_799_000,
)


def test_clocks_in_other_units_make_no_absurd_duration(people_there: People) -> None:
    lines: list[str] = []
    for number, clock in enumerate(CLOCKS):
        told = turn(f"run-{number}")
        lines += [told[0], *(line_at(one, clock) for one in told[1:5]), *told[5:]]
        # backwards
        told = turn(f"back-{number}")
        lines += [line_at(one, 1_790_000_000_000 - 1_000 * place) for place, one in enumerate(told)]
    assert send(people_there.northwind, lines) == []
    for call in ToolCall.objects.all():
        assert call.opened_clock_ms is None or 946_684_800_000 <= call.opened_clock_ms < 7_258_118_400_000
        assert call.duration_ms is None or 0 <= call.duration_ms < 10**12
    for answer in Answer.objects.all():
        assert answer.duration_ms is None or 0 <= answer.duration_ms < 10**12
    every_page(people_there, "rhea", "ada")


def line_at(told: str, clock: object) -> str:
    event = json.loads(told)
    event["meta"]["wallClockMs"] = clock
    return json.dumps(event)


# -- depth and size -----------------------------------------------------------------------------


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("depth", [5, 20, 100, 1_000, 100_000])
def test_depth_is_dropped_without_harm_or_refused_in_words(people_there: People, depth: int) -> None:
    marks = {"args": '"args": {"secret": "args"}', "meta": '"runOffsetMs": 0', "tools": '"messagesCount": 1'}
    lines: list[str] = []
    for place, where in enumerate(marks.values()):
        name = where.partition(":")[0].strip('"') if place == 0 else ("other" if place == 1 else "tools")
        lines += [told.replace(where, f'"{name}": {nested(depth)}', 1) for told in turn(f"run-{place}")]
    started = time.monotonic()
    refused = send(people_there.northwind, lines)
    assert time.monotonic() - started < 20
    told = {answer["run"]: answer for answer in answers_of(people_there.northwind)}
    if depth <= 100:
        assert [frame["reason"] for frame in refused if "tools" not in frame["reason"]] == []
        assert len(told["run-0"]["calls"]) == len(told["run-1"]["calls"]) == 1
        assert told["run-0"]["complete"]
    if depth == 100_000:
        assert refused
        assert {frame["code"] for frame in refused} <= {"too-deep", "shape"}
        assert told == {} or all("refused-event" in answer["incomplete"] for answer in told.values())


def big_lines(count: int) -> Iterator[str]:
    keys = ",".join(f'"k{number}":{number}' for number in range(100_000))
    odd = ",".join(["NaN"] * 200_000)
    tools = ",".join(f'{{"name":"t{number}"}}' for number in range(5_000))
    for number in range(count):
        yield line("stream.tool_start", {"toolName": "t", "toolCallId": f"a{number}", "args": 7}).replace(
            '"args": 7', f'"args": {{{keys}}}'
        )
        yield line("stream.tool_start", {"toolName": "t", "toolCallId": f"b{number}", "args": 7}).replace(
            '"args": 7', f'"args": [{odd}]'
        )
        yield line("stream.llm_start", {"iteration": 1, "tools": 7}).replace(
            '"tools": 7', f'"tools": [{tools}]'
        )


def test_others_are_answered_while_one_brings_what_takes_long_to_read(people_there: People) -> None:
    token = make_token(people_there.northwind)
    lines = [turn()[0], *big_lines(4)]
    waits: list[float] = []

    async def story() -> None:
        async with Wire(token, stream="heavy") as heavy, Wire(token, stream="light", instance="2") as light:
            await heavy.hello()
            await light.hello()
            for seq, one in enumerate(lines, 1):
                await heavy.events(seq, [one])
            for seq in range(1, 11):
                before = time.monotonic()
                await light.events(seq, [line("stream.token")])
                await light.until_acked(seq)
                waits.append(time.monotonic() - before)
                await asyncio.sleep(0.05)
            await heavy.until_acked(len(lines))
            assert heavy.refused == []

    run(story)
    assert max(waits) < 5, waits
    assert ToolCall.objects.count() == 8


def test_payloads_of_two_megabytes_leave_nothing_behind(people_there: People) -> None:
    payload = "secret-payload " * (2 * 1024 * 1024 // 15)
    lines = [
        one.replace('"args": {"secret": "args"}', f'"args": "{payload}"').replace("secret result", payload)
        for one in turn(calls=10)
    ]
    token = make_token(people_there.northwind)

    async def story() -> None:
        async with Wire(token) as wire:
            await send_all(wire, lines, a_frame=2)
            assert wire.refused == []

    run(story)
    [answer] = answers_of(people_there.northwind)
    assert (len(answer["calls"]), answer["complete"]) == (10, True)
    for body in KeptEvent.objects.values_list("body", flat=True):
        assert len(body) < 1_000
        assert "secret" not in body


def test_a_text_is_cut_and_one_over_the_events_limit_is_refused(people_there: People) -> None:
    told = turn(answer="é" * 500_000)
    refused = send(people_there.northwind, told)
    assert refused == []
    text = Text.objects.get(kind="answer")
    assert (len(text.text.encode()), text.cut) == (32 * 1024, True)
    refused = send(people_there.northwind, turn("run-2", answer="x" * 5_000_000), "second")
    assert [frame["code"] for frame in refused] == ["too-large"]
    every_page(people_there, "rhea")
