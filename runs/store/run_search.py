"""Which runs a filter finds, newest first, with work that does not grow with the number of runs.

Three of a filter's parts have an index in the list's order: a session, a tool that was called, and everything that
is yes or no of a run, which the database keeps in one word, its *facets* (`models.Run.facets`). A project has a few
hundred different facets. They are found by leaping through the index; each one that fits is asked for its newest
runs, and the newest of all these are the page: exact for any combination, and no run is read that does not fit.

Where two or three of these parts meet, the one with the fewest runs is followed and the others are looked up, run
by run. How few is counted up to `FEW`; above that, the runs of a session or a tool are followed from the newest on.

Times are turned into places: received times follow positions, but for what servers' clocks differ (`CLOCKS_MS`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from runs.models import FACETS
from runs.store.people import ProjectRow

FEW: Final = 5_000
CLOCKS_MS: Final = 60_000
"""A filter by time may miss a run whose time is out of the order of positions by more than this: a clock set back."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What a list is narrowed to; what is empty does not narrow. All parts combine. Times are UTC milliseconds."""

    ending: str = ""
    failed: bool = False
    incomplete: bool = False
    session: str = ""  # the keyed hash
    since_ms: int | None = None
    until_ms: int | None = None
    missed: bool = False
    skipped: str = ""
    violation: bool = False
    tool: str = ""  # registered name

    @property
    def by_facets(self) -> bool:
        return bool(
            self.ending or self.failed or self.incomplete or self.missed or self.skipped or self.violation
        )

    def fits(self, facets: str) -> bool:
        """Whether runs with these facets are wanted."""
        ending, letters, skipped = facets.split("|")
        wanted = {"f": self.failed, "i": self.incomplete, "m": self.missed, "v": self.violation}
        return (
            (not self.ending or ending == self.ending)
            and all(letter in letters for letter in FACETS if wanted[letter])
            and (not self.skipped or self.skipped in skipped.split(","))
        )


@dataclass(frozen=True, slots=True)
class _Search:
    """One filter in SQL. What is looked up run by run is an expression (`|| ''`, `+ 0`), so that it picks no index."""

    project: ProjectRow
    wanted: RunFilter
    facets: Sequence[str] | None  # those that fit; None: any
    low: int  # positions between these two, both left out
    high: int
    upwards: bool

    def ids(self, size: int) -> list[int]:
        return [row[0] for row in _ask(*self._followed()(size))]

    # -- which part is followed --

    def _followed(self) -> Callable[[int], tuple[str, list[Any]]]:
        parts = {
            "tool": (bool(self.wanted.tool), self._of_tool, self._calls(), "ORDER BY c.run_position"),
            "session": (
                bool(self.wanted.session),
                self._of_session,
                self._sessions(),
                "ORDER BY r.first_position",
            ),
            "facets": (self.facets is not None, self._of_facets, self._facets_among(), ""),
        }
        there = [
            (follow, (f"{sql} {order}", values))
            for wanted, follow, (sql, values), order in parts.values()
            if wanted
        ]
        if not there:
            return self._of_all
        if len(there) == 1:
            return there[0][0]
        columns = ", ".join(
            f"(SELECT count(*) FROM (SELECT 1 {sql} LIMIT {FEW}) few)" for _, (sql, _) in there
        )
        counts = _ask(f"SELECT {columns}", [value for _, (_, values) in there for value in values])[0]
        # Of several that are many, the first: a tool's or a session's runs come in order, facets' have to be merged.
        return there[counts.index(min(counts))][0]

    def _of_all(self, size: int) -> tuple[str, list[Any]]:
        where, values = self._also()
        return (
            f"SELECT r.id FROM runs_run r WHERE {_LISTED} AND {_BETWEEN}{where} "
            f"ORDER BY r.first_position {self._order} LIMIT {size}",
            [*self._here, self.low, self.high, *values],
        )

    def _of_session(self, size: int) -> tuple[str, list[Any]]:
        sql, values = self._sessions()
        where, more = self._also("session")
        return f"SELECT r.id {sql}{where} ORDER BY r.first_position {self._order} LIMIT {size}", [
            *values,
            *more,
        ]

    def _of_tool(self, size: int) -> tuple[str, list[Any]]:
        """A run stands in the index once a call: they are grouped as they come."""
        where, more = self._also("tool")
        # `+ 0`: the run is found by its place, not by the range of places that the calls are in.
        run = f"runs_run r WHERE {_LISTED} AND r.first_position = c.run_position + 0{where}"
        joined = f"LATERAL (SELECT r.id FROM {run} LIMIT 1) r WHERE" if _has_lateral() else f"{run} AND"
        return (
            f"SELECT min(r.id) FROM runs_toolcall c CROSS JOIN {joined} {_CALLED} "
            f"GROUP BY c.run_position ORDER BY c.run_position {self._order} LIMIT {size}",
            [*self._here, *more, *self._here, self.wanted.tool, self.low, self.high],
        )

    def _of_facets(self, size: int) -> tuple[str, list[Any]]:
        """The newest of each, and the newest of these."""
        where, more = self._also("facets")
        kinds = ", ".join(["(%s)"] * len(self.facets or ()))
        newest = (
            f"SELECT r.id, r.first_position FROM runs_run r WHERE {_LISTED} AND r.facets = kinds.facets "
            f"AND {_BETWEEN}{where} ORDER BY r.first_position {self._order} LIMIT {size}"
        )
        joined = (
            f"LATERAL ({newest}) found"
            if _has_lateral()
            else f"runs_run found WHERE found.id IN (SELECT id FROM ({newest}))"
        )
        return (
            f"WITH kinds(facets) AS (VALUES {kinds}) SELECT found.id FROM kinds CROSS JOIN {joined} "
            f"ORDER BY found.first_position {self._order} LIMIT {size}",
            [*(self.facets or ()), *self._here, self.low, self.high, *more],
        )

    # -- the parts, each with its index --

    def _sessions(self) -> tuple[str, list[Any]]:
        return (
            f"FROM runs_run r WHERE {_LISTED} AND r.session_slug = %s AND {_BETWEEN}",
            [*self._here, self.wanted.session, self.low, self.high],
        )

    def _facets_among(self) -> tuple[str, list[Any]]:
        return (
            f"FROM runs_run r WHERE {_LISTED} AND r.facets IN ({_places_for(self.facets or ())}) AND {_BETWEEN}",
            [*self._here, *(self.facets or ()), self.low, self.high],
        )

    def _calls(self) -> tuple[str, list[Any]]:
        return f"FROM runs_toolcall c WHERE {_CALLED}", [*self._here, self.wanted.tool, self.low, self.high]

    def _also(self, followed: str = "") -> tuple[str, list[Any]]:
        """What else has to be true of a run that was found."""
        wanted = self.wanted
        sql, values = "", list[Any]()
        if wanted.since_ms is not None:
            sql, values = f"{sql} AND r.opened_ms + 0 >= %s", [*values, wanted.since_ms]
        if wanted.until_ms is not None:
            sql, values = f"{sql} AND r.opened_ms + 0 < %s", [*values, wanted.until_ms]
        if wanted.session and followed != "session":
            sql, values = f"{sql} AND r.session_slug || '' = %s", [*values, wanted.session]
        if self.facets is not None and followed != "facets":
            sql = f"{sql} AND r.facets || '' IN ({_places_for(self.facets)})"
            values += self.facets
        if wanted.tool and followed != "tool":
            # A scalar, since an EXISTS may be made a join, which gathers all calls of the tool first.
            sql += (
                " AND (SELECT 1 FROM runs_toolcall c WHERE c.project_id = %s AND c.epoch = %s AND c.tool = %s "
                "AND c.run_position = r.first_position LIMIT 1) = 1"
            )
            values += [*self._here, wanted.tool]
        return sql, values

    @property
    def _here(self) -> tuple[int, int]:
        return self.project.id, self.project.epoch

    @property
    def _order(self) -> str:
        return "ASC" if self.upwards else "DESC"


