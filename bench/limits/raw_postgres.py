"""The same on PostgreSQL: psycopg with COPY or executemany, on the server of DATABASE_URL, in a schema of its own."""

from __future__ import annotations

import os
import time
from urllib.parse import urlsplit

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
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path="/postgres").geturl()
    with psycopg.connect(url, autocommit=True) as database:
        database.execute(f"CREATE SCHEMA {SCHEMA}")
        try:
            database.execute(f"SET search_path TO {SCHEMA}")
            database.execute(TABLES.replace("INTEGER", "BIGINT"))
            began = time.perf_counter()
            for rows in listed:
                with database.transaction(), database.cursor() as cursor:
                    if copy:
                        with cursor.copy(COPY) as into:
                            for row in rows:
                                into.write_row(row)
                    else:
                        cursor.executemany(INSERT, rows)
                    cursor.execute(PROJECT, (rows[-1][3], rows[-1][0], len(rows)))
            took = time.perf_counter() - began
        finally:
            database.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
    return events / took
