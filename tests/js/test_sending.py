"""A recorded agent, the sender in Node.js, and a dashboard that fails as it is told to."""

import asyncio
import json
from typing import Any

import pytest

from runs.rules.kept import Kept, encode, keep
from tests.js.node import RECORDINGS, start_node
from tests.js.scripted_server import GENEROUS, Drop, Farewell, Welcome, scripted_server

pytestmark = pytest.mark.node

RUN = RECORDINGS / "sequential_tools.jsonl"


def kept_of(*names: str) -> list[dict[str, Any]]:
    lines = [
        line for name in names for line in (RECORDINGS / name).read_text("utf-8").strip("\n").split("\n")
    ]
    return [json.loads(encode(kept)) for line in lines if isinstance(kept := keep(line), Kept)]


def in_order(events: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    assert sorted(events) == list(range(1, len(events) + 1))
    return [events[seq] for seq in sorted(events)]


@pytest.mark.parametrize("plain", [False, True], ids=["the class Node has", "a class handed in"])
async def test_a_run_arrives_whole_and_is_acknowledged(plain: bool):
    async with scripted_server() as server:
        told = await start_node("send.mjs", url=server.url, files=[str(RUN)], plain=plain)
    assert in_order(server.stream.events) == kept_of(RUN.name)
    assert told["status"]["state"] == "closed"
    assert told["status"]["acked"] == told["status"]["last"] == server.stream.bye == len(server.stream.events)
    assert told["status"]["isSettled"]
    assert told["states"] == ["connecting", "live", "closed"]
    assert told["listeners"] == 0


async def test_the_token_is_in_the_hello_and_nowhere_else():
    async with scripted_server() as server:
        await start_node("send.mjs", url=server.url, token="fp_secret", files=[str(RUN)])
    assert server.paths == ["/ws/ingest/"]
    (hello,) = server.hellos
    assert hello["token"] == "fp_secret"
    assert hello["protocol"] == 1
    assert hello["sender"] == "footprint-js/0.1.0"
    assert len(hello["stream"]) <= 64
    assert hello["stream"].isascii()
    assert "fp_secret" not in json.dumps([server.frames, server.headers])


async def test_a_host_alone_is_enough_of_an_address():
    async with scripted_server() as server:
        address = server.url.replace("ws://", "http://").removesuffix("ws/ingest/")
        await start_node("send.mjs", url=address, files=[str(RUN)])
    assert server.paths == ["/ws/ingest/"]


async def test_dropped_connections_lose_and_repeat_nothing():
    script = [Drop(after=5), Drop(after=9), Welcome(), Welcome()]
    async with scripted_server(*script) as server:
        told = await start_node("send.mjs", url=server.url, files=[str(RUN)], everyMs=3)
    assert in_order(server.stream.events) == kept_of(RUN.name)
    assert server.stream.holes == []
    assert told["status"]["lost"] == 0
    assert len(server.hellos) == 3
    assert len({(hello["stream"], hello["instance"]) for hello in server.hellos}) == 1
    assert "waiting" in told["states"]


async def test_it_goes_on_after_a_restart_of_the_dashboard():
    async with scripted_server(Farewell(1012, after=4)) as server:
        told = await start_node("send.mjs", url=server.url, files=[str(RUN)], everyMs=3)
    assert in_order(server.stream.events) == kept_of(RUN.name)
    assert told["status"]["isSettled"]


@pytest.mark.parametrize("plain", [False, True], ids=["the class Node has", "a class handed in"])
async def test_a_dashboard_that_comes_later_is_found(plain: bool):
    async with scripted_server() as nobody:
        port = int(nobody.url.split(":")[2].partition("/")[0])
    sending = asyncio.create_task(start_node("send.mjs", url=nobody.url, files=[str(RUN)], plain=plain))
    await asyncio.sleep(1)
    async with scripted_server(port=port) as server:
        told = await sending
    assert in_order(server.stream.events) == kept_of(RUN.name)
    assert told["status"]["isSettled"]


async def test_frames_keep_to_the_limits():
    limits = {"frameBytes": 2_000, "eventBytes": 1_900, "window": 7}
    async with scripted_server(Welcome(limits=limits, ack_after=0.01)) as server:
        await start_node("send.mjs", url=server.url, files=[str(RUN)])
    assert in_order(server.stream.events) == kept_of(RUN.name)
    assert max(len(frame.encode()) for frame in server.frames) <= 2_000
    assert server.most_unacknowledged <= 7


async def test_an_event_over_the_limit_is_told_of_as_lost():
    kept = kept_of("odd_values.jsonl")
    sizes = [len(json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()) for event in kept]
    limit = sorted(sizes)[-2]
    async with scripted_server(Welcome(limits={**GENEROUS, "eventBytes": limit})) as server:
        told = await start_node("send.mjs", url=server.url, files=[str(RECORDINGS / "odd_values.jsonl")])
    largest = sizes.index(max(sizes)) + 1
    assert server.stream.holes == [(largest, largest)]
    assert server.stream.events == {seq: event for seq, event in enumerate(kept, 1) if seq != largest}
    assert told["status"]["lost"] == 1
    assert told["status"]["isSettled"]


async def test_what_a_full_buffer_dropped_is_one_hole():
    async with scripted_server() as server:
        told = await start_node("send.mjs", url=server.url, files=[str(RUN)], options={"bufferEvents": 11})
    kept = kept_of(RUN.name)
    held = len(server.stream.events)
    assert server.stream.holes == [(1, len(kept) - held)]
    assert held in (10, 11)  # the hole takes a place as well
    assert [server.stream.events[seq] for seq in sorted(server.stream.events)] == kept[-held:]
    assert told["status"]["lost"] == len(kept) - held
    assert told["status"]["isSettled"]


async def test_texts_do_not_leave_when_the_project_does_not_keep_them():
    async with scripted_server(Welcome(keep_text=False)) as server:
        await start_node("send.mjs", url=server.url, files=[str(RUN)])
    without = [
        {
            **event,
            "payload": {k: v for k, v in event["payload"].items() if k not in ("userPrompt", "finalContent")},
        }
        for event in kept_of(RUN.name)
    ]
    assert in_order(server.stream.events) == without


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (4400, "does not understand"),
        (4401, "token"),
        (4403, "origin"),
        (4409, "took over"),
        (4410, "another sender"),
    ],
)
async def test_it_stops_where_trying_again_cannot_help(code: int, says: str):
    async with scripted_server(Farewell(code)) as server:
        told = await start_node("send.mjs", url=server.url, files=[str(RUN)], waitMs=900)
    assert len(server.hellos) == 1
    assert told["status"]["state"] == "stopped"
    assert says in told["status"]["message"]


