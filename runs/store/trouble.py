"""Which of a database's troubles pass by themselves, and what the log calls them."""

from __future__ import annotations

import sqlite3

from django.db import InterfaceError, OperationalError

# PostgreSQL's classes of trouble that pass: connection, resources, operator, rollback, not now, read only.
PASSING_SQLSTATES = ("08", "53", "57", "40", "55", "25")
# A statement that took longer than the database allows. What was too much in one transaction may fit in two, so the
# writer halves it like what is rejected; but one event alone is never refused for it, it comes again.
CANCELLED = "57014"
# SQLite's: locked by others, no memory, read only, interrupted, no disk, full, cannot be opened.
PASSING_SQLITE = frozenset(
    [
        *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOMEM),
        *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL),
        sqlite3.SQLITE_CANTOPEN,
    ]
)


def passes(problem: BaseException) -> bool:
    """Whether it is the database's trouble and not what was brought. What is not known to be is the events'."""
    cause = problem.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in PASSING_SQLITE
    state = state_of(problem)
    if state is None:  # psycopg itself: the connection broke
        return isinstance(problem, OperationalError | InterfaceError)
    return state.startswith(PASSING_SQLSTATES) and state != CANCELLED


def state_of(problem: BaseException) -> str | None:
    """PostgreSQL's code, where it gave one."""
    return getattr(problem.__cause__, "sqlstate", None)


def name_of(problem: BaseException) -> str:
    """Its type and the database's code, never its message."""
    code = getattr(problem.__cause__, "sqlite_errorname", None) or state_of(problem)
    return f"{type(problem).__name__}, {code}" if code else type(problem).__name__
