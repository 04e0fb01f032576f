"""Both faces of the sender against a server that misbehaves."""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable

import pytest

from runs.sender import AsyncSender, Buffer, DiskBuffer, Sender
from runs.sender import protocol as wire

from .scripted import Ingest, behave, close_with, say_nothing, vanish


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(wire, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(wire, "LONGEST_PAUSE", 0.05)
    monkeypatch.setattr(wire, "SLOWED_PAUSE", 0.01)


def call(number: int) -> dict:
    payload = {"toolName": "look_up", "toolCallId": f"c{number}", "args": {"secret": "canary"}}
    return {"type": "agentfootprint.stream.tool_start", "payload": payload, "meta": {"runId": "r"}}


def ids(ingest: Ingest) -> list[str | None]:
    return [event and event["payload"]["toolCallId"] for event in ingest.events]


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.005)


async def test_events_arrive_and_the_stream_ends():
    async with Ingest() as ingest:
        async with AsyncSender(ingest.url, token="fp_x", name="desk") as sender:
            for number in range(3):
                sender.emit(call(number))
        assert ids(ingest) == ["c0", "c1", "c2"]
        assert ingest.byes == [3]
        assert ingest.headers == ["Bearer fp_x"]
        assert ingest.paths == ["/ws/ingest/"]
        assert "canary" not in str(ingest.events)
        status = sender.status
        assert (status.state, status.acked, status.buffered, status.lost, status.error) == (
            "closed",
            3,
            0,
            0,
            None,
        )


@pytest.mark.parametrize(
    "acts",
    [
        [close_with(1012), vanish(1)],
        [close_with(1011, after=5), close_with(1013), vanish(4), vanish(30)],
        [close_with(4429), close_with(1000), close_with(1001, after=2)],
    ],
)
async def test_every_event_arrives_once_and_in_order_over_lost_connections(acts):
    async with Ingest(*acts, window=7) as ingest, AsyncSender(ingest.url, token="t") as sender:
        for number in range(100):
            sender.emit(call(number))
            if number % 10 == 0:
                await asyncio.sleep(0.002)
        await until(lambda: sender.status.acked == 100)
        assert ids(ingest) == [f"c{number}" for number in range(100)]
        assert len({hello["instance"] for hello in ingest.hellos}) == 1
        assert sender.status.state == "connected"


@pytest.mark.parametrize("code", [4400, 4401, 4403, 4409, 4410])
async def test_some_closes_stop_the_sender_and_never_the_agent(code, caplog):
    async with Ingest(close_with(code)) as ingest, AsyncSender(ingest.url, token="t") as sender:
        await until(lambda: sender.status.state == "stopped")
        assert sender.status.error == wire.STOPPING[code]
        sender.emit(call(1))
        assert sender.status.buffered == 1
        assert await sender.close() is False
        assert len(ingest.headers) == 1, "it does not try again"
    assert wire.STOPPING[code] in caplog.text


async def test_emit_returns_while_the_server_never_answers():
    async with Ingest(*[say_nothing] * 50) as ingest:
        sender = AsyncSender(ingest.url, token="t", buffer=Buffer(max_events=10), patience=0.2)
        sender.start()
        await ingest.met.wait()
        for number in range(1000):
            sender.emit(call(number))
        assert sender.status.last == 1000
        assert (sender.status.buffered, sender.status.lost) == (10, 990)
        await until(lambda: len(ingest.headers) > 2)  # it gives up on the silent connection by itself
        ingest.acts.clear()
        assert await sender.close(timeout=10)
        assert ids(ingest) == [None] * 990 + [f"c{number}" for number in range(990, 1000)]


async def test_a_server_that_falls_silent_after_its_welcome_is_left():
    async def welcome_only(ingest: Ingest, socket) -> None:
        await socket.recv()
        await ingest.say(socket, type="welcome", acked=0, limits=ingest.limits)
        await socket.wait_closed()

    async with Ingest(welcome_only) as ingest:
        sender = AsyncSender(ingest.url, token="t", patience=0.2)
        sender.start()
        sender.emit(call(0))
        await until(lambda: sender.status.acked == 1)
        await sender.close()


