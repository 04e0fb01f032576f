"""`python -m bench.ingest`: agent runs a second through the ingest socket, acknowledged, which is committed and folded.

Workload W (workload.py) from prepared frames over 4 connections, to a real server on an empty database; the clock runs
from the first frame to the last ack. Afterwards the database is asked whether everything is there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench import harness
from bench.harness import Bar, Figure, Samples
from bench.senders import send_all
from bench.servers import DATABASES, BenchServer, bench_server
from bench.workload import EVENTS_A_RUN, RUNS, SENDERS, TOOL_CALLS, Stream, workload

RUNS_QUICK = 300
WARM_UP = 20  # runs, before the clock starts
FILL = 1_000_000  # events
A_LOAD = 2_000  # runs of a filling that are made at once


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument(
        "--processes", type=int, default=1, help="server processes; more than one needs REDIS_URL"
    )
    parser.add_argument(
        "--runs", type=int, help=f"agent runs a repeat (default: {RUNS:,}; quick: {RUNS_QUICK})"
    )
    parser.add_argument("--senders", type=int, default=SENDERS, help=f"connections (default: {SENDERS})")
    parser.add_argument("--at-once", type=int, default=1, help="runs of one sender that go on side by side")
    parser.add_argument(
        "--fill", type=int, default=0, help="events that are on disk before: 1000000, 10000000"
    )
    parser.add_argument("--no-limits", action="store_true", help="leave out the machine's limits")


@dataclass(frozen=True)
class Way:
    """How W is told: to what kind of server, and by how many senders that each tell so many runs side by side."""

    database: str = "sqlite"
    processes: int = 1
    senders: int = SENDERS
    at_once: int = 1

    def __str__(self) -> str:
        return f"{self.database}, {self.processes} process{'es' if self.processes > 1 else ''}"


@dataclass(frozen=True)
class Took:
    """One time W: runs, seconds, the server's processor seconds and memory, and our own processor seconds."""

    runs: int
    seconds: float
    cpu_s: float
    own_cpu_s: float
    rss_mb: float

    @property
    def a_second(self) -> float:
        return self.runs / self.seconds

    def __str__(self) -> str:
        return (
            f"  {self.a_second:7,.0f} runs/s  {self.a_second * EVENTS_A_RUN:9,.0f} events/s in {self.seconds:.2f} s; "
            f"processor: server {self.cpu_s:.2f} s, senders {self.own_cpu_s:.2f} s; memory {self.rss_mb:.0f} MB"
        )


def measure(options: argparse.Namespace) -> list[Figure]:
    harness.set_up_django()
    runs = options.runs or (RUNS_QUICK if options.quick else RUNS)
    way = Way(options.database, options.processes, options.senders, options.at_once)
    print(
        f"\n{runs:,} runs x {EVENTS_A_RUN} events from {way.senders} senders, {way}, {options.repeats} repeats"
    )
    print("\nempty database")
    empty = [on_empty(runs, repeat, way) for repeat in range(options.repeats)]
    rate = Samples(tuple(took.a_second for took in empty))
    cpu = Samples(tuple(took.cpu_s / took.runs / EVENTS_A_RUN * 1e6 for took in empty))
    memory = Samples(tuple(took.rss_mb for took in empty))
    note = "acknowledged = committed and folded"
    figures = [
        Figure(f"ingest: runs, {way}", rate.median, "runs/s", Bar(least=700), note, rate.spread),
        Figure(f"ingest: events, {way}", rate.median * EVENTS_A_RUN, "events/s", None, "", rate.spread),
        Figure(f"ingest: server's processor, {way}", cpu.median, "us/event", None, "", cpu.spread),
        Figure(
            f"ingest: memory after W, {way}",
            memory.median,
            "MB",
            Bar(most=160 * way.processes),
            "",
            memory.spread,
        ),
    ]
    if not options.no_limits:
        from bench.limits import beside_ingest

        figures += beside_ingest(
            rate.median * EVENTS_A_RUN,
            database=way.database,
            repeats=options.repeats,
            quick=options.quick,
        )
    on_disk = options.fill if options.fill is not None else 0 if options.quick else FILL
    if on_disk:
        figures.append(on_filled(runs, options.repeats, way, on_disk, rate.median))
    return figures


def on_empty(runs: int, repeat: int, way: Way | None = None) -> Took:
    """W on a fresh server and an empty database, and a look at what is there afterwards."""
    way = way or Way()
    with bench_server(database=way.database, processes=way.processes) as server:
        first = warm_up(server)
        took = play(server, workload(runs, seed=repeat, senders=way.senders, at_once=way.at_once), runs)
        check(server, runs + first)
    return took


def on_filled(runs: int, repeats: int, way: Way, on_disk: int, empty: float) -> Figure:
    """W on a database that already holds so many events, as a share of the rate on an empty one."""
    with bench_server(database=way.database, processes=way.processes) as server:
        before = fill(server, on_disk)
        print(f"\n{on_disk:,} events on disk")
        many = [
            play(server, workload(runs, seed=101 + repeat, senders=way.senders, at_once=way.at_once), runs)
            for repeat in range(repeats)
        ]
        check(server, before + runs * repeats)
    rate = Samples(tuple(took.a_second for took in many))
    bar = Bar(least=0.75 if on_disk <= 2_000_000 else 0.6)
    words = f"of the rate on an empty database; {rate.median:,.0f} runs/s"
    return Figure(f"ingest: at {on_disk:,} events, {way}", rate.median / empty, "x", bar, words, rate.spread)


def warm_up(server: BenchServer) -> int:
    """A few runs, so that what is made once has been made; how many."""
    send_all(server.websocket_url, server.token, workload(WARM_UP, senders=1, seed=99))
    return WARM_UP


def fill(server: BenchServer, events: int) -> int:
    """Bring so many events in, through the socket like all others; how many runs they were."""
    wanted = -(-events // EVENTS_A_RUN)
    done = 0
    began = time.perf_counter()
    while done < wanted:
        share = min(A_LOAD, wanted - done)
        send_all(server.websocket_url, server.token, workload(share, seed=1_000 + done // A_LOAD))
        done += share
    print(f"\nfilled with {done * EVENTS_A_RUN:,} events in {time.perf_counter() - began:.0f} s")
    return done


def play(server: BenchServer, streams: list[Stream], runs: int, tokens: Sequence[str] = ()) -> Took:
    """W once. `tokens`: of several projects, whose turn it is stream by stream."""
    before, own = server.use(), time.process_time()
    seconds = send_all(server.websocket_url, tokens or server.token, streams)
    after = server.use()
    took = Took(runs, seconds, after.cpu_s - before.cpu_s, time.process_time() - own, after.rss_mb)
    print(took, flush=True)
    return took


def check(server: BenchServer, runs: int) -> None:
    """Everything acknowledged is in the database, and folded to the end. Raises where it is not."""
    found = {
        "events": server.count("KeptEvent"),
        "runs": server.count("Run", finished=True),
        "answers": server.count("Answer", ending="answered", complete=True),
        "calls": server.count("ToolCall", state="closed"),
        "choice rows": server.count("ChoiceRow"),
    }
    wanted = {
        "events": runs * EVENTS_A_RUN,
        "runs": runs,
        "answers": runs,
        "calls": runs * TOOL_CALLS,
        "choice rows": runs * 6,
    }
    if found != wanted:
        raise RuntimeError(f"the record is not whole: {json.dumps(found)}, expected {json.dumps(wanted)}")


if __name__ == "__main__":
    harness.run(measure, arguments)
