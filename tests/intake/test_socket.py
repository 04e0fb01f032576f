"""The ingest socket on the real application: what a sender is told, when, and what is on record then."""

import asyncio
import json
import threading
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from runs.intake import service
from runs.models import Hole, KeptEvent, Note, Project, Stream, Token
from tests.lines import line, turn
from tests.record.story import answers_of, whole_record
from tests.wire import Wire, hello, run

pytestmark = pytest.mark.django_db(transaction=True)

count_events = sync_to_async(lambda: KeptEvent.objects.count())


def notes(kind: str) -> list[tuple[int, int]]:
    return list(Note.objects.filter(kind=kind).order_by("id").values_list("first", "last"))


# -- opening, acknowledging, resuming -----------------------------------------------------------


def test_a_welcome_tells_what_is_stored_and_the_limits(token: str, settings: Any) -> None:
    async def story() -> None:
        async with Wire(token, stream="north-1") as wire:
            assert await wire.hello() == {
                "type": "welcome",
                "protocol": 1,
                "stream": "north-1",
                "acked": 0,
                "keepText": True,
                "limits": {
                    "frameBytes": settings.FOOTPRINT["frame_bytes"],
                    "eventBytes": settings.FOOTPRINT["event_bytes"],
                    "window": settings.FOOTPRINT["window"],
                },
            }

    run(story)
    assert Token.objects.get().last_used_at is not None
    stream = Stream.objects.get()
    assert (stream.name, stream.instance, stream.sender) == ("north-1", "instance-1", "tests/1")


def test_every_ack_tells_what_is_committed_at_that_moment(token: str) -> None:
    lines = turn(calls=20)

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            for first in range(1, len(lines) + 1, 5):
                await wire.events(first, lines[first - 1 : first + 4])
            while wire.acked < len(lines):
                await wire.hear()
                assert await count_events() >= wire.acked

    run(story)


def test_nothing_is_acknowledged_while_the_commit_is_not_done(token: str) -> None:
    async def story() -> None:
        gate = threading.Event()
        async with Wire(token) as wire:
            await wire.hello()
            service.running().writer.call(gate.wait)
            await wire.events(1, turn())
            assert await wire._socket.receive_nothing(timeout=0.3)
            assert await count_events() == 0
            gate.set()
            await wire.until_acked(len(turn()))
            assert await count_events() == len(turn())

    run(story)


def test_a_sender_resumes_where_the_server_is(token: str, project: Project) -> None:
    lines = turn(calls=3)

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, lines[:4])
            await wire.until_acked(4)
        async with Wire(token) as wire:
            assert (await wire.hello(last=len(lines)))["acked"] == 4
            await wire.events(5, lines[4:])
            await wire.until_acked(len(lines))

    run(story)
    [answer] = answers_of(project)
    assert (answer["ending"], answer["complete"], len(answer["calls"])) == ("answered", True, 3)


def test_repeats_change_nothing(token: str, project: Project) -> None:
    lines = turn(calls=3)

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, lines)
            await wire.until_acked(len(lines))
            before = await sync_to_async(whole_record)(project)
            await wire.events(1, lines)
            await wire.events(3, lines[2:])
            await wire.events(
                1, [*lines, line("stream.tool_start", {"toolName": "t", "toolCallId": "z"}, run="2")]
            )
            await wire.until_acked(len(lines) + 1)
            after = await sync_to_async(whole_record)(project)
            assert [row for row in after["runs_toolcall"] if row["call_id"] != "z"] == before["runs_toolcall"]

    run(story)
    stream = Stream.objects.get()
    assert (stream.kept, stream.acked, stream.repeated) == (
        len(lines) + 1,
        len(lines) + 1,
        3 * len(lines) - 2,
    )


# -- holes --------------------------------------------------------------------------------------


def test_an_unannounced_hole_is_a_gap_and_filling_it_narrows_it_but_the_word_stays(
    token: str, project: Project
) -> None:
    lines = turn(calls=2)

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, lines[:3])
            await wire.events(6, lines[5:])
            await wire.until_acked(len(lines))
            assert await sync_to_async(list)(Hole.objects.values_list("first", "last")) == [(4, 5)]
            last = await sync_to_async(lambda: KeptEvent.objects.latest("id").pk)()
            await wire.events(4, lines[3:4])
            await wire.events(4, lines[3:4])
            await wire.events(1, lines[:1])
            await wire.until_acked(len(lines))
            while not await sync_to_async(lambda: KeptEvent.objects.filter(seq=4).exists())():
                await asyncio.sleep(0.02)
            # folded now, at a new position
            assert await sync_to_async(lambda: KeptEvent.objects.get(seq=4).pk)() > last

    run(story)
    assert notes("gap") == [(4, 5)]
    assert list(Hole.objects.values_list("first", "last")) == [(5, 5)]
    stream = Stream.objects.get()
    assert (stream.missing, stream.repeated, stream.kept) == (1, 2, len(lines) - 1)
    [answer] = answers_of(project)
    assert "gap" in answer["incomplete"]
    assert not answer["complete"]


