"""`python -m bench.raw_stream`: a long run told in full by a one-line sender: 42,815 events, 22 MB, most of them not kept.

An agent that makes 200 tool calls one after the other repeats all its messages in every iteration, so that 41,607 of its
events are context that the allow-list drops. They come in bare mode, without acks, so the clock stops when the record
has the answer. Once with one event a frame, as `agent.on("*", event => socket.send(JSON.stringify(event)))` sends
them, and once in lists of a hundred.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Iterator
from typing import Any

from bench import harness
from bench.harness import Bar, Figure, Samples
from bench.servers import BenchServer, bench_server

CALLS, CALLS_QUICK = 200, 50
A_LIST = 100
LOOK_AGAIN_S = 0.01
PATIENCE_S = 120.0
RUN = "run-1796068520146-2"
META = {"wallClockMs": 1796068520146, "compositionPath": ["Agent:support"], "runId": RUN}
KEPT = ("run_configured", "turn_", "iteration_", "llm_", "tool_start", "tool_end", "integrity")


def measure(options: argparse.Namespace) -> list[Figure]:
    harness.set_up_django()
    calls = CALLS_QUICK if options.quick else CALLS
    lines = list(raw_lines(calls))
    kept = [line for line in lines if any(word in line[:60] for word in KEPT)]
    dropped = len(lines) - len(kept)
    size = sum(map(len, lines)) / 1e6
    print(f"\n{len(lines):,} events, {size:.1f} MB, {len(kept):,} of them kept; {calls} tool calls")
    figures = [listed_cost([line for line in lines if line not in set(kept)], options.repeats)]
    for words, pieces in (("one a frame", 1), ("lists of a hundred", A_LIST)):
        whole, alone = [], []
        for _ in range(options.repeats):
            with bench_server() as server:
                whole.append(told(server, frames(lines, pieces), calls))
            with bench_server() as server:
                alone.append(told(server, frames(kept, pieces), calls))
        seconds = Samples(tuple(one[0] for one in whole))
        more = statistics.median(one[1] for one in whole) - statistics.median(one[1] for one in alone)
        limit = Bar(most=1.5) if not options.quick else None
        figures += [
            Figure(
                f"raw stream: folded, {words}", seconds.median, "s", limit, f"{size:.0f} MB", seconds.spread
            ),
            Figure(
                f"raw stream: a dropped event, {words}", more / dropped * 1e6, "us", None, "all the server's"
            ),
        ]
    return figures


def listed_cost(lines: list[str], repeats: int) -> Figure:
    """What the door does with one event that is not kept: read the frame, read the line, drop it."""
    from runs.intake.frames import read_frame
    from runs.rules.kept import Dropped, keep

    def once() -> float:
        began = time.process_time()
        for line in lines:
            frame: Any = read_frame(line, bare=True)
            assert isinstance(keep(frame.lines[0]), Dropped)
        return (time.process_time() - began) / len(lines) * 1e6

    samples = harness.repeat(max(repeats, 5), once)
    return Figure(
        "raw stream: a dropped event, our door", samples.median, "us", Bar(most=3), "", samples.spread
    )


def told(server: BenchServer, texts: list[str], calls: int) -> tuple[float, float]:
    """Seconds from the first frame until the answer is in the record; the server's processor seconds for it."""
    before = server.use().cpu_s
    seconds = asyncio.run(_told(server, texts))
    after = server.use().cpu_s
    found = server.count("ToolCall", state="closed")
    if found != calls:
        raise RuntimeError(f"the record has {found} closed calls, expected {calls}")
    return seconds, after - before


async def _told(server: BenchServer, texts: list[str]) -> float:
    from websockets.asyncio.client import connect

    headers = {"Authorization": f"Bearer {server.token}"}
    async with connect(
        server.websocket_url, additional_headers=headers, compression=None, ping_interval=None
    ) as socket:
        began = time.perf_counter()
        for text in texts:
            await socket.send(text)
        while not await asyncio.to_thread(server.count, "Run", finished=True):
            if time.perf_counter() - began > PATIENCE_S:
                raise RuntimeError("the run was not folded in time")
            await asyncio.sleep(LOOK_AGAIN_S)
        return time.perf_counter() - began


def frames(lines: list[str], pieces: int) -> list[str]:
    if pieces == 1:
        return lines
    return [f"[{','.join(lines[at : at + pieces])}]" for at in range(0, len(lines), pieces)]


