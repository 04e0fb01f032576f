"""Set-based writes of the hot path: what came in, and a book's touched rows. One statement a table, `executemany`.

Nothing here opens or closes a transaction: the caller holds the project's lock and commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection

from runs.store.book import Book
from runs.store.rows import TABLES, DeclaredNameRow, LegRow, Row, ViolationRow

# Rows that are appended once and never change again need no upsert.
APPEND_ONLY: frozenset[type[Row]] = frozenset([LegRow, ViolationRow, DeclaredNameRow])


def save_book(book: Book) -> None:
    """Write every touched row; rows keep their ids, so one statement inserts the new and updates the rest."""
    if book.removed:
        run_many("DELETE FROM runs_waiting WHERE id = %s", [(row.id,) for row in book.removed])
        book.removed.clear()
    for table in TABLES:
        touched = book.touched[table]
        if touched:
            run_many(UPSERTS[table], [row.values() for row in touched.values()])
            touched.clear()


FIXED = frozenset(["id", "project_id", "epoch"])


def _upsert(table: type[Row]) -> str:
    statement = _insert(table.table, table.columns())
    if table in APPEND_ONLY:
        return statement
    changed = ", ".join(f'"{name}" = excluded."{name}"' for name in table.columns() if name not in FIXED)
    return f"{statement} ON CONFLICT (id) DO UPDATE SET {changed}"


def _insert(table: str, columns: Sequence[str]) -> str:
    names = ", ".join(f'"{name}"' for name in columns)
    return f'INSERT INTO "{table}" ({names}) VALUES ({", ".join(["%s"] * len(columns))})'


UPSERTS = {table: _upsert(table) for table in TABLES}


def insert_rows(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Append rows to `table`; columns and values in the same order."""
    listed = list(rows)
    if listed:
        run_many(_insert(table, columns), listed)


def run_many(statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """The statement once a row, prepared once."""
    with connection.cursor() as cursor:
        cursor.executemany(statement, rows)
