"""A real server for a bench, in a process of its own on data of its own, and what it costs the machine."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from tests.server_database import ServerDatabase
    from tests.server_process import ServerProcess

DATABASES = ("sqlite", "postgres")


@dataclass
class Use:
    """What the server's processes have used so far: processor seconds, and bytes of memory now."""

    cpu_s: float
    rss: int

    @property
    def rss_mb(self) -> float:
        return self.rss / 1e6


@dataclass
class BenchServer:
    process: ServerProcess
    database: ServerDatabase
    project_id: int
    token: str

    @property
    def websocket_url(self) -> str:
        return self.process.websocket_url + "/ws/ingest/"

    def use(self) -> Use:
        """Of the process and all it started."""
        first = psutil.Process(self.process.pid)
        cpu, rss = 0.0, 0
        for one in (first, *first.children(recursive=True)):
            with one.oneshot():
                times = one.cpu_times()
                cpu += times.user + times.system
                rss += one.memory_info().rss
        return Use(cpu, rss)

    def count(self, model: str, **filters: Any) -> int:
        """Rows of one table of the record."""
        from django.apps import apps

        table = apps.get_model("runs", model)
        with self.database.asked():
            return int(table._default_manager.using(self.database.alias).filter(**filters).count())


@contextmanager
def bench_server(
    *arguments: str,
    database: str = "sqlite",
    processes: int = 1,
    data: Path | None = None,
    environment: dict[str, str] | None = None,
) -> Iterator[BenchServer]:
    """Started with `serve` on an empty database of its own, with a project and a token; gone in the end.

    PostgreSQL: the server of DATABASE_URL gets a database for the time being. More than one process needs REDIS_URL.
    """
    from tests.server_database import server_database
    from tests.server_process import server_process

    if database == "postgres" and not os.environ.get("DATABASE_URL", "").startswith("postgres"):
        raise SystemExit(
            "--database postgres needs DATABASE_URL=postgres://... of a server that may make databases"
        )
    more = dict(environment or {})
    if processes > 1:
        arguments = (*arguments, "--processes", str(processes))
        if "REDIS_URL" in os.environ:
            more["REDIS_URL"] = os.environ["REDIS_URL"]
    with tempfile.TemporaryDirectory(prefix="footprint-bench-") as folder:
        place = data or Path(folder)
        with _database_of(database), server_database(place) as base:
            started = server_process(
                "serve", "--port", "0", *arguments, data=place, environment=base.environment | more
            )
            with started as process:
                assert process.url  # the database is there by then
                token = "fp_" + secrets.token_urlsafe(32)
                project = base.make_project(secrets.token_hex(32), token)
                yield BenchServer(process, base, project, token)


@contextmanager
def _database_of(kind: str) -> Iterator[None]:
    """tests.server_database goes by DATABASE_URL: without it, SQLite."""
    url = os.environ.get("DATABASE_URL")
    if kind == "sqlite":
        os.environ.pop("DATABASE_URL", None)
    try:
        yield
    finally:
        if url is not None:
            os.environ["DATABASE_URL"] = url
