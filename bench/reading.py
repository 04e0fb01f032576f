"""What the benches of the pages share: filled databases, a process of its own for each, and requests timed in process.

A size is a child process with its own database, so that two sizes are measured in turns within one run and the noise
of the machine meets both. `FOOTPRINT_BENCH` is the folder where filled databases stay for the next time (default:
below the system's temporary files); with `DATABASE_URL=postgres://...` they are databases beside the one it names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

GETS: Final = 5  # of one address in one round


@dataclass(frozen=True, slots=True)
class Page:
    """One address as one person asks for it."""

    who: str
    address: str


@dataclass(frozen=True, slots=True)
class Timed:
    """Medians of a page: its time, and as much of it as was the server's own work (the rest is waiting: for
    PostgreSQL, or for a processor that others use). Queries of one request; bytes, and runs listed, of one answer."""

    p50_ms: float
    work_ms: float
    queries: int
    bytes: int
    rows: int


class Desk:
    """A child process over the filled database of one size."""

    def __init__(self, runs: int) -> None:
        folder = Path(os.environ.get("FOOTPRINT_BENCH") or Path(tempfile.gettempdir()) / "footprint-bench")
        data = folder / f"{runs}-runs"
        data.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            "FOOTPRINT_DATA": str(data),
            "DJANGO_SETTINGS_MODULE": "footprint_site.settings",
        }
        if url := os.environ.get("DATABASE_URL"):
            environment["DATABASE_URL"] = _database_of_its_own(url, runs)
        self._child = subprocess.Popen(
            [sys.executable, "-m", "bench.reading", str(runs)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.runs = runs
        self.filled: dict[str, Any] = self._answer()

    def get(self, page: Page) -> Timed:
        """One round of it."""
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(asdict(page)) + "\n")
        self._child.stdin.flush()
        return Timed(**self._answer())

    def close(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait()

    def _answer(self) -> Any:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise SystemExit("The process of one size ended; what it wrote is above.")
        return json.loads(line)


def in_turns(asked: Sequence[tuple[Desk, Page]], rounds: int) -> list[Timed]:
    """Each page of each desk in turns, so many times; the medians of the rounds."""
    for desk, page in asked:
        desk.get(page)  # what is read for the first time is not what is measured
    told = [[desk.get(page) for desk, page in asked] for _ in range(rounds)]
    return [
        Timed(
            median(one.p50_ms for one in timed),
            median(one.work_ms for one in timed),
            max(one.queries for one in timed),
            timed[0].bytes,
            timed[0].rows,
        )
        for timed in zip(*told, strict=True)
    ]


def _database_of_its_own(url: str, runs: int) -> str:
    import psycopg

    parts = urlsplit(url)
    name = f"{parts.path.lstrip('/')}_{runs}_runs"
    with psycopg.connect(urlunsplit(parts._replace(path="/postgres")), autocommit=True) as server:
        if not server.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            server.execute(f'CREATE DATABASE "{name}"')
    return urlunsplit(parts._replace(path=f"/{name}"))


# -- the child -------------------------------------------------------------------------------------


def _serve(runs: int) -> None:
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    call_command("migrate", verbosity=0)
    print(json.dumps(_filled(runs)), flush=True)
    clients: dict[str, Client] = {}
    for line in sys.stdin:
        page = Page(**json.loads(line))
        if page.who not in clients:
            clients[page.who] = Client(headers={"host": "localhost"})
            clients[page.who].force_login(get_user_model().objects.get(username=page.who))
        client, took, worked = clients[page.who], [], []
        with CaptureQueriesContext(connection) as queries:
            response = client.get(page.address)
            asked = len(queries)  # before the next request empties the log
        if response.status_code not in (200, 204):
            raise SystemExit(f"{page.address} answered {response.status_code}")
        for _ in range(GETS):
            begun, work = time.perf_counter(), time.process_time()
            client.get(page.address)
            took.append((time.perf_counter() - begun) * 1_000)
            worked.append((time.process_time() - work) * 1_000)
        timed = Timed(
            median(took),
            median(worked),
            asked,
            len(response.content),
            response.content.count(b"data-live-row="),
        )
        print(json.dumps(asdict(timed)), flush=True)


def _filled(runs: int) -> dict[str, Any]:
    """What is in this process's database: filled now, or by an earlier bench."""
    from bench.fill import Filled, fill
    from bench.fill_large import find_large
    from runs.models import Project

    keys = dict(Project.objects.values_list("name", "key"))
    filled = Filled(keys["Large"], runs, find_large(), keys["Names"]) if keys else fill(runs)
    return asdict(filled)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
