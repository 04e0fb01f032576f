"""The limit of storing: Python's own sqlite3, WAL, a hundred events and one projection row a transaction."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from pathlib import Path

from bench.limits.events import COLUMNS, batches

TABLES = """
CREATE TABLE event (
    id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, seq INTEGER NOT NULL, run INTEGER NOT NULL,
    type TEXT NOT NULL, received_ms INTEGER NOT NULL, body TEXT NOT NULL
);
CREATE UNIQUE INDEX event_seq ON event (stream, seq);
CREATE INDEX event_run ON event (run, id);
CREATE TABLE projection (run INTEGER PRIMARY KEY, version INTEGER NOT NULL, events INTEGER NOT NULL);
"""
INSERT = f"INSERT INTO event ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
PROJECT = (
    "INSERT INTO projection VALUES (?, ?, ?) "
    "ON CONFLICT (run) DO UPDATE SET version = excluded.version, events = events + excluded.events"
)


def rate(events: int, synchronous: str) -> float:
    """Events a second; `synchronous` FULL waits for the disk at each commit, NORMAL does not."""
    listed = batches(events)
    with tempfile.TemporaryDirectory(prefix="footprint-bench-") as folder:
        database = sqlite3.connect(Path(folder) / "limit.sqlite3", isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute(f"PRAGMA synchronous={synchronous}")
        database.executescript(TABLES)
        began = time.perf_counter()
        for rows in listed:
            database.execute("BEGIN IMMEDIATE")
            database.executemany(INSERT, rows)
            database.execute(PROJECT, (rows[-1][3], rows[-1][0], len(rows)))
            database.execute("COMMIT")
        took = time.perf_counter() - began
        database.close()
    return events / took