def test_a_hole_in_the_middle_of_a_hole_leaves_two(token: str) -> None:
    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(10, [line("stream.token")])
            await wire.events(5, [line("stream.token")])
            await wire.bye(10)

    run(story)
    assert list(Hole.objects.order_by("first").values_list("first", "last")) == [(1, 4), (6, 9)]
    assert Stream.objects.get().missing == 8


def test_what_a_sender_had_to_drop_is_on_record(token: str, project: Project) -> None:
    lines = turn(calls=2)

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, lines[:4])
            await wire.say('{"type":"lost","from":5,"to":6}')
            await wire.events(7, lines[6:])
            await wire.until_acked(len(lines))

    run(story)
    assert notes("lost") == [(5, 6)]
    assert "gap" in answers_of(project)[0]["incomplete"]


def test_a_bye_closes_the_stream_and_what_is_missing_is_a_gap(token: str) -> None:
    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, turn()[:2])
            await wire.bye(5)
            assert wire.acked == 5
            assert wire.closing == {"type": "closing", "code": 1000, "reason": "the stream has ended"}

    run(story)
    assert notes("gap") == [(3, 5)]
    assert Stream.objects.get().ended


# -- refusals -----------------------------------------------------------------------------------


def test_a_bad_line_costs_only_itself_and_is_told_by_place_and_type(token: str, project: Project) -> None:
    lines = turn(calls=2)
    lines[3] = line("stream.tool_start", {"toolName": {"my": "secret"}, "toolCallId": "c0"})
    lines[4] = "secret, and no JSON"

    async def story() -> list[dict[str, Any]]:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, lines)
            await wire.until_acked(len(lines))
            return wire.refused

    refused = run(story)
    assert [(frame["seq"], frame["code"]) for frame in refused] == [(4, "shape"), (5, "not-json")]
    assert refused[0]["reason"] == "payload.toolName: expected string, got object"
    assert "secret" not in json.dumps(refused)
    [answer] = answers_of(project)
    assert "refused-event" in answer["incomplete"]
    assert len(answer["calls"]) == 1
    project.refresh_from_db()
    assert project.refused_events == 2


@pytest.mark.parametrize("filler", ["x", "é", "🙂"])
def test_an_event_over_the_limit_of_bytes_is_refused(token: str, limits: Any, filler: str) -> None:
    limits(event_bytes=2_000)
    size = len(filler.encode())
    fits, too_large = (
        f'{{"type":"agentfootprint.stream.token","payload":"{filler * (count // size)}"}}'
        for count in (1_900, 2_000)
    )

    async def story() -> list[dict[str, Any]]:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, [fits, too_large, fits])
            await wire.until_acked(3)
            return wire.refused

    [refused] = run(story)
    assert (refused["seq"], refused["code"]) == (2, "too-large")
    assert "2000 bytes" in refused["reason"]


def test_unknown_types_are_counted_and_dropped(token: str, project: Project) -> None:
    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, [line("weather.changed"), line("stream.token"), '{"type":"mine"}'])
            await wire.until_acked(3)
            assert wire.refused == []

    run(story)
    project.refresh_from_db()
    assert (project.unknown_events, project.dropped_events, KeptEvent.objects.count()) == (2, 1, 0)


# -- the writer that all connections share ------------------------------------------------------


def test_a_sender_that_leaves_while_its_hello_waits_harms_nobody(token: str) -> None:
    async def story() -> None:
        gate = threading.Event()
        async with Wire(token, stream="other") as other:
            await other.hello()
            service.running().writer.call(gate.wait)
            async with Wire(token) as hasty:
                await hasty.say(hello())
                await asyncio.sleep(0.2)
                hasty.code = 1006
                hasty._socket.stop(exceptions=False)
            await asyncio.sleep(0.1)
            gate.set()
            await other.events(1, turn())
            await other.until_acked(len(turn()))

    run(story)


def test_trouble_that_is_no_events_fault_closes_and_the_sender_brings_it_again(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no event's fault")

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            with monkeypatch.context() as patched:
                patched.setattr("runs.intake.numbering._settle_missing", broken)
                await wire.say('{"type":"lost","from":1,"to":2}')
                assert await wire.until_closed() == 1011
        async with Wire(token) as wire:
            assert (await wire.hello(last=5))["acked"] == 0
            await wire.events(1, turn()[:5])
            await wire.until_acked(5)

    run(story)
