"""Every close of the ingest socket: its code, the frame that announces it, and what stays on record."""

import asyncio
import json
import threading
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from runs.intake import service
from runs.models import Answer, KeptEvent, Project, Stream, Text, Token, ToolCall
from runs.store.tokens import revoke_token
from tests.lines import line, turn
from tests.record.story import answers_of
from tests.wire import HELLO, Wire, closed, hello, make_project, make_token, run

pytestmark = pytest.mark.django_db(transaction=True)


# -- closing: every code, each announced by a frame ---------------------------------------------


@pytest.mark.parametrize(
    ("frames", "code", "words"),
    [
        ([hello(protocol=2)], 4400, "this server speaks protocol 1, the sender 2; update the older one"),
        ([hello(protocol="secret")], 4400, "update the older one"),
        ([hello(stream="")], 4400, "hello.stream: expected 1 to 64 printable ASCII characters"),
        ([hello(stream="s" * 65)], 4400, "hello.stream"),
        ([hello(stream="sécret")], 4400, "hello.stream"),
        ([hello(instance=7)], 4400, "hello.instance"),
        ([hello(last=-1)], 4400, "hello.last"),
        ([hello(last="secret")], 4400, "hello.last"),
        (['{"type":"events","first":1}\n{}'], 4400, "expected a hello frame first"),
        (['{"type":"bye","last":1}'], 4400, "expected a hello frame first"),
        (["secret"], 4400, "expected a hello frame"),
        (["7"], 4400, "expected a hello frame"),
        ([hello(), hello()], 4400, "one hello frame"),
        ([hello(), "secret"], 4400, "expected a frame of type"),
        ([hello(), "[1, 2]"], 4400, "expected a frame of type"),
        ([hello(), "7"], 4400, "expected a frame of type"),
        ([hello(), '{"type":"secret"}'], 4400, "expected a frame of type"),
        ([hello(), '{"type":"events","first":0}\n{}'], 4400, "events.first"),
        ([hello(), '{"type":"events","first":"secret"}\n{}'], 4400, "events.first"),
        ([hello(), '{"type":"events","first":9007199254740991}\n{}\n{}'], 4400, "events.first"),
        ([hello(), '{"type":"events","first":1}'], 4400, "one event a line"),
        ([hello(), '{"type":"lost","from":5,"to":4}'], 4400, "lost"),
        ([hello(), '{"type":"bye","last":1.5}'], 4400, "bye.last"),
        ([hello(), b"\x00\x01"], 1003, "binary"),
        ([b"\x00\x01"], 1003, "binary"),
        ([hello(), "x" * 20_001], 1009, "20000 bytes"),
        ([hello(), "é" * 10_001], 1009, "20000 bytes"),
        (["x" * 20_001], 1009, "20000 bytes"),
    ],
)
def test_what_is_not_the_protocol_is_closed_with_its_code_and_a_reason(
    token: str, limits: Any, frames: list[str | bytes], code: int, words: str
) -> None:
    limits(frame_bytes=20_000)

    async def story() -> None:
        async with Wire(token) as wire:
            for frame in frames:
                await (wire.say_bytes(frame) if isinstance(frame, bytes) else wire.say(frame))
            assert await wire.until_closed() == code
            assert wire.closing is not None
            assert wire.closing["code"] == code
            assert words in wire.closing["reason"]
            assert "secret" not in wire.closing["reason"]

    run(story)


def test_a_frame_at_the_limit_is_taken_and_what_was_acknowledged_before_a_close_stays(
    token: str, limits: Any
) -> None:
    limits(frame_bytes=20_000)
    head = '{"type":"events","first":1}\n'
    start, end = '{"type":"agentfootprint.stream.token","payload":"', '"}'

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.say(head + start + "x" * (20_000 - len(head + start + end)) + end)
            await wire.until_acked(1)
            await wire.events(2, turn())
            await wire.until_acked(1 + len(turn()))
            await wire.say("x" * 20_001)
            assert await wire.until_closed() == 1009
        async with Wire(token) as wire:
            assert (await wire.hello(last=50))["acked"] == 1 + len(turn())

    run(story)