async def test_no_server_at_all():
    async with Ingest() as ingest:
        url = ingest.url
    async with AsyncSender(url, token="t") as sender:
        sender.emit(call(0))
        await until(lambda: sender.status.state == "waiting")
        assert sender.status.error is not None
        assert await sender.close(timeout=0.05) is False


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8000", "ftp://host/", "http://", "http://user:pass@host/", "ws://host/?token=x"]
)
async def test_a_wrong_address_stops_the_sender_with_a_sentence(url):
    async with AsyncSender(url, token="t") as sender:
        sender.emit(call(0))
        assert sender.status.state == "stopped"
        assert sender.status.error is not None
        assert sender.status.error.startswith("The address of Footprint must")


async def test_hostile_events_are_counted_and_named_without_their_values(caplog):
    loop: list = []
    loop.append(loop)
    async with Ingest() as ingest, AsyncSender(ingest.url, token="t") as sender:
        for odd in (10**400, b"bytes-canary", loop, {"canary"}, None, object()):
            sender.emit(odd)
            sender.emit({"type": "agentfootprint.stream.tool_start", "payload": odd, "meta": odd})
            sender.emit(
                {"type": "agentfootprint.stream.tool_start", "payload": {"toolName": odd, "args": odd}}
            )
            sender.emit({odd: odd} if isinstance(odd, int | bytes) else {"type": odd})
        sender.emit(call(7))
        await until(lambda: sender.status.acked == sender.status.last)
        assert ids_of_whole_events(ingest)[-1] == "c7"
        assert sender.status.refused_count == sender.status.last - 1 == 24
        assert "canary" not in str(sender.status)
    assert "canary" not in caplog.text
    assert "does not fit the list" in caplog.text


def ids_of_whole_events(ingest: Ingest) -> list[object]:
    payloads = [event["payload"] for event in ingest.events if event]
    return [payload.get("toolCallId") if isinstance(payload, dict) else None for payload in payloads]


async def test_what_the_server_refuses_stands_in_the_status():
    async def refuse(ingest: Ingest, socket) -> None:
        await socket.recv()
        await ingest.say(socket, type="welcome", acked=0, limits=ingest.limits)
        await socket.recv()
        await ingest.say(
            socket, type="refused", seq=1, code="unstorable", reason="event: could not be stored"
        )
        await ingest.say(socket, type="ack", through=1)
        await socket.wait_closed()

    async with Ingest(refuse) as ingest, AsyncSender(ingest.url, token="t") as sender:
        sender.emit(call(0))
        await until(lambda: sender.status.acked == 1)
        (refusal,) = sender.status.refused
        assert (refusal.seq, refusal.code) == (1, "unstorable")
        await sender.close(timeout=0)


async def test_debug_logs_hold_no_token_and_no_text(caplog):
    caplog.set_level(logging.DEBUG)
    async with Ingest() as ingest:
        logging.getLogger("websockets.server").setLevel(logging.WARNING)
        async with AsyncSender(ingest.url, token="fp_canary") as sender:
            sender.run(agent_id="a").turn_start("canary question")
            await until(lambda: sender.status.acked == sender.status.last)
    assert "canary" not in caplog.text


async def test_events_on_disk_reach_the_server_through_the_next_process(tmp_path):
    async with Ingest() as ingest:
        first = AsyncSender("http://127.0.0.1:1", token="t", buffer=tmp_path)
        for number in range(5):
            first.emit(call(number))
        assert await first.close(timeout=0) is False
        first.emit(call(99))  # closed: passed over

        async with AsyncSender(ingest.url, token="t", buffer=tmp_path) as second:
            second.emit(call(5))
            await until(lambda: second.status.acked == 6)
        assert ids(ingest) == [f"c{number}" for number in range(6)]
        assert second.status.stream == first.status.stream
        third = DiskBuffer(tmp_path)
        assert third.stream != first.status.stream, "the stream said goodbye"


