"""`python -m bench.single_event`: how long one event alone waits for its ack, on a server with nothing else to do."""

from __future__ import annotations

import argparse
import asyncio
import time

from bench import harness
from bench.harness import Bar, Figure, Samples, percentile
from bench.senders import RawSender
from bench.servers import DATABASES, bench_server
from bench.workload import numbered_lines, stream

EVENTS, EVENTS_QUICK = 1_000, 200
WARM_UP = 34


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--database", choices=DATABASES, default="sqlite")


def measure(options: argparse.Namespace) -> list[Figure]:
    harness.set_up_django()
    events = EVENTS_QUICK if options.quick else EVENTS
    with bench_server(database=options.database) as server:
        rounds = [
            asyncio.run(waits(server.websocket_url, server.token, events, seed))
            for seed in range(options.repeats)
        ]
    half = Samples(tuple(percentile(waited, 0.5) * 1000 for waited in rounds))
    most = Samples(tuple(percentile(waited, 0.99) * 1000 for waited in rounds))
    return [
        Figure("single event: ack, p50", half.median, "ms", Bar(most=4), f"{events:,} events", half.spread),
        Figure("single event: ack, p99", most.median, "ms", Bar(most=20), "", most.spread),
    ]


async def waits(url: str, token: str, events: int, seed: int) -> list[float]:
    """Seconds from each event's sending to its ack; the next one is sent after it."""
    runs = range(-(-(events + WARM_UP) // 34))
    alone = stream(f"alone-{seed}", numbered_lines(runs, seed, 1), a_frame=1)
    sender = await RawSender.opened(url, token, alone)
    waited = []
    for frame in alone.frames[: events + WARM_UP]:
        began = time.perf_counter()
        await sender.socket.send(frame.text)
        await sender.hear(frame.last)
        waited.append(time.perf_counter() - began)
    await sender.close()
    return waited[WARM_UP:]


if __name__ == "__main__":
    harness.run(measure, arguments)
