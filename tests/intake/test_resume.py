"""A sender whose machine lost the end of its buffer: numbers that were used once are never used again."""

import json
import os
from pathlib import Path

import pytest

from runs.models import KeptEvent, Note, Stream
from runs.sender import DiskBuffer
from runs.sender.protocol import Protocol, Retry
from tests import recordings
from tests.wire import Wire, make_project, make_token, run, send_all

pytestmark = pytest.mark.django_db(transaction=True)

LINES = recordings.lines("plain_answer.jsonl")


async def converse(core: Protocol, wire: Wire) -> None:
    """One connection of the shipped sender's own protocol, until it has nothing more to do on it."""
    wire.stream, wire.instance = core.buffer.stream, core.buffer.instance
    await wire.say(core.hello().decode())
    while not core.must_reconnect and (not core.welcomed or core.unsettled):
        core.received(json.dumps(await wire.hear()))
        for frame in core.frames():
            await wire.say(frame.decode())


def test_the_shipped_sender_goes_on_under_another_name(tmp_path: Path) -> None:
    token = make_token(make_project())

    async def story() -> None:
        buffer = DiskBuffer(tmp_path)
        for line in LINES[:6]:
            buffer.append(line.encode())
        async with Wire(token) as wire:
            await converse(Protocol(buffer), wire)
        buffer.close()
        (path,) = tmp_path.glob("*.events")  # the machine stops, and the file is what it was a moment before
        os.truncate(path, path.stat().st_size - len(f"5 {LINES[4]}\n6 {LINES[5]}\n".encode()))

        core = Protocol(DiskBuffer(tmp_path))
        core.buffer.append(LINES[6].encode())
        async with Wire(token) as wire:
            await converse(core, wire)
        assert isinstance(core.disconnected(1006), Retry)
        async with Wire(token) as wire:
            await converse(core, wire)
        core.buffer.close()

    run(story)
    assert list(Stream.objects.order_by("id").values_list("acked", flat=True)) == [6, 1]
    assert KeptEvent.objects.filter(stream__acked=1).count() + Stream.objects.get(acked=1).dropped == 1
    assert not Note.objects.exists()


def test_one_that_does_not_notice_is_told_before_anything_passes_for_a_repeat() -> None:
    token = make_token(make_project())

    async def story() -> None:
        async with Wire(token) as wire:
            await send_all(wire, LINES)
        async with Wire(token) as wire:
            assert (await wire.hello(last=4))["acked"] == len(LINES)
            await wire.events(5, LINES[4:6])
            assert await wire.until_closed() == 4410
            assert "new stream id" in str(wire.closing)
        async with Wire(token) as wire:
            await wire.hello(last=4)
            await wire.events(len(LINES) + 1, LINES[4:6])  # goes on where the server is
            await wire.until_acked(len(LINES) + 2)

    run(story)
    assert Stream.objects.get().repeated == 0
