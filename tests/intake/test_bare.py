"""Bare mode: senders of one line, without numbers."""

import asyncio
import json
import threading
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from runs.intake import service
from runs.models import KeptEvent, Project, Stream
from tests.lines import line, turn
from tests.record.story import answers_of
from tests.wire import Wire, closed, run

pytestmark = pytest.mark.django_db(transaction=True)

count_events = sync_to_async(lambda: KeptEvent.objects.count())


def test_a_one_line_sender_needs_nothing_but_a_header(token: str, project: Project) -> None:
    async def story() -> None:
        async with Wire(token) as wire:
            for event in turn(calls=2):
                await wire.say(event)
        async with Wire(token) as wire:
            await wire.say("[" + ",".join(turn(calls=1)) + "]")
            await wire.say("[]")

    run(story)
    first, second = answers_of(project)
    assert [len(answer["calls"]) for answer in (first, second)] == [2, 1]
    for answer in (first, second):
        assert answer["ending"] == "answered"
        assert answer["incomplete"] == ["unnumbered"]
        assert not answer["complete"]
    # one connection is one stream: the same run id on two of them is two runs
    assert Stream.objects.filter(bare=True).count() == 2


def test_bare_events_have_no_dedupe_and_refusals_are_told(token: str, project: Project) -> None:
    async def story() -> list[dict[str, Any]]:
        async with Wire(token) as wire:
            await wire.say(turn()[0])
            await wire.say(line("stream.tool_start", {"toolName": "t", "toolCallId": "c"}))
            await wire.say(line("stream.tool_start", {"toolName": "t", "toolCallId": "c"}))
            await wire.say(
                '{"type": "agentfootprint.stream.tool_end", "payload": {"toolCallId": ["secret"]}}'
            )
            await wire.say("secret")
            await wire.say('[{"type": 1}, 7]')
            while len(wire.refused) < 4:
                await wire.hear()
            assert wire.acked == 0
            return wire.refused

    refused = run(story)
    assert [(frame["seq"], frame["code"]) for frame in refused] == [
        (4, "shape"),
        (5, "not-json"),
        (6, "shape"),
        (7, "shape"),
    ]
    assert "secret" not in json.dumps(refused)
    [answer] = answers_of(project)
    assert len(answer["calls"]) == 2
    assert {"unnumbered", "refused-event"} <= set(answer["incomplete"])


def test_a_bare_sender_without_a_header_is_closed_4401(token: str) -> None:
    assert closed(Wire(token, header=False), turn()[0])[0] == 4401


def test_a_bare_sender_that_brings_more_than_can_be_stored_is_closed_4429(token: str, limits: Any) -> None:
    limits(bare_bytes=3_000)

    async def story() -> None:
        gate = threading.Event()
        async with Wire(token) as wire:
            await wire.say(turn()[0])
            while not await count_events():
                await asyncio.sleep(0.02)
            service.running().writer.call(gate.wait)
            for _ in range(20):
                await wire.say(line("stream.token", {"text": "x" * 500}))
            assert await wire.until_closed() == 4429
            assert wire.closing is not None
            gate.set()

    run(story)
