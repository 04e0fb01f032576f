"""`python -m bench.crash`: how many acknowledged events are there after the server was killed, without a word, with -9.

Once right after the last ack of a batch of runs, and many times in the middle of them. What a stopped machine leaves is
tried where nothing is timed, in tests/intake/test_durability.py.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal

from bench import harness
from bench.harness import Bar, Figure
from bench.senders import RawSender, send_all
from bench.servers import DATABASES, BenchServer, bench_server
from bench.workload import EVENTS_A_RUN, Stream, workload

RUNS, RUNS_QUICK = 400, 100
MIDDLE, MIDDLE_QUICK = 10, 2  # kills in the middle


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--kills", type=int, help=f"in the middle (default: {MIDDLE})")


def measure(options: argparse.Namespace) -> list[Figure]:
    harness.set_up_django()
    runs = RUNS_QUICK if options.quick else RUNS
    streams = workload(runs)
    with bench_server(database=options.database) as server:
        send_all(server.websocket_url, server.token, streams)
        server.process.kill()
        kept = server.count("KeptEvent") / (runs * EVENTS_A_RUN)
        folded = server.count("Answer", ending="answered", complete=True) / runs
    acked = missing = 0
    chance = random.Random(7)
    kills = options.kills or (MIDDLE_QUICK if options.quick else MIDDLE)
    for _ in range(kills):
        with bench_server(database=options.database) as server:
            heard = asyncio.run(_killed_in_the_middle(server, streams, chance))
            acked += sum(heard.values())
            missing += sum(max(0, through - stored(server, name)) for name, through in heard.items())
    words = f"{kills} kills, {acked:,} events were acknowledged before"
    return [
        Figure(
            "crash: events kept, killed after the last ack",
            kept * 100,
            "%",
            Bar(least=100),
            f"of {runs * EVENTS_A_RUN:,}",
        ),
        Figure(
            "crash: answers folded, killed after the last ack",
            folded * 100,
            "%",
            Bar(least=100),
            f"of {runs:,}",
        ),
        Figure("crash: acknowledged and gone, killed in the middle", missing, "events", Bar(most=0), words),
    ]


def stored(server: BenchServer, stream: str) -> int:
    """The stream's events in the database. All of W is kept, so that many are stored without a hole."""
    return server.count("KeptEvent", stream__name=stream)


async def _killed_in_the_middle(
    server: BenchServer, streams: list[Stream], chance: random.Random
) -> dict[str, int]:
    """Stream -> the highest number its sender heard was settled."""
    senders = [await RawSender.opened(server.websocket_url, server.token, stream) for stream in streams]
    playing = [asyncio.create_task(sender.play()) for sender in senders]
    enough = chance.uniform(0.05, 0.8) * sum(stream.last for stream in streams)
    while sum(sender.acked for sender in senders) < enough and not any(one.done() for one in playing):
        await asyncio.sleep(0.001)
    await asyncio.sleep(chance.uniform(0, 0.02))
    server.process.send_signal(signal.SIGKILL)
    await asyncio.gather(*playing, return_exceptions=True)
    return {sender.stream.name: sender.acked for sender in senders}


if __name__ == "__main__":
    harness.run(measure, arguments)
