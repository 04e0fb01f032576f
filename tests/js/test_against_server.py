"""The JavaScript sender and the real server, each in a process of its own: the record is what the facts say."""

import asyncio
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import recordings
from tests.js import server_data
from tests.js.node import start_node
from tests.server_process import server_process

pytestmark = pytest.mark.node


@dataclass(frozen=True, slots=True)
class Served:
    url: str
    data: Path
    token: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("served")
    with server_process(data=data) as server:
        url = server.url  # there are tables as soon as there is an address
        yield Served(url, data, server_data.begin(data))


def expected_answers(name: str) -> list[dict[str, Any]]:
    facts = recordings.facts()[name]["answers"]
    return [{**answer, "incomplete": sorted(answer["incomplete"])} for answer in facts]


async def test_every_recording_is_told_as_its_facts_say(served: Served):
    names = recordings.names()
    files = [str(recordings.FOLDER / name) for name in names]
    statuses = await start_node("send_each.mjs", url=served.url, token=served.token, files=files)
    told = server_data.record(served.data)
    for name in names:
        stream = name.removesuffix(".jsonl")
        status = statuses[stream]
        assert (status["state"], status["isSettled"], status["refused"]) == ("closed", True, 0), name
        expected, answers = expected_answers(name), told[stream]
        for fact, answer in zip(expected, answers, strict=True):
            summary = fact.pop("calls_summary", None)
            if summary is not None:
                outcomes = Counter(call[2] for call in answer.pop("calls"))
                fact.pop("calls", None)
                assert {"count": sum(outcomes.values()), "outcomes": dict(outcomes)} == summary
        assert answers == expected, name


async def test_a_restart_of_the_server_costs_nothing(tmp_path: Path):
    name = "sequential_tools.jsonl"
    with server_process(data=tmp_path) as first:
        address, token = first.websocket_url, server_data.begin(tmp_path)
        sending = asyncio.create_task(
            start_node(
                "send.mjs",
                url=address,
                token=token,
                files=[str(recordings.FOLDER / name)],
                everyMs=20,
                closeWithinMs=45_000,
                options={"name": "restarted"},
            )
        )
        await asyncio.sleep(1)
        assert await asyncio.to_thread(first.stop, signal.SIGTERM) == 0
    port = address.rpartition(":")[2]
    with server_process("serve", "--port", port, data=tmp_path) as second:
        assert second.websocket_url == address
        told = await sending
        record = server_data.record(tmp_path)
    assert told["status"]["isSettled"]
    assert "waiting" in told["states"]
    assert record["restarted"] == expected_answers(name)


async def test_a_token_that_is_not_known_is_told_in_a_sentence(served: Served):
    files = [str(recordings.FOLDER / "plain_answer.jsonl")]
    told = await start_node("send.mjs", url=served.url, token="fp_nobody", files=files, waitMs=300)
    assert told["status"]["state"] == "stopped"
    assert "token" in told["status"]["message"]


@pytest.mark.parametrize("where", ["option", "getSnapshot"])
async def test_tool_choice_rows_and_declarations_are_taken(served: Served, where: str):
    status = await start_node("tool_choice.mjs", url=served.url, token=served.token, where=where)
    assert (status["state"], status["isSettled"], status["refused"]) == ("closed", True, 0)