def test_more_unacknowledged_events_than_the_window_close_4429(token: str, limits: Any) -> None:
    limits(window=10)

    async def story() -> None:
        gate = threading.Event()
        async with Wire(token) as wire:
            await wire.hello()
            service.running().writer.call(gate.wait)
            await wire.events(1, [line("stream.token")] * 10)
            assert await wire._socket.receive_nothing(timeout=0.1)
            await wire.events(11, [line("stream.token")])
            assert await wire.until_closed() == 4429
            assert wire.closing is not None
            assert "at most 10 events" in wire.closing["reason"]
            gate.set()

    run(story)


def test_repeats_and_lost_frames_do_not_pile_up_either(token: str, limits: Any) -> None:
    limits(window=10)

    async def story() -> None:
        gate = threading.Event()
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, [line("stream.token")] * 10)
            await wire.until_acked(10)
            service.running().writer.call(gate.wait)
            for _ in range(11):
                await wire.events(1, [line("stream.token")] * 10)
            assert await wire.until_closed() == 4429
            gate.set()

    run(story)


# -- who may send -------------------------------------------------------------------------------


def test_who_says_nothing_is_closed_4401(token: str, limits: Any) -> None:
    limits(hello_seconds=1)
    assert closed(Wire(token)) == (4401, "expected a hello frame within 1 s, got none")


def test_a_busy_database_is_not_the_senders_fault(token: str, limits: Any) -> None:
    limits(hello_seconds=1)

    async def story() -> None:
        gate = threading.Event()
        service.running().writer.call(gate.wait)
        async with Wire(token) as wire:
            await wire.say(hello())
            assert await wire._socket.receive_nothing(timeout=1.5)
            gate.set()
            assert (await wire.hear())["type"] == "welcome"

    run(story)


def test_tokens_unknown_revoked_or_missing_are_closed_4401(token: str, project: Project) -> None:
    for header in (True, False):
        for bad in ("fp_" + "x" * 43, "secret", ""):
            code, reason = closed(Wire(bad, header=header), hello() if header else hello(token=bad))
            assert code == 4401
            assert "secret" not in reason
    assert closed(Wire("", header=False), hello())[0] == 4401
    assert closed(Wire("", header=False), hello(token=7))[0] == 4401
    revoke_token(project.pk, Token.objects.get().pk)
    assert closed(Wire(token), hello())[0] == 4401
    assert closed(Wire(token, header=False), hello(token=token))[0] == 4401
    assert not Stream.objects.exists()


def test_a_token_in_the_hello_frame_is_as_good_as_in_the_header(token: str) -> None:
    async def story() -> None:
        async with Wire(token, header=False) as wire:
            await wire.hello()
            await wire.events(1, turn())
            await wire.until_acked(len(turn()))

    run(story)
    assert Answer.objects.count() == 1


def test_a_token_revoked_while_connected_closes_at_the_next_commit(token: str, project: Project) -> None:
    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, turn()[:3])
            await wire.until_acked(3)
            await sync_to_async(lambda: revoke_token(project.pk, Token.objects.get().pk))()
            await wire.events(4, turn()[3:])
            assert await wire.until_closed() == 4401
            assert wire.acked == 3
            assert wire.closing is not None
            assert "revoked" in wire.closing["reason"]

    run(story)
    assert KeptEvent.objects.count() == 3


