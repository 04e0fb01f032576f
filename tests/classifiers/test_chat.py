"""The chat classifier against a real HTTP server: with and without log-probabilities, and every way it can fail."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import log
from typing import Any

import pytest

from runs.classifiers.chat import Chat, labels
from runs.rules.tool_choice import Pick, PickFailed, PickResult, ToolCandidate, pick_tools

TOOLS = [
    ToolCandidate("lookup", "Looks up an order."),
    ToolCandidate("refund", ""),
    ToolCandidate("track", "Where?"),
]


class Endpoint:
    """What it will answer, one after the other (the last again and again), and what it was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.wait_s = 0.0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.asked.append(json.loads(body) | {"path": self.path})
                outer.keys.append(self.headers.get("Authorization"))
                time.sleep(outer.wait_s)
                status, said = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(said)))
                    self.end_headers()
                    self.wfile.write(said)
                except OSError:
                    pass  # whoever asked has gone

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def says(self, text: Any, top: list[tuple[str, Any]] | None = None, **more: Any) -> None:
        choice: dict[str, Any] = {"message": {"role": "assistant", "content": text}}
        if top is not None:
            choice["logprobs"] = {"content": [{"top_logprobs": [{"token": t, "logprob": p} for t, p in top]}]}
        self.answers.append((200, json.dumps({"model": "small-1", "choices": [choice]} | more).encode()))


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()


async def pick(endpoint: Endpoint, **more: Any) -> PickResult:
    return await pick_tools(
        Chat(endpoint.url, "small", **more),
        user_message="Where is it?",
        candidates=TOOLS,
        clock=time.monotonic,
    )


async def test_log_probabilities_are_the_scores(endpoint: Endpoint) -> None:
    endpoint.says(
        "C", [("C", log(0.6)), (" C", log(0.1)), ("A", log(0.2)), ("Hm", log(0.05))],
        usage={"prompt_tokens": 90, "completion_tokens": 1},
    )  # fmt: skip
    found = await pick(endpoint, api_key="secret-key")
    assert isinstance(found, Pick)
    assert [(score.name, round(score.score, 6)) for score in found.ranked] == [
        ("track", 0.7),
        ("lookup", 0.2),
    ]
    assert (found.chosen, round(found.confidence, 6), found.classifier.model) == ("track", 0.7, "small-1")
    assert found.usage is not None and (found.usage.input_tokens, found.usage.output_tokens) == (90, 1)
    (asked,) = endpoint.asked
    assert asked["path"] == "/v1/chat/completions"
    assert "A. lookup: Looks up an order.\nB. refund\nC. track: Where?" in asked["messages"][0]["content"]
    assert asked["messages"][1]["content"] == "userMessage: Where is it?"
    assert endpoint.keys == ["Bearer secret-key"]


async def test_without_log_probabilities_there_are_no_scores(endpoint: Endpoint) -> None:
    endpoint.says("B 85 %")
    found = await pick(endpoint, logprobs=False)
    assert isinstance(found, Pick)
    assert (found.chosen, found.confidence, found.ranked, found.usage) == ("refund", 0.85, (), None)
    assert "logprobs" not in endpoint.asked[0]


async def test_a_letter_alone_says_no_confidence_and_none_is_made_up(endpoint: Endpoint) -> None:
    endpoint.says("B")
    assert isinstance(await pick(endpoint), PickFailed)


@pytest.mark.parametrize("text", ["Z 80", "I cannot say.", "", None, 7, ["B 80"]])
async def test_an_answer_that_names_no_tool_chooses_none(endpoint: Endpoint, text: Any) -> None:
    endpoint.says(text)
    found = await pick(endpoint)
    assert isinstance(found, PickFailed) or found.chosen is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 3.0, "0.5", None, True])
async def test_a_log_probability_that_is_none_is_left_out(endpoint: Endpoint, value: Any) -> None:
    endpoint.says("A 70", [("A", value), ("B", log(0.2))])
    found = await pick(endpoint)
    assert isinstance(found, Pick)
    assert [score.name for score in found.ranked] == ["refund"]
    assert (found.chosen, found.confidence) == ("lookup", 0.7)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b'{"choices": [7]}'),
        (401, b"no"),
        (500, b""),
        (200, b"\xff"),
    ],
)
async def test_whatever_it_answers_the_reading_fails_quietly(
    endpoint: Endpoint, status: int, body: bytes
) -> None:
    endpoint.answers.append((status, body))
    found = await pick(endpoint, api_key="secret-key")
    assert isinstance(found, PickFailed)
    assert found.status == (status if status != 200 or body in (b"<html>", b"\xff") else None)
    assert "secret-key" not in found.message
    assert len(endpoint.asked) == 1, "nothing is tried again unless asked to"


async def test_tries_again_only_when_told_and_only_what_may_get_better(endpoint: Endpoint) -> None:
    endpoint.answers.append((503, b""))
    endpoint.says("A 90")
    found = await pick(endpoint, retries=1)
    assert isinstance(found, Pick) and found.chosen == "lookup"
    endpoint.answers[:] = [(401, b"")]
    assert isinstance(await pick(endpoint, retries=5), PickFailed)
    assert len(endpoint.asked) == 3


async def test_slow_gone_and_cancelled(endpoint: Endpoint) -> None:
    endpoint.says("A 90")
    endpoint.wait_s = 1.0
    late = await pick(endpoint, timeout_s=0.1)
    assert isinstance(late, PickFailed)
    assert "0.1 s" in late.message and late.latency_ms >= 90
    asking = asyncio.create_task(pick(endpoint))
    await asyncio.sleep(0.05)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    endpoint.url = "http://127.0.0.1:9/v1"
    assert isinstance(await pick(endpoint), PickFailed)


def test_a_label_is_one_letter_while_there_are_enough() -> None:
    assert labels(3) == ["A", "B", "C"]
    assert labels(52)[-1] == "z"
    assert len(set(labels(600))) == 600 and {len(label) for label in labels(53)} == {2}
