"""Plain questions of the hot path. A batch asks some twenty of them, and an ORM query costs more to build than to run.

Statements are constant: a set of ids or words is one parameter whatever its size, so each statement is prepared once.
Nothing here opens a transaction or writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

import msgspec
from django.db import connection

from runs.store.rows import FLAGS, TABLES, Row

R = TypeVar("R", bound=Row)
Values = tuple[Any, ...]


def ask(statement: str, *parameters: Any) -> list[Values]:
    """The rows a SELECT gives, as plain values."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        found: list[Values] = cursor.fetchall()
        return found


def ask_rows(table: type[R], condition: str, *parameters: Any) -> list[R]:
    """The rows of `table` that fulfil `condition`."""
    found = ask(f"{_SELECT[table]} WHERE {condition}", *parameters)
    if connection.vendor == "sqlite":  # keeps a flag as 0 or 1
        flags = FLAGS[table]
        return [table(*(_flags_read(values, flags) if flags else values)) for values in found]
    return [table(*values) for values in found]


def among_ids(column: str) -> str:
    """The condition that `column` is one of the ids in the parameter `listed(ids)`."""
    return (
        f"{column} = ANY(%s::bigint[])" if _has_arrays() else f"{column} IN (SELECT value FROM json_each(%s))"
    )


def among_words(column: str) -> str:
    """The same for text."""
    return (
        f"{column} = ANY(%s::text[])" if _has_arrays() else f"{column} IN (SELECT value FROM json_each(%s))"
    )


def listed(values: Collection[int] | Collection[str]) -> object:
    """The parameter of `among_ids` and `among_words`."""
    return list(values) if _has_arrays() else msgspec.json.encode(list(values)).decode()


def locked(statement: str) -> str:
    """A SELECT that keeps its rows locked to the end of the transaction (on SQLite the whole database is)."""
    return f"{statement} FOR UPDATE" if connection.features.has_select_for_update else statement


def _has_arrays() -> bool:
    return connection.vendor == "postgresql"


_SELECT: dict[type[Row], str] = {
    table: f"SELECT {', '.join(table.columns())} FROM {table.table}" for table in TABLES
}


def _flags_read(values: Values, flags: Iterable[int]) -> list[Any]:
    read = list(values)
    for place in flags:
        if read[place] is not None:
            read[place] = bool(read[place])
    return read
