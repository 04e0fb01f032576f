"""What the list does not name never leaves, whatever it is, and nothing an event holds disturbs the agent."""

import json

import pytest

from runs.rules.kept import Kept, Refused, keep
from tests.js.node import RECORDINGS, run_node, start_node
from tests.js.scripted_server import scripted_server

pytestmark = pytest.mark.node

SECRETS = ("SECRETARG", "SECRETRESULT", "SECRETSYSTEM", "4111")


def test_planted_strings_are_in_no_frame():
    told = json.loads(run_node("canary.mjs"))
    frames = told["frames"]
    assert not [frame for frame in frames if "CANARY" in frame]
    lines = [line for frame in frames if '"type":"events"' in frame[:20] for line in frame.split("\n")[1:]]
    assert len(lines) == told["status"]["last"] == told["sent"] - 5  # all but those of unlisted types
    assert {type(keep(line)) for line in lines} == {Kept, Refused}  # every one can be read, and judged
    assert told["status"]["isSettled"]


async def test_arguments_and_results_of_a_recorded_run_are_in_no_frame():
    recording = RECORDINGS / "secrets_in_args_and_results.jsonl"
    assert all(secret in recording.read_text("utf-8") for secret in SECRETS[:3])
    async with scripted_server() as server:
        await start_node("send.mjs", url=server.url, files=[str(recording)])
    frames = "".join(server.frames)
    for secret in SECRETS[:3]:
        spoken = [
            event["payload"]
            for event in server.stream.events.values()
            if secret in json.dumps(event) and not event["payload"].keys() & {"userPrompt", "finalContent"}
        ]
        assert spoken == []
    assert len(server.stream.events) > 5
    assert "rawContent" not in frames
    assert "history" not in frames


def test_without_a_websocket_it_says_what_to_do():
    assert run_node("no_websocket.mjs") == (
        "There is no WebSocket here: Node has a global one from version 22 on. "
        "Before, hand in a class, for instance the one of the package ws: {WebSocket}."
    )