@pytest.mark.parametrize(
    ("origin", "host", "allowed"),
    [
        (None, "testserver", True),  # a script: the token alone
        ("http://testserver", "testserver", True),
        ("http://testserver:80", "testserver", True),
        ("http://testserver:8000", "testserver:8000", True),
        ("http://app.example", "testserver", True),  # allowed by the project
        ("https://app.example:8443", "testserver", True),
        ("http://app.example:8080", "testserver", False),
        ("https://app.example", "testserver", False),
        ("http://sub.app.example", "testserver", False),
        ("http://app.example.evil.example", "testserver", False),
        ("null", "testserver", False),
        ("", "testserver", False),
        ("https://testserver", "testserver", False),
        ("http://testserver:8001", "testserver:8000", False),
        ("http://sub.testserver", "testserver", False),
        ("http://testserver.evil.example", "testserver", False),
        ("http://evil.example", "testserver", False),
        ("file://testserver", "testserver", False),
        ("http://testserver@evil.example", "testserver", False),
    ],
)
def test_pages_of_other_origins_are_refused_before_anything_is_stored(
    origin: str | None, host: str, allowed: bool
) -> None:
    project = make_project(allowed_origins="http://app.example\nhttps://app.example:8443")
    token = make_token(project)

    async def story() -> None:
        for header in (True, False):
            async with Wire(token, origin=origin, host=host, header=header) as wire:
                assert bool(await wire.hello()) is allowed
                if not allowed:
                    assert wire.code == 4403
                    assert wire.closing is not None
                    assert wire.closing["code"] == 4403

    run(story)
    assert Stream.objects.exists() is allowed


# -- whose stream it is -------------------------------------------------------------------------


def test_another_instance_cannot_take_a_stream(token: str) -> None:
    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, turn())
            await wire.until_acked(len(turn()))
        async with Wire(token, instance="another") as wire:
            await wire.hello(last=50)
            assert wire.code == 4410
            assert wire.closing is not None
            assert "choose a new stream id" in wire.closing["reason"]
        # its buffer was lost: it learns where the server is, and numbers used before are never taken again
        async with Wire(token) as wire:
            assert (await wire.hello(last=2))["acked"] == len(turn())
            await wire.events(3, turn()[:1])
            assert await wire.until_closed() == 4410
            assert wire.closing is not None
            assert f"events up to {len(turn())} are stored already" in wire.closing["reason"]

    run(story)


def test_a_newer_connection_takes_over_and_the_older_ones_late_batch_is_dropped(token: str) -> None:
    lines = turn(calls=3)

    async def story() -> None:
        gate = threading.Event()
        async with Wire(token) as older:
            await older.hello()
            await older.events(1, lines[:3])
            await older.until_acked(3)
            service.running().writer.call(gate.wait)
            async with Wire(token) as newer:
                # the newer's hello waits before the older's batch
                await newer.say(
                    json.dumps({**HELLO, "stream": "stream-1", "instance": "instance-1", "last": 9})
                )
                await asyncio.sleep(0.2)
                await older.events(4, [line("stream.tool_start", {"toolName": "late", "toolCallId": "late"})])
                await asyncio.sleep(0.1)
                gate.set()
                while newer.welcome is None:
                    await newer.hear()
                assert newer.acked == 3
                assert await older.until_closed() == 4409
                assert older.closing is not None
                assert "newer connection" in older.closing["reason"]
                assert older.acked == 3
                await newer.events(4, lines[3:])
                await newer.until_acked(len(lines))

    run(story)
    assert not ToolCall.objects.filter(tool="late").exists()
    assert KeptEvent.objects.count() == len(lines)


def test_projects_do_not_see_each_other(token: str, project: Project) -> None:
    other = make_project("Elsewhere")
    theirs = make_token(other)

    async def story() -> None:
        async with Wire(token) as mine, Wire(theirs, instance="another") as their:
            await mine.hello()
            await mine.events(1, turn(answer="Mine."))
            await mine.until_acked(len(turn()))
            # the same stream id and the same run id, and nothing of it is known there
            assert (await their.hello())["acked"] == 0
            await their.events(1, turn(calls=2))
            await their.until_acked(len(turn(calls=2)))

    run(story)
    assert [len(answers_of(one)[0]["calls"]) for one in (project, other)] == [1, 2]
    assert list(Text.objects.filter(project=project, kind="answer").values_list("text", flat=True)) == [
        "Mine."
    ]
    assert set(KeptEvent.objects.filter(project=project).values_list("stream__project", flat=True)) == {
        project.pk
    }


def test_texts_are_not_stored_where_a_project_keeps_none() -> None:
    token = make_token(make_project(keep_text=False))

    async def story() -> None:
        async with Wire(token) as wire:
            assert (await wire.hello())["keepText"] is False
            await wire.events(1, turn())
            await wire.until_acked(len(turn()))

    run(story)
    assert not Text.objects.exists()
