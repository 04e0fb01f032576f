"""The same on PostgreSQL: psycopg with COPY or executemany, on the server of DATABASE_URL, in a schema of its own."""

from __future__ import annotations

import os
import time

from bench.limits.events import COLUMNS, batches
from bench.limits.raw_sqlite import TABLES

SCHEMA = f"footprint_bench_limit_{os.getpid()}"
COPY = f"COPY event ({', '.join(COLUMNS)}) FROM STDIN"
INSERT = f"INSERT INTO event ({', '.join(COLUMNS)}) VALUES ({', '.join(['%s'] * len(COLUMNS))})"
PROJECT = (
    "INSERT INTO projection VALUES (%s, %s, %s) ON CONFLICT (run) "
    "DO UPDATE SET version = excluded.version, events = projection.events + excluded.events"
)


def rate(events: int, *, copy: bool) -> float:
    """Events a second, each transaction committed for good."""
    import psycopg

    listed = batches(events)
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
        database.execute(f"CREATE SCHEMA {SCHEMA}")  # type: ignore[arg-type]
        try:
            database.execute(f"SET search_path TO {SCHEMA}")  # type: ignore[arg-type]
            database.execute(TABLES.replace("INTEGER", "BIGINT"))  # type: ignore[arg-type]
            began = time.perf_counter()
            for rows in listed:
                with database.transaction(), database.cursor() as cursor:
                    if copy:
                        with cursor.copy(COPY) as into:  # type: ignore[arg-type]
                            for row in rows:
                                into.write_row(row)
                    else:
                        cursor.executemany(INSERT, rows)  # type: ignore[arg-type]
                    cursor.execute(PROJECT, (rows[-1][3], rows[-1][0], len(rows)))  # type: ignore[arg-type]
            took = time.perf_counter() - began
        finally:
            database.execute(f"DROP SCHEMA {SCHEMA} CASCADE")  # type: ignore[arg-type]
    return events / took