# -- the stream -------------------------------------------------------------------------------------


def raw_lines(calls: int) -> Iterator[str]:
    """The events of one turn with so many tool calls, one after the other, as the framework's JSON.

    In iteration i the framework injects the system prompt, the question and 2 (i - 1) messages once more, and ends it
    with the whole history.
    """
    stage = 0

    def line(name: str, payload: dict[str, Any], at: str) -> str:
        meta = META | {"runOffsetMs": stage, "runtimeStageId": f"{at}#{stage}", "subflowPath": []}
        return json.dumps(
            {"type": f"agentfootprint.{name}", "payload": payload, "meta": meta}, separators=(",", ":")
        )

    yield line(
        "agent.run_configured", {"agentId": "support", "llm": {"provider": "mock", "model": "small"}}, "run"
    )
    yield line("agent.turn_start", {"turnIndex": 0, "userPrompt": "Check all two hundred shelves."}, "seed")
    history: list[dict[str, Any]] = [{"role": "user", "content": "Check all two hundred shelves."}]
    for iteration in range(1, calls + 2):
        stage += 10
        yield line(
            "context.evaluated",
            {"iteration": iteration, "activeCount": 0, "activeIds": []},
            "sf-injection-engine",
        )
        yield line(
            "context.injected",
            _injected("system-prompt", "You are a support agent. Use the tools."),
            "sf-system-prompt/compose",
        )
        for message in history:
            yield line("context.injected", _injected("messages", message["content"]), "sf-messages/compose")
        for slot in ("system-prompt", "messages", "tools"):
            budget = {"cap": 4000, "used": 39, "headroomChars": 3961}
            composed = {"slot": slot, "iteration": iteration, "budget": budget, "droppedSummaries": []}
            yield line("context.slot_composed", composed, f"sf-{slot}/compose")
        yield line("agent.iteration_start", {"turnIndex": 0, "iterIndex": iteration}, "call-llm")
        start = {
            "iteration": iteration,
            "provider": "mock",
            "model": "small",
            "messagesCount": len(history),
            "toolsCount": 1,
        }
        yield line(
            "stream.llm_start",
            start | {"tools": [{"name": "check_shelf", "description": "Look at a shelf."}]},
            "call-llm",
        )
        last = iteration > calls
        end = {"iteration": iteration, "content": "Next shelf.", "toolCallCount": 0 if last else 1}
        usage = {
            "usage": {"input": 26, "output": 8},
            "stopReason": "stop" if last else "tool_use",
            "durationMs": 5,
        }
        yield line("stream.llm_end", end | usage, "call-llm")
        yield line(
            "agent.route_decided",
            {"turnIndex": 0, "iterIndex": iteration, "chosen": "tool-calls"},
            "sf-route",
        )
        if not last:
            call = f"call_{iteration}"
            yield line(
                "stream.tool_start",
                {"toolName": "check_shelf", "toolCallId": call, "args": {"shelf": iteration}},
                "tool-calls",
            )
            yield line(
                "stream.tool_end",
                {"toolCallId": call, "result": f"ok {iteration}", "durationMs": 2},
                "tool-calls",
            )
            history.append(
                {
                    "role": "assistant",
                    "content": "Next shelf.",
                    "toolCalls": [{"id": call, "name": "check_shelf"}],
                }
            )
            history.append({"role": "tool", "content": f"ok {iteration}", "toolCallId": call})
        ended = {
            "turnIndex": 0,
            "iterIndex": iteration,
            "toolCallCount": 0 if last else 1,
            "history": history,
        }
        yield line("agent.iteration_end", ended, "tool-calls")
    done = {
        "turnIndex": 0,
        "finalContent": "All shelves are in order.",
        "iterationCount": calls + 1,
        "durationMs": 900,
    }
    yield line("agent.turn_end", done, "final/prepare-final")
    yield line(
        "integrity.disposition",
        {"posture": "observe", "workExisted": True, "rows": []},
        "integrity-disposition",
    )


def _injected(slot: str, content: str) -> dict[str, Any]:
    return {
        "contentSummary": content,
        "contentHash": "4b8f9355",
        "slot": slot,
        "source": "history",
        "sourceId": "message",
        "reason": "messages so far, as the strategy of the window left them",
        "rawContent": content,
        "position": 0,
    }


if __name__ == "__main__":
    harness.run(measure)
