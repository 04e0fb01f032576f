"""`python -m bench.sender_cost`: what the shipped sender costs an agent: time in the agent's own thread, and memory.

Each round is a process of its own that emits W's events through `runs.sender.Sender`, at an agent's pace or as fast
as it can. Once with a server, once without: then its buffer fills up, the oldest events go, and nothing may grow.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

from bench import harness
from bench.harness import Bar, Figure, Samples, percentile
from bench.servers import bench_server
from bench.workload import EVENTS_A_RUN, run_lines

RUNS, RUNS_QUICK = 300, 60
AWAY_RUNS, AWAY_RUNS_QUICK = 6_000, 1_000
NOBODY = "http://127.0.0.1:9"  # the discard port: nobody listens
PACE_S = 0.002  # between two events of an agent that has other things to do
BUFFER_MB = 64 + 16  # the buffer's limit, and what the queue around it takes


def measure(options: argparse.Namespace) -> list[Figure]:
    harness.set_up_django()
    runs = RUNS_QUICK if options.quick else RUNS
    away_runs = AWAY_RUNS_QUICK if options.quick else AWAY_RUNS
    with bench_server() as server:
        paced = [_round(server.process.url, server.token, runs, PACE_S) for _ in range(options.repeats)]
        hurried = [_round(server.process.url, server.token, runs, 0) for _ in range(options.repeats)]
    away = [_round(NOBODY, "fp_nobody", away_runs, 0) for _ in range(options.repeats)]

    def of(rounds: list[dict[str, float]], name: str) -> Samples:
        return Samples(tuple(one[name] for one in rounds))

    def figure(words: str, samples: Samples, unit: str, bar: Bar | None = None, note: str = "") -> Figure:
        return Figure(f"sender: {words}", samples.median, unit, bar, note, samples.spread)

    events = away_runs * EVENTS_A_RUN
    return [
        figure(
            "an event, at an agent's pace",
            of(paced, "cpu_us"),
            "us",
            Bar(most=20),
            "processor time of emit()",
        ),
        figure("an event, p50 until emit() returns", of(paced, "p50_us"), "us"),
        figure(
            "an event, p99 until emit() returns",
            of(paced, "p99_us"),
            "us",
            None,
            "the sending thread is busy, too",
        ),
        figure(
            "an event, as fast as it goes",
            of(hurried, "cpu_us"),
            "us",
            Bar(most=20),
            "processor time of emit()",
        ),
        figure("an event, server away", of(away, "cpu_us"), "us", None, "processor time of emit()"),
        figure(
            "longest emit(), server away",
            of(away, "longest_ms"),
            "ms",
            None,
            "it never waits for the network",
        ),
        figure(
            "memory, server away",
            of(away, "grown_mb"),
            "MB",
            Bar(most=BUFFER_MB),
            f"grown over {events:,} events",
        ),
    ]


def _round(url: str, token: str, runs: int, pace: float) -> dict[str, float]:
    order = json.dumps({"url": url, "token": token, "runs": runs, "pace": pace})
    done = subprocess.run(
        [sys.executable, "-c", f"from bench.sender_cost import agent; agent({order!r})"],
        cwd=harness.ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"the agent's process failed: {done.stderr.strip()[-300:]}")
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def agent(order: str) -> None:
    """The agent's process: prints what it found as JSON."""
    import psutil

    from runs.sender import Sender

    wanted: dict[str, Any] = json.loads(order)
    distinct = [[json.loads(line) for line in run_lines(number)] for number in range(50)]
    sender = Sender(wanted["url"], token=wanted["token"], name="bench")
    sender.start()
    for event in distinct[0]:
        sender.emit(event)
    before, waited, cpu = psutil.Process().memory_info().rss, [], 0.0
    for number in range(wanted["runs"]):
        for event in distinct[number % len(distinct)]:
            began, cpu_began = time.perf_counter(), time.thread_time()
            sender.emit(event)
            cpu += time.thread_time() - cpu_began
            waited.append(time.perf_counter() - began)
            if wanted["pace"]:
                time.sleep(wanted["pace"])
    grown = psutil.Process().memory_info().rss - before - sys.getsizeof(waited) - 24 * len(waited)
    sender.close(timeout=60 if wanted["url"] != NOBODY else 0.1)
    told = {
        "cpu_us": cpu / len(waited) * 1e6,
        "p50_us": percentile(waited, 0.5) * 1e6,
        "p99_us": percentile(waited, 0.99) * 1e6,
        "longest_ms": max(waited) * 1e3,
        "grown_mb": grown / 1e6,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    harness.run(measure)
