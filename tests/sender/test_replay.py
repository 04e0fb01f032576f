"""Recordings, played again at their own pace or faster."""

import asyncio
import io
import json

import pytest
from django.core.management import CommandError, call_command

from runs.sender.replay import LONGEST_WAIT, lines, scheduled

from .scripted import Ingest, close_with


def event(clock_ms, number: int = 1) -> bytes:
    payload = {"toolCallId": f"c{number}", "result": "canary"}
    raw = {"type": "agentfootprint.stream.tool_end", "payload": payload, "meta": {"wallClockMs": clock_ms}}
    return json.dumps(raw).encode()


def test_only_a_newline_ends_a_line():
    text = '{"a":"x\u2028y\u2029z\u0085\x0b\x0c"}\r\n\n  \n{"b":1}'.encode()
    whole = ['{"a":"x\u2028y\u2029z\u0085\x0b\x0c"}'.encode(), b'{"b":1}']
    for size in (1, 2, 3, 7, 1000):
        assert list(lines(text[place : place + size] for place in range(0, len(text), size))) == whole
    assert list(lines([])) == []


def test_the_recordings_own_clock_sets_the_pace():
    base = 1_800_000_000_000
    clocks = [base, base + 500, base + 400, base + 1400, base + 10**9, None, "soon", base + 10**9 + 2000]
    waits = [wait for wait, _ in scheduled([event(clock) for clock in clocks], 2)]
    assert waits == [0, 0.25, 0, 0.5, LONGEST_WAIT / 2, 0, 0, 1]


def test_what_cannot_be_read_waits_for_nothing():
    junk = [b"no json", b"\xff", b"[1]", b'{"meta":7}', b"[" * 100_000, b'{"meta":{"wallClockMs":NaN}}']
    assert [wait for wait, _ in scheduled(junk, 1)] == [0] * len(junk)
    assert [line for _, line in scheduled(junk, None)] == junk


async def replay(*arguments: object) -> str:
    out = io.StringIO()
    await asyncio.to_thread(call_command, "replay", *map(str, arguments), stdout=out)
    return out.getvalue()


async def test_files_are_played_each_as_a_stream(tmp_path, monkeypatch):
    monkeypatch.setenv("FOOTPRINT_TOKEN", "fp_env")
    base = 1_800_000_000_000
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_bytes(
        b"\n".join([event(base), b"no json", b'{"type":"agentfootprint.stream.token"}', event(base, 2)])
    )
    second.write_bytes(event(base + 100_000, 3) + b"\n")
    async with Ingest(close_with(1012, after=1)) as ingest:
        said = await replay("--speed", 1000, "--url", ingest.url, first, second)
        assert said.splitlines() == [
            f"{first}: 4 events read, 3 sent as listed, 1 refused.",
            f"{second}: 1 events read, 1 sent as listed, 0 refused.",
        ]
        assert [one and one["payload"]["toolCallId"] for one in ingest.events] == ["c1", None, "c2", "c3"]
        assert "canary" not in str(ingest.events)
        assert [stream.rpartition("-")[0] for stream in ingest.streams] == ["first", "second"]
        assert set(ingest.headers) == {"Bearer fp_env"}


async def test_a_refusing_server_and_wrong_arguments_are_said_in_words(tmp_path, monkeypatch):
    monkeypatch.delenv("FOOTPRINT_TOKEN", raising=False)
    path = tmp_path / "one.jsonl"
    path.write_bytes(event(1))
    async with Ingest(close_with(4401)) as ingest:
        with pytest.raises(CommandError, match="does not accept the token"):
            await replay("--token", "fp_x", "--url", ingest.url, path)
    with pytest.raises(CommandError, match="token is needed"):
        await replay(path)
    with pytest.raises(CommandError, match="above 0"):
        await replay("--token", "x", "--speed", 0, path)
    with pytest.raises(CommandError, match="No such file"):
        await replay("--token", "x", tmp_path / "none.jsonl")
    with pytest.raises(CommandError, match="must look like"):
        await replay("--token", "x", "--url", "nowhere", path)