_LISTED: Final = "r.project_id = %s AND r.epoch = %s AND r.leg_of IS NULL"
_BETWEEN: Final = "r.first_position > %s AND r.first_position < %s"
_CALLED: Final = (
    "c.project_id = %s AND c.epoch = %s AND c.tool = %s AND c.run_position > %s AND c.run_position < %s"
)
_END: Final = 1 << 62


def run_ids(
    project: ProjectRow, wanted: RunFilter, size: int, *, before: int | None = None, after: int | None = None
) -> list[int]:
    """The ids of at most `size` runs: the newest ones older than position `before`, or those next after `after`.

    Newest first; after `after`, oldest first. Legs are no runs of the list. At most four queries.
    """
    low, high = _places(project, wanted)
    low, high = max(low, -1 if after is None else after), min(high, _END if before is None else before)
    facets = _facets(project, wanted) if wanted.by_facets else None
    if facets == [] or low >= high:
        return []
    return _Search(project, wanted, facets, low, high, after is not None).ids(size)


def _places(project: ProjectRow, wanted: RunFilter) -> tuple[int, int]:
    """The positions before and after all runs between the filter's times."""
    low, high = -1, _END
    if wanted.since_ms is not None:
        found = _at(project, ">=", wanted.since_ms - CLOCKS_MS, "ASC")
        low = _END if found is None else found - 1
    if wanted.until_ms is not None:
        found = _at(project, "<", wanted.until_ms + CLOCKS_MS, "DESC")
        high = -1 if found is None else found + 1
    return low, high


def _at(project: ProjectRow, than: str, ms: int, order: str) -> int | None:
    found = _ask(
        f"SELECT first_position FROM runs_run WHERE project_id = %s AND epoch = %s AND opened_ms {than} %s "
        f"ORDER BY opened_ms {order}, first_position {order} LIMIT 1",
        [project.id, project.epoch, ms],
    )
    return found[0][0] if found else None


def _facets(project: ProjectRow, wanted: RunFilter) -> list[str]:
    """Those of the project's facets that fit: from each in the index, the next is one step."""
    here = [project.id, project.epoch]
    found = _ask(
        f"WITH RECURSIVE kinds(facets) AS (SELECT min(r.facets) FROM runs_run r WHERE {_LISTED} UNION ALL "
        f"SELECT (SELECT min(r.facets) FROM runs_run r WHERE {_LISTED} AND r.facets > kinds.facets) FROM kinds "
        "WHERE kinds.facets IS NOT NULL) SELECT facets FROM kinds WHERE facets IS NOT NULL",
        [*here, *here],
    )
    return [facets for (facets,) in found if wanted.fits(facets)]


def _has_lateral() -> bool:
    """PostgreSQL follows an index row by row where it is told to with LATERAL and LIMIT; SQLite does without."""
    return connection.vendor == "postgresql"


def _places_for(values: Sequence[object]) -> str:
    return ", ".join(["%s"] * len(values))


def _ask(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())
