"""A page that is loaded again goes on with its stream; events that were not acknowledged are sent by the next page."""

import pytest

from tests.js.node import RECORDINGS, start_node
from tests.js.scripted_server import Welcome, scripted_server
from tests.js.test_sending import in_order, kept_of

pytestmark = pytest.mark.node

FILES = ["plain_answer.jsonl", "sequential_tools.jsonl"]
DECLARED = {
    "type": "footprint.tools.declared",
    "payload": {"tools": [{"name": "lookup_order", "displayName": "Looked up the order"}]},
    "meta": {},
}


async def test_the_next_page_sends_what_the_last_one_could_not():
    async with scripted_server() as server:
        told = await start_node(
            "reload.mjs", url=server.url, files=[str(RECORDINGS / name) for name in FILES]
        )
    first, second = server.streams.values()
    assert in_order(first.events) == [DECLARED, *kept_of(*FILES)]
    assert told["left"]["stream"] == told["done"]["stream"] != told["last"]["stream"]
    assert told["left"]["acked"] == 0
    assert told["done"]["isSettled"]
    assert told["forgotten"]
    assert in_order(second.events) == [DECLARED]


async def test_what_the_storage_had_no_room_for_is_a_hole():
    async with scripted_server() as server:
        told = await start_node(
            "reload.mjs", url=server.url, files=[str(RECORDINGS / name) for name in FILES], storageBytes=1_500
        )
    stream = next(iter(server.streams.values()))
    everything = [DECLARED, *kept_of(*FILES)]
    ((start, end),) = stream.holes
    assert start == 1
    assert 1 < end < 1 + len(kept_of(FILES[0]))
    assert [stream.events[seq] for seq in sorted(stream.events)] == everything[end:]
    assert min(stream.events) == end + 1
    assert told["done"]["isSettled"]


async def test_a_storage_that_is_behind_the_dashboard_never_gives_a_number_twice():
    async with scripted_server(Welcome(acked=40)) as server:
        await start_node("reload.mjs", url=server.url, files=[str(RECORDINGS / name) for name in FILES])
    behind, anew, _ = server.streams.values()
    assert behind.events == {}
    assert in_order(anew.events) == [DECLARED, *kept_of(FILES[1])]


async def test_a_page_left_before_the_storage_is_known_to_be_its_own_loses_nothing():
    async with scripted_server() as server:
        told = await start_node(
            "left_early.mjs", url=server.url, files=[str(RECORDINGS / name) for name in FILES]
        )
    (stream,) = server.streams.values()
    assert told["done"]["stream"] == told["left"]["stream"]
    assert in_order(stream.events) == kept_of(*FILES)


async def test_a_page_left_early_does_not_write_over_another_page():
    async with scripted_server() as server:
        told = await start_node(
            "left_early.mjs", url=server.url, files=[str(RECORDINGS / name) for name in FILES], other="theirs"
        )
    (stream,) = server.streams.values()
    assert told["held"] == "theirs"
    assert told["done"]["stream"] != told["left"]["stream"]
    assert in_order(stream.events) == kept_of(FILES[1])
