"""What Django's layers cost on the way to the same table: an object a row, or plain rows through its cursor."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from bench.limits.events import COLUMNS, Row, batches
from bench.limits.raw_sqlite import TABLES

ALIAS = "bench_limit"
INSERT = f"INSERT INTO event ({', '.join(COLUMNS)}) VALUES ({', '.join(['%s'] * len(COLUMNS))})"
PROJECT = (
    "INSERT INTO projection VALUES (%s, %s, %s) "
    "ON CONFLICT (run) DO UPDATE SET version = excluded.version, events = events + excluded.events"
)


def rate(events: int, *, bulk_create: bool) -> float:
    """Events a second on SQLite in the mode our settings choose, WAL and FULL. Django has to be set up."""
    from django.db import connections, transaction

    listed = batches(events)
    model = _model() if bulk_create else None
    with tempfile.TemporaryDirectory(prefix="footprint-bench-") as folder:
        connections.settings[ALIAS] = {
            **connections.settings["default"],
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(Path(folder) / "limit.sqlite3"),
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
            },
        }
        try:
            with connections[ALIAS].cursor() as cursor:
                for statement in filter(str.strip, TABLES.split(";")):
                    cursor.execute(statement)
            began = time.perf_counter()
            for rows in listed:
                with transaction.atomic(using=ALIAS), connections[ALIAS].cursor() as cursor:
                    if model is not None:
                        model.objects.using(ALIAS).bulk_create(_objects(model, rows))
                    else:
                        cursor.executemany(INSERT, rows)
                    cursor.execute(PROJECT, (rows[-1][3], rows[-1][0], len(rows)))
            took = time.perf_counter() - began
        finally:
            connections[ALIAS].close()
            del connections[ALIAS], connections.settings[ALIAS]
    return events / took


def _objects(model: Any, rows: list[Row]) -> list[Any]:
    return [model(**dict(zip(COLUMNS, row, strict=True))) for row in rows]


def _model() -> Any:
    """The table as a Django model, made once."""
    from django.apps import apps
    from django.db import models

    if "event" in apps.all_models["bench"]:
        return apps.all_models["bench"]["event"]
    number = models.BigIntegerField
    fields = {
        "id": models.BigAutoField(primary_key=True),
        **{name: number() for name in ("stream", "seq", "run", "received_ms")},
        **{name: models.TextField() for name in ("type", "body")},
    }
    meta = type("Meta", (), {"app_label": "bench", "db_table": "event"})
    return type("Event", (models.Model,), {**fields, "Meta": meta, "__module__": __name__})
