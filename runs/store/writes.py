"""Set-based writes of the hot path: what came in, and a book's touched rows. One statement a table, new rows appended.

On SQLite that is `executemany`. PostgreSQL takes new rows by COPY and changed ones as one JSON text: one statement and
one answer for the whole batch, where a statement a row costs it more than the row. Nothing here opens or closes a
transaction: the caller holds the project's lock and commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import msgspec
from django.db import connection

from runs.store.book import Book
from runs.store.rows import TABLES, Row

Values = Sequence[Any]
FIXED = frozenset(["id", "project_id", "epoch"])  # what a row keeps for good


def save_book(book: Book) -> None:
    """Write every touched row: those that this book made are new, the others were loaded and have changed."""
    if book.removed:
        run_many("DELETE FROM runs_waiting WHERE id = %s", [(row.id,) for row in book.removed])
        book.removed.clear()
    for table in TABLES:
        touched = book.touched[table]
        new: list[Row] = []
        changed: list[Row] = []
        for row in touched.values():
            (new if book.is_new(row) else changed).append(row)
        insert_rows(table.table, table.columns(), [row.values() for row in new])
        if changed:
            _update(table, changed)
        touched.clear()


def insert_rows(table: str, columns: Sequence[str], rows: Iterable[Values]) -> None:
    """Append rows to `table`; columns and values in the same order."""
    listed = list(rows)
    if not listed:
        return
    names = _quoted(columns)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor, cursor.copy(f'COPY "{table}" ({names}) FROM STDIN') as copy:
            for values in listed:
                copy.write_row(values)
        return
    run_many(f'INSERT INTO "{table}" ({names}) VALUES ({", ".join(["%s"] * len(columns))})', listed)


def run_many(statement: str, rows: Sequence[Values]) -> None:
    """The statement once a row, prepared once."""
    with connection.cursor() as cursor:
        cursor.executemany(statement, rows)


def _update(table: type[Row], changed: Sequence[Row]) -> None:
    if connection.vendor == "postgresql":
        told = msgspec.json.encode([dict(zip(table.columns(), row.values(), strict=True)) for row in changed])
        with connection.cursor() as cursor:
            cursor.execute(UPDATE_FROM_JSON[table], [told.decode()])
        return
    run_many(UPDATE[table], [(*row.values()[len(FIXED) :], row.id) for row in changed])


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _changing(table: type[Row]) -> list[str]:
    assert set(table.columns()[: len(FIXED)]) == FIXED
    return list(table.columns()[len(FIXED) :])


def _type(annotation: str) -> str:
    """The type in PostgreSQL of a row's field, which JSON text is read as."""
    name = annotation.removesuffix(" | None")
    return {"int": "bigint", "str": "text", "bool": "boolean", "float": "double precision"}[name]


UPDATE = {
    table: f'UPDATE "{table.table}" SET '
    + ", ".join(f'"{name}" = %s' for name in _changing(table))
    + " WHERE id = %s"
    for table in TABLES
}
UPDATE_FROM_JSON = {
    table: f'UPDATE "{table.table}" AS t SET '
    + ", ".join(f'"{name}" = v."{name}"' for name in _changing(table))
    + " FROM json_to_recordset(%s::json) AS v("
    + ", ".join(
        f'"{field.name}" {_type(str(field.type))}' for field in fields(table) if field.name != "table"
    )
    + ") WHERE t.id = v.id"
    for table in TABLES
}
