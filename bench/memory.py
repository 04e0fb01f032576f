"""`python -m bench.memory`: the server's memory at rest, over a long stream of runs, and under senders that mean harm.

The stream goes on for `--minutes` at a steady pace, and after a first part the memory has to stay where it is. The
harmful senders never wait for an ack, send as much as they can and come back when they are thrown out.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import secrets
import threading
import time
from collections.abc import Iterator

from bench import harness
from bench.harness import Bar, Figure, Samples
from bench.senders import RawSender
from bench.servers import BenchServer, bench_server
from bench.workload import EVENTS_A_RUN, workload

MINUTES, MINUTES_QUICK = 3.0, 0.15
RUNS_A_SECOND = 40  # as many as an agent farm of some size makes, and far below what the server can do
WARM = 1 / 3  # of the time: what is made once has been made
A_LOOK_S = 0.05
HARMFUL = 20  # connections
HARMFUL_S, HARMFUL_QUICK_S = 10.0, 3.0
WINDOW = 1_000
EVENT_BYTES = 2_000  # of the harmful senders' events
TIMES = 4  # what one byte on the wire may take in memory: the message, its text, its event, its row


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--minutes", type=float, help=f"of streaming (default: {MINUTES:.0f}; the bar says 30)"
    )


def measure(options: argparse.Namespace) -> list[Figure]:
    harness.set_up_django()
    minutes = options.minutes or (MINUTES_QUICK if options.quick else MINUTES)
    with bench_server() as server:
        rest = server.use().rss_mb
        seen = asyncio.run(stream(server, minutes))
    settled, last = seen[int(len(seen) * WARM) :], seen[-1]
    middle = Samples(tuple(settled)).median
    off = max(abs(rss / middle - 1) for rss in settled) * 100
    print(f"\nat rest {rest:.0f} MB; after {minutes:g} min at {RUNS_A_SECOND} runs/s {last:.0f} MB")
    seconds = HARMFUL_QUICK_S if options.quick else HARMFUL_S
    peaks = Samples(tuple(_harm(seconds) for _ in range(1 if options.quick else options.repeats)))
    bound = HARMFUL * WINDOW * EVENT_BYTES * TIMES / 1e6
    return [
        Figure("memory: at rest", rest, "MB"),
        Figure("memory: after a long stream", last, "MB", Bar(most=160), f"{minutes:g} min"),
        Figure(
            "memory: off the middle in a long stream",
            off,
            "%",
            Bar(most=10),
            f"{minutes:g} min, first third left out",
        ),
        Figure(
            "memory: grown under harmful senders",
            peaks.median,
            "MB",
            Bar(most=bound),
            f"{HARMFUL} connections, window x connections x {EVENT_BYTES:,} bytes x {TIMES}",
            peaks.spread,
        ),
    ]


async def stream(server: BenchServer, minutes: float) -> list[float]:
    """Runs at a steady pace from four senders; the server's memory in MB, once a second."""
    seconds = max(5, int(minutes * 60))
    senders: list[RawSender] = []
    seen = []
    for second in range(seconds):
        ends = time.monotonic() + 1
        if second % 60 == 0:  # a new stream a minute, as agents come and go
            for sender in senders:
                await sender.close()
            share = min(60, seconds - second)
            made = await asyncio.to_thread(workload, RUNS_A_SECOND * share, seed=second)
            senders = [await RawSender.opened(server.websocket_url, server.token, one) for one in made]
        await asyncio.gather(*(_a_second(sender, second % 60) for sender in senders))
        seen.append(server.use().rss_mb)
        await asyncio.sleep(max(0.0, ends - time.monotonic()))
    return seen


async def _a_second(sender: RawSender, second: int) -> None:
    """The frames that are due in this second of its minute, and their acks."""
    a_second = RUNS_A_SECOND * EVENTS_A_RUN / 4
    due = [f for f in sender.stream.frames if second * a_second < f.last <= (second + 1) * a_second]
    for frame in due:
        await sender.socket.send(frame.text)
    if due:
        await sender.hear(due[-1].last)


# -- harm -------------------------------------------------------------------------------------------


def _harm(seconds: float) -> float:
    """How much the server's memory grew at most, in MB, and that it still serves afterwards."""
    with bench_server() as server:
        asyncio.run(asyncio.wait_for(_polite(server), 60))
        rest = server.use().rss
        with _watched(server) as seen:
            asyncio.run(_harmful(server, seconds))
        asyncio.run(asyncio.wait_for(_polite(server), 60))
    return (max(seen) - rest) / 1e6


@contextlib.contextmanager
def _watched(server: BenchServer) -> Iterator[list[int]]:
    seen, enough = [server.use().rss], threading.Event()

    def look() -> None:
        while not enough.wait(A_LOOK_S):
            seen.append(server.use().rss)

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield seen
    finally:
        enough.set()
        watching.join()


async def _polite(server: BenchServer) -> None:
    [own] = workload(3, senders=1, seed=secrets.randbelow(10_000))
    sender = await RawSender.opened(server.websocket_url, server.token, own)
    await sender.play()
    await sender.close()


async def _harmful(server: BenchServer, seconds: float) -> None:
    ends = time.monotonic() + seconds
    text = "x" * (EVENT_BYTES - 200)
    meta = {
        "runId": "run-1",
        "wallClockMs": 1_796_000_000_000,
        "runtimeStageId": "seed#0",
        "compositionPath": [],
    }
    start = {"type": "agentfootprint.agent.turn_start", "payload": {"userPrompt": text}, "meta": meta}
    lines = "\n".join([json.dumps(start)] * 100)

    async def one() -> None:
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException

        hello = {"type": "hello", "protocol": 1, "instance": "harm", "sender": "bench/1", "last": 0}
        headers = {"Authorization": f"Bearer {server.token}"}
        while time.monotonic() < ends:
            with contextlib.suppress(WebSocketException, OSError, TimeoutError):
                socket = await connect(
                    server.websocket_url, additional_headers=headers, compression=None, close_timeout=0.2
                )
                async with socket:
                    await socket.send(json.dumps(hello | {"stream": f"harm-{secrets.token_hex(8)}"}))
                    first = 1
                    while time.monotonic() < ends:
                        await socket.send(json.dumps({"type": "events", "first": first}) + "\n" + lines)
                        first += 100

    await asyncio.gather(*(one() for _ in range(HARMFUL)))


if __name__ == "__main__":
    harness.run(measure, arguments)
