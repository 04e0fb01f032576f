"""A copy of a SQLite database while its server writes, and its way back. For `manage.py backup` and `restore`.

A backup is SQLite's online copy in one step: it sees one moment of the database, and in WAL mode nobody waits for it.
Everything acknowledged before it began is in it, since an acknowledgement follows its commit.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

COUNTED: Final = {
    "projects": "runs_project",
    "streams": "runs_stream",
    "runs": "runs_run",
    "events": "runs_keptevent",
    "texts": "runs_text",
}


class Refused(Exception):
    """The sentence to show: what was not done, and why."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a database holds: rows by what they are called, and the migrations it has seen."""

    counts: dict[str, int]
    migrations: frozenset[tuple[str, str]]

    def __str__(self) -> str:
        return ", ".join(
            f"{count:,} {what if count != 1 else what[:-1]}" for what, count in self.counts.items()
        )


def back_up(database: Path, file: Path) -> Contents:
    """Copy the database to `file`, which must not exist; it is there only once it is whole and checked."""
    if file.exists():
        raise Refused(f"{file} exists. Choose another name, or move it away.")
    if not file.parent.is_dir():
        raise Refused(f"{file.parent} is no folder.")
    if not database.exists():
        raise Refused(f"There is no database at {database}.")
    draft = file.with_name(f"{file.name}.part")
    # For this user alone before anything is in it: it holds what people asked.
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    try:
        with _opened(database, read_only=True) as source, _opened(draft) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, nothing beside it
        contents = check(draft)
        _sync(draft)
        os.link(draft, file)  # fails where somebody was faster
    except FileExistsError:
        raise Refused(f"{file} exists. Choose another name, or move it away.") from None
    except sqlite3.Error as problem:
        raise Refused(f"The backup could not be made: {problem}.") from None
    finally:
        draft.unlink(missing_ok=True)
    return contents


def check(file: Path) -> Contents:
    """What is in a whole Footprint database; refuses anything else."""
    try:
        with _opened(file, read_only=True) as copy:
            found = copy.execute("PRAGMA quick_check(1)").fetchone()
            if found != ("ok",):
                raise Refused(f"{file} is damaged: SQLite's quick_check found a fault.")
            counts = {
                what: copy.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
                for what, table in COUNTED.items()
            }
            migrations = frozenset(copy.execute("SELECT app, name FROM django_migrations").fetchall())
    except sqlite3.Error:
        raise Refused(f"{file} is not a Footprint database, or not a whole one.") from None
    return Contents(counts, migrations)


def restore(file: Path, database: Path, aside: Path) -> None:
    """Put what `file` holds in the place of the database, and what was there before into `aside`.

    The database is held alone from before it is copied aside until what takes its place is committed; refused while
    a server, or anybody else, has it open.
    """
    with _opened(file, read_only=True) as source:
        if not database.exists():
            os.close(os.open(database, os.O_WRONLY | os.O_CREAT, 0o600))
        with _opened(database) as target:
            _hold_alone(target, database)
            if target.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                with _opened(aside) as before:
                    target.backup(before)
                _sync(aside)
            source.backup(target)


def _hold_alone(database: sqlite3.Connection, path: Path) -> None:
    """Take the database for this connection alone until it closes."""
    try:
        database.execute("PRAGMA locking_mode=EXCLUSIVE")
        database.execute(
            "PRAGMA journal_mode=DELETE"
        )  # fails while any other connection is open, idle ones too
        database.execute("BEGIN EXCLUSIVE")
        database.execute("COMMIT")
    except sqlite3.OperationalError:
        raise Refused(f"{path} is in use. Stop the server (and whatever else has it open) first.") from None


@contextmanager
def _opened(path: Path, *, read_only: bool = False) -> Iterator[sqlite3.Connection]:
    address = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    with closing(sqlite3.connect(address, uri=True, timeout=0 if not read_only else 10)) as connection:
        connection.isolation_level = None
        yield connection


def _sync(path: Path) -> None:
    """On the disk, its name included."""
    for place, how in ((path, os.O_RDWR), (path.parent, os.O_RDONLY)):
        handle = os.open(place, how)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
