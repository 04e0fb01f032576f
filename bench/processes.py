"""`python -m bench.processes`: W with two server processes on PostgreSQL and Redis, beside one process on SQLite.

DATABASE_URL and REDIS_URL say where. One project is folded by one writer at a time, so W is told once by four senders
of one project and once by four senders of a project each.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from bench import harness
from bench.harness import Bar, Figure, Samples
from bench.ingest import RUNS_QUICK, check, play, warm_up
from bench.servers import bench_server
from bench.workload import RUNS, SENDERS, workload

PROCESSES = 2


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--processes", type=int, default=PROCESSES, help=f"default: {PROCESSES}")


def measure(options: argparse.Namespace) -> list[Figure]:
    many = f"{options.processes} processes on PostgreSQL"
    missing = [name for name in ("DATABASE_URL", "REDIS_URL") if not os.environ.get(name)]
    if missing:
        note = f"{' and '.join(missing)} not set"
        return [Figure(f"processes: {many} beside one on SQLite", None, "x", Bar(least=1.2), note)]
    harness.set_up_django()
    runs = RUNS_QUICK if options.quick else RUNS

    def rate(title: str, once: Callable[[int], float]) -> Samples:
        print(f"\n{title}")
        return harness.repeat_numbered(options.repeats, once)

    alone = rate("one process on SQLite", lambda n: taken(runs, n))
    one = rate("one process on PostgreSQL", lambda n: taken(runs, n, database="postgres"))
    together = rate(many, lambda n: taken(runs, n, database="postgres", processes=options.processes))
    apart = rate(
        f"{many}, {SENDERS} projects",
        lambda n: taken(runs, n, database="postgres", processes=options.processes, projects=SENDERS),
    )
    return [
        Figure("processes: one on SQLite", alone.median, "runs/s", None, "", alone.spread),
        Figure("processes: one on PostgreSQL", one.median, "runs/s", None, "", one.spread),
        Figure(f"processes: {many}", together.median, "runs/s", None, "one project", together.spread),
        Figure(
            f"processes: {many}, apart", apart.median, "runs/s", None, f"{SENDERS} projects", apart.spread
        ),
        Figure(
            f"processes: {many} beside one on SQLite", together.median / alone.median, "x", Bar(least=1.2)
        ),
        Figure(
            f"processes: {many}, apart, beside one on SQLite",
            apart.median / alone.median,
            "x",
            Bar(least=1.2),
        ),
    ]


def taken(
    runs: int, repeat: int, *, database: str = "sqlite", processes: int = 1, projects: int = 1
) -> float:
    """Runs a second of W on an empty database."""
    with bench_server(database=database, processes=processes) as server:
        tokens = [server.token] + [server.another_project() for _ in range(projects - 1)]
        first = warm_up(server)
        took = play(server, workload(runs, seed=repeat), runs, tokens)
        check(server, runs + first)
    return took.a_second


if __name__ == "__main__":
    harness.run(measure, arguments)
