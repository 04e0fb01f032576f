"""`python -m bench.ingest`: agent runs a second through the ingest socket, acknowledged, which is committed and folded.

Workload W (workload.py) from prepared frames over 4 connections, to a real server on an empty database; the clock runs
from the first frame to the last ack. Afterwards the database is asked whether everything is there.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass

from bench import harness
from bench.harness import Bar, Figure, Samples
from bench.senders import send_all
from bench.servers import DATABASES, BenchServer, bench_server
from bench.workload import EVENTS_A_RUN, RUNS, SENDERS, TOOL_CALLS, workload

WARM_UP = 20  # runs, before the clock starts
A_LOAD = 2_000  # runs of a filling that are made at once


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument(
        "--processes", type=int, default=1, help="server processes; more than one needs REDIS_URL"
    )
    parser.add_argument("--runs", type=int, help=f"agent runs a repeat (default: {RUNS:,}; quick: 300)")
    parser.add_argument("--senders", type=int, default=SENDERS, help=f"connections (default: {SENDERS})")
    parser.add_argument("--at-once", type=int, default=1, help="runs of one sender that go on side by side")
    parser.add_argument(
        "--fill", type=int, default=0, help="events that are on disk before: 1000000, 10000000"
    )
    parser.add_argument("--no-limits", action="store_true", help="leave out the machine's limits")


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


def measure(options: argparse.Namespace) -> list[Figure]:
    harness.set_up_django()
    runs = options.runs or (300 if options.quick else RUNS)
    where = f"{options.database}, {options.processes} process{'es' if options.processes > 1 else ''}"
    print(
        f"\n{runs:,} runs x {EVENTS_A_RUN} events from {options.senders} senders, {where}, {options.repeats} repeats"
    )
    empty = [on_empty(options, runs, repeat) for repeat in range(options.repeats)]
    _print("empty database", empty)
    rate = Samples(tuple(took.a_second for took in empty))
    last = empty[-1]
    cpu = Samples(tuple(took.cpu_s / took.runs / EVENTS_A_RUN * 1e6 for took in empty))
    figures = [
        Figure(
            f"ingest: runs, {where}",
            rate.median,
            "runs/s",
            Bar(least=700),
            "acknowledged = committed and folded",
            rate.spread,
        ),
        Figure(f"ingest: events, {where}", rate.median * EVENTS_A_RUN, "events/s", None, "", rate.spread),
        Figure(f"ingest: server's processor, {where}", cpu.median, "us/event", None, "", cpu.spread),
        Figure(f"ingest: memory after W, {where}", last.rss_mb, "MB", Bar(most=160 * options.processes)),
    ]
    if options.fill:
        figures.append(filled(options, runs, rate, where))
    if not options.no_limits:
        from bench.limits import beside_ingest

        figures += beside_ingest(
            rate.median * EVENTS_A_RUN,
            database=options.database,
            repeats=options.repeats,
            quick=options.quick,
        )
    return figures


def on_empty(options: argparse.Namespace, runs: int, repeat: int) -> Took:
    """W on a fresh server and an empty database."""
    with bench_server(database=options.database, processes=options.processes) as server:
        send_all(server.websocket_url, server.token, workload(WARM_UP, senders=1, seed=99))
        took = play(server, runs, seed=repeat, senders=options.senders, at_once=options.at_once)
        check(server, runs + WARM_UP)
        return took


def filled(options: argparse.Namespace, runs: int, empty: Samples, where: str) -> Figure:
    """W on a database that already holds so many events; they came in the same way."""
    with bench_server(database=options.database, processes=options.processes) as server:
        before = fill(server, options.fill)
        many = [
            play(server, runs, seed=101 + repeat, senders=options.senders, at_once=options.at_once)
            for repeat in range(options.repeats)
        ]
        check(server, before + runs * options.repeats)
    _print(f"{options.fill:,} events on disk", many)
    rate = Samples(tuple(took.a_second for took in many))
    bar = Bar(least=0.75 if options.fill <= 2_000_000 else 0.6)
    words = f"of the rate on an empty database; {rate.median:,.0f} runs/s"
    return Figure(
        f"ingest: at {options.fill:,} events, {where}",
        rate.median / empty.median,
        "x",
        bar,
        words,
        rate.spread,
    )


def fill(server: BenchServer, events: int) -> int:
    """Bring so many events in, through the socket like all others; how many runs they were."""
    wanted = -(-events // EVENTS_A_RUN)
    done = 0
    began = time.perf_counter()
    while done < wanted:
        share = min(A_LOAD, wanted - done)
        send_all(server.websocket_url, server.token, workload(share, seed=1_000 + done // A_LOAD))
        done += share
    print(f"filled with {done * EVENTS_A_RUN:,} events in {time.perf_counter() - began:.0f} s")
    return done


def play(server: BenchServer, runs: int, *, seed: int, senders: int, at_once: int) -> Took:
    """W once."""
    streams = workload(runs, seed=seed, senders=senders, at_once=at_once)
    before, own = server.use(), time.process_time()
    seconds = send_all(server.websocket_url, server.token, streams)
    after = server.use()
    return Took(runs, seconds, after.cpu_s - before.cpu_s, time.process_time() - own, after.rss_mb)


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


def _print(title: str, many: list[Took]) -> None:
    print(f"\n{title}")
    harness.print_table(
        ("runs/s", "events/s", "seconds", "server cpu s", "senders' cpu s", "server RSS MB"),
        [(t.a_second, t.a_second * EVENTS_A_RUN, t.seconds, t.cpu_s, t.own_cpu_s, t.rss_mb) for t in many],
    )
    print()


if __name__ == "__main__":
    harness.run(measure, arguments)