async def test_after_too_much_at_once_it_says_what_the_server_said_and_stays_away_for_a_while():
    async with scripted_server(Farewell(4429)) as server:
        told = await start_node("send.mjs", url=server.url, files=[str(RUN)], waitMs=1500)
    # After any other close it would be live again within half a second.
    assert told["before"]["state"] == "waiting"
    assert told["before"]["message"].startswith("The connection ended (the test says so). What waits is kept")
    assert told["status"]["isSettled"]  # who closes it does not wait


async def test_its_own_hello_heard_late_does_not_end_it():
    script = (Farewell(1012), Farewell(4409, after=3), Welcome())
    async with scripted_server(*script) as server:
        told = await start_node("send.mjs", url=server.url, files=[str(RUN)])
    assert len(server.hellos) == 3
    assert told["status"]["isSettled"]


async def test_refusals_are_counted_and_hold_nothing_up():
    async with scripted_server(Welcome(refuse=(3,))) as server:
        told = await start_node("send.mjs", url=server.url, files=[str(RUN)])
    assert told["status"]["refused"] >= 1
    assert told["status"]["lastRefusal"] == {"seq": 3, "code": "shape", "reason": "payload: no"}
    assert told["status"]["isSettled"]


async def test_without_a_dashboard_close_gives_up_in_time():
    told = await start_node(
        "send.mjs", url="ws://127.0.0.1:9/ws/ingest/", files=[str(RUN)], closeWithinMs=300
    )
    assert told["status"]["state"] == "closed"
    assert not told["status"]["isSettled"]
