"""The database of a server that runs in a process of its own, seen from outside: `with server_database(folder) as it`.

SQLite in the folder that is the server's FOOTPRINT_DATA, or, where DATABASE_URL says so, a new PostgreSQL database.
It is asked over connections of this process, never over the server's.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from django.apps import apps
from django.db import connections
from django.db.models import Model

from runs.models import Project, Token
from runs.store.tokens import digest_of

_numbers = count(1)

# What an undisturbed run need not have in common with another one.
APART = {
    "Project": {"created_at", "words_version"},  # the latter counts commits that changed words
    "Stream": {"id", "epoch", "repeated"},  # of connections, and how often something was sent again
    "Text": {"id"},
}
LEFT_OUT = frozenset(["Token", "Membership", "DisplayName"])  # people's own rows


@dataclass
class ServerDatabase:
    alias: str
    data: Path
    environment: dict[str, str]

    @property
    def is_sqlite(self) -> bool:
        return connections[self.alias].vendor == "sqlite"

    def make_project(self, secret: str, token: str) -> int:
        """A project with this secret and one ingest token; the same ids in every database that starts empty."""
        with self.asked():
            project = Project.objects.using(self.alias).create(
                name="Northwind", secret=secret, key=secret[:12]
            )
            Token.objects.using(self.alias).create(project=project, digest=digest_of(token), hint=token[:8])
        return project.pk

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Connected for a moment: a server that starts afterwards finds the files as the last one left them."""
        try:
            yield
        finally:
            connections[self.alias].close()

    def rows(self, model: type[Model], *columns: str, **filters: Any) -> list[tuple[Any, ...]]:
        with self.asked():
            return list(
                model._default_manager.using(self.alias)
                .filter(**filters)
                .order_by("pk")
                .values_list(*columns)
            )

    def is_being_written(self) -> bool:
        """Whether a transaction that writes is open in the server at this moment."""
        if self.is_sqlite:
            probe = sqlite3.connect(self._path(), timeout=0, isolation_level=None)
            try:
                probe.execute("BEGIN IMMEDIATE")
                probe.execute("ROLLBACK")
            except sqlite3.OperationalError as problem:
                if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                return True
            finally:
                probe.close()
            return False
        with self.asked(), connections[self.alias].cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND backend_xid IS NOT NULL"
            )
            return bool(cursor.fetchone()[0])

    def whole(self) -> dict[str, list[dict[str, Any]]]:
        """Every row of every table but people's own, times of receipt left out, streams told by their names.

        Ids and positions are told as they are: they are drawn in the order of the fold, so they are part of the record.
        """
        with self.asked():
            told = {}
            streams: dict[int, str] = {}
            models = [m for m in apps.get_app_config("runs").get_models() if m.__name__ not in LEFT_OUT]
            for model in sorted(models, key=lambda m: m.__name__ != "Stream"):
                rows = list(model._default_manager.using(self.alias).values())
                if model.__name__ == "Stream":
                    streams = {row["id"]: row["name"] for row in rows}
                told[model.__name__] = sorted(
                    (_told(row, APART.get(model.__name__, set()), streams) for row in rows), key=str
                )
            return told

    def problems(self) -> list[Any]:
        """What the database itself finds wrong with its files."""
        if not self.is_sqlite:
            return []
        with self.asked(), connections[self.alias].cursor() as cursor:
            found = [row for row in cursor.execute("PRAGMA integrity_check").fetchall() if row != ("ok",)]
            return found + cursor.execute("PRAGMA foreign_key_check").fetchall()

    def _path(self) -> str:
        return str(connections[self.alias].settings_dict["NAME"])


def _told(row: dict[str, Any], apart: set[str], streams: dict[int, str]) -> dict[str, Any]:
    return {
        name: streams[value] if name == "stream_id" and value is not None else value
        for name, value in row.items()
        if name not in apart and not _is_received(name)
    }


def _is_received(name: str) -> bool:
    return name.endswith("_ms") and not name.endswith("_clock_ms") and name != "duration_ms"


@contextmanager
def server_database(data: Path, url: str | None = None) -> Iterator[ServerDatabase]:
    """A new database, deleted in the end. The server it belongs to brings it up to date when it starts.

    `url`: a PostgreSQL other than the tests' own; the server may be reached by another address than we are (`url`).
    """
    alias = f"server_{os.getpid()}_{next(_numbers)}"
    own = os.environ.get("DATABASE_URL", "")
    on_server = (url or own).startswith("postgres")
    name = f"footprint_{alias}" if on_server else str(data / "footprint.sqlite3")
    connections.settings[alias] = {**connections.settings["default"], "NAME": name}
    if url is not None:
        parsed = dj_database_url.parse(url, conn_max_age=None)
        connections.settings[alias] |= {**parsed, "NAME": name, "OPTIONS": {}}
    url = url or own
    try:
        if on_server:
            _administer(url, f'CREATE DATABASE "{name}"')
        yield ServerDatabase(
            alias,
            data,
            {"DATABASE_URL": urlsplit(url)._replace(path="/" + name).geturl()} if on_server else {},
        )
    finally:
        connections[alias].close()
        del connections[alias], connections.settings[alias]
        if on_server:
            _administer(url, f'DROP DATABASE "{name}" WITH (FORCE)')


def on_postgres() -> bool:
    """Whether the tests were told to use PostgreSQL."""
    return os.environ.get("DATABASE_URL", "").startswith("postgres")


def _administer(url: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(urlsplit(url)._replace(path="/postgres").geturl(), autocommit=True) as connection:
        connection.execute(statement)