async def test_a_folder_in_use_leaves_the_second_sender_with_memory(tmp_path, caplog):
    first = AsyncSender("http://127.0.0.1:1", buffer=tmp_path)
    second = AsyncSender("http://127.0.0.1:1", buffer=tmp_path)
    second.emit(call(1))
    assert second.status.stream != first.status.stream
    assert "kept in memory" in caplog.text


async def test_threads_that_emit_at_once_lose_nothing():
    async with Ingest(vanish(50), close_with(1012, after=100)) as ingest:

        def work() -> Sender:
            with Sender(ingest.url, token="t") as sender:
                threads = [
                    threading.Thread(
                        target=lambda part=part: [sender.emit(call(part * 1000 + n)) for n in range(100)]
                    )
                    for part in range(4)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                assert sender.close(timeout=20)
            return sender

        sender = await asyncio.to_thread(work)
        got = ids(ingest)
        assert sender.status.state == "closed"
        assert len(got) == 400
        for part in range(4):
            mine = [one for one in got if one and int(one[1:]) // 1000 == part]
            assert mine == [f"c{part * 1000 + n}" for n in range(100)], "each thread's events in its order"


async def test_a_sender_without_with_begins_with_its_first_event_and_closes_once():
    async with Ingest() as ingest:

        def work() -> None:
            sender = Sender(ingest.url, token="t")
            assert sender.status.state == "not started"
            sender.emit(call(1))
            assert sender.close(timeout=20)
            assert sender.close()
            sender.emit(call(2))

        await asyncio.to_thread(work)
        assert ids(ingest) == ["c1"]


async def test_closing_a_sync_sender_takes_no_longer_than_it_may():
    async with Ingest(*[say_nothing] * 9) as ingest:

        def work() -> None:
            sender = Sender(ingest.url, token="t")
            sender.emit(call(1))
            assert sender.close(timeout=0.1) is False
            assert sender.status.state == "closed"
            assert not any(thread.name == "footprint-sender" for thread in threading.enumerate())

        await asyncio.to_thread(work)


def test_a_signal_in_the_middle_of_an_emit_may_emit_too():
    sender = AsyncSender("http://127.0.0.1:1", token="t")
    buffer = sender.core.buffer
    append = buffer.append

    def interrupted(line: bytes) -> int:
        if b'"c1"' in line:
            signal.raise_signal(signal.SIGUSR1)
        return append(line)

    buffer.append = interrupted  # type: ignore[method-assign]
    before = signal.signal(signal.SIGUSR1, lambda *_: sender.emit(call(2)))
    try:
        sender.emit(call(1))
    finally:
        signal.signal(signal.SIGUSR1, before)
    numbers = [(number, line[line.index(b'"c') + 1 :][:2]) for number, line in buffer._waiting]
    assert numbers == [(1, b"c1"), (2, b"c2")]


def test_a_forked_child_does_not_use_its_parents_numbers(tmp_path):
    sender = AsyncSender("http://127.0.0.1:1", token="t", buffer=tmp_path)
    sender.emit(call(1))
    pid = os.fork()
    if not pid:
        sender.emit(call(2))
        os._exit(sender.status.last)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    sender.emit(call(3))
    assert sender.status.last == 2


async def test_a_redirect_is_not_followed_with_the_token():
    from http import HTTPStatus

    from websockets.asyncio.server import serve
    from websockets.http11 import Response

    asked = []

    async with Ingest() as elsewhere:

        def redirect(connection, request):
            asked.append(request.path)
            response: Response = connection.respond(HTTPStatus.FOUND, "")
            response.headers["Location"] = elsewhere.url.replace("http", "ws")
            return response

        async with serve(
            lambda socket: behave(elsewhere, socket), "127.0.0.1", 0, process_request=redirect
        ) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            async with AsyncSender(f"ws://127.0.0.1:{port}/ws/ingest/", token="t") as sender:
                await until(lambda: sender.status.state == "waiting")
                assert sender.status.error == "The server answered HTTP 302 instead of opening a websocket."
                await sender.close(timeout=0)
        assert asked
        assert not elsewhere.headers
