"""A large project for the benches of the pages, made with a handful of set-based statements on either database.

    FOOTPRINT_DATA=/tmp/large python -m bench.fill 1000000

One project, so many runs over half a year, and what hangs on them: answers, legs, calls, questions, spawns,
violations, names. Every filter of the list has common and rare values (`ENDINGS` to `TOOLS` say how rare). Which run
has what is arithmetic on its number, so two fills of one size are the same. A few large answers and runs come last.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any, Final

import django

from bench.fill_large import Large, write_large

BEGAN_MS: Final = 1_780_000_000_000
HALF_A_YEAR_MS: Final = 182 * 24 * 3_600_000
POSITIONS_A_RUN: Final = 40
ROWS_A_RUN: Final = 16

# Shares are of 10,000 runs.
ENDINGS: Final = {
    "answered": 8_600, "stopped-early": 400, "failed": 400, "unknown": 250, "silent": 150, "asked": 100, "halted": 50,
    "refused": 45, "running": 5,
}  # fmt: skip
SKIPS: Final = {"": 7_000, "too-few": 2_600, "after-miss,too-few": 300, "after-miss": 90, "unavailable": 10}
FAILED, INCOMPLETE, MISSED, VIOLATION, SPAWN, RETRY, LEG = 1_200, 500, 200, 30, 300, 100, 200
TOOLS: Final = {
    "search_orders": 6_000,
    "read_order": 3_000,
    "send_mail": 890,
    "refund": 100,
    "purge": 9,
    "audit": 1,
}
CALLS_A_RUN: Final = 3
BUSY_SESSION: Final = 500  # of 10,000 runs, in one session; half of the others are in sessions of four
SEEN_NAMES: Final = 200  # registered names beside the tools that are called
MANY_NAMES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Filled:
    """Where the benches look: the project's key and the slugs of the large ones (`fill_large.py`)."""

    key: str
    runs: int
    large: Large
    names_key: str  # of the project "Names", which has one run and `MANY_NAMES` registered names with words


def fill(runs: int) -> Filled:
    """Makes the project "Large" with its people (omar operates, rhea reads, ada administers) in a migrated database."""
    from django.contrib.auth import get_user_model
    from django.db import connection

    from runs import models

    project, names = (models.Project.objects.create(name=name) for name in ("Large", "Names"))
    for name, role in (("omar", "operator"), ("rhea", "reader"), ("ada", "admin")):
        user = get_user_model().objects.create_user(name)
        for one in (project, names):
            models.Membership.objects.create(project=one, user=user, role=role)
    stream, other = (
        models.Stream.objects.create(project=one, name="one", instance="one") for one in (project, names)
    )
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA synchronous=OFF")
        with _indexes_made_afterwards():
            _many_runs(cursor, project.pk, stream.pk, runs)
            _many_names(cursor, project.pk, stream.pk, SEEN_NAMES)
            _many_runs(cursor, names.pk, other.pk, 1)
            _many_names(cursor, names.pk, other.pk, MANY_NAMES)
        large = write_large(
            project, stream, (runs + 5) * ROWS_A_RUN, (runs + 5) * POSITIONS_A_RUN, BEGAN_MS + HALF_A_YEAR_MS
        )
        models.Project.objects.filter(pk=project.pk).update(
            position=(runs + 10) * POSITIONS_A_RUN + 1_000_000,
            row_number=(runs + 10) * ROWS_A_RUN + 1_000_000,
        )
        if connection.vendor == "postgresql":
            cursor.execute("VACUUM ANALYZE")  # autovacuum would; on SQLite the product keeps no statistics
    return Filled(project.key, runs, large, names.key)


# -- many runs, one statement a table ------------------------------------------------------------


def _many_runs(cursor: Any, project: int, stream: int, runs: int) -> None:
    from runs import models

    base = project << models.ID_BITS
    whole = {"project_id": project, "epoch": 1, "stream_id": stream}
    began = f"({BEGAN_MS} + n * {max(1, HALF_A_YEAR_MS // runs)})"
    first = f"(n * {POSITIONS_A_RUN})"
    ending = _drawn(1, ENDINGS)
    ended = f"({ending} NOT IN ('running', 'asked', 'silent'))"
    failed = f"(CASE WHEN {ending} = 'failed' OR {_chance(2, FAILED)} THEN 1 ELSE 0 END)"
    incomplete = f"(CASE WHEN {ended} AND {_chance(3, INCOMPLETE)} THEN 1 ELSE 0 END)"
    run_id = f"({base} + n * {ROWS_A_RUN})"
    answer_id = f"({run_id} + 1)"
    is_leg = f"(n > 10 AND {_chance(8, LEG)})"
    session = (
        f"(CASE WHEN {_chance(9, BUSY_SESSION)} THEN 'busy' WHEN n % 2 = 0 THEN 's' || (n / 8) ELSE '' END)"
    )
    times = {"opened_ms": began, "last_ms": f"{began} + 4000", "opened_clock_ms": began}

    def rows(model: Any, of: dict[str, Any], where: str = "1 = 1") -> None:
        _insert(cursor, model, of, where, runs)

    rows(
        models.Run,
        whole | times | {
            "id": run_id, "name": "'run-' || n", "slug": "'r' || n", "session": session, "session_slug": session,
            "agent": f"'agent-' || ({_hash(4)} % 12)", "provider": "'anthropic'", "model": "'claude'",
            "begun": "'turn'", "finished": ended, "leg_of": f"(CASE WHEN {is_leg} THEN {answer_id} - {ROWS_A_RUN} END)",
            "retry_of": f"(CASE WHEN n > 1 AND {_chance(10, RETRY)} THEN {run_id} - {ROWS_A_RUN} END)",
            "ending": ending, "answers": 1, "calls": CALLS_A_RUN, "failed_calls": failed, "incomplete": incomplete,
            "missed": f"(CASE WHEN {_chance(5, MISSED)} THEN 1 ELSE 0 END)",
            "violations": f"(CASE WHEN {_chance(6, VIOLATION)} THEN 1 ELSE 0 END)", "skipped": _drawn(7, SKIPS),
            "first_position": first, "version": f"{first} + 33", "last_clock_ms": f"{began} + 4000",
            "ended_ms": f"{began} + 4000", "llm_seen": 3,
        },
    )  # fmt: skip
    rows(
        models.Answer,
        whole | times | {
            "id": answer_id, "run_id": run_id, "slug": "'a' || n", "session": session, "ending": ending,
            "complete": f"({ended} AND {incomplete} = 0)", "current_run": run_id, "question_at": f"{first} + 1",
            "calls": CALLS_A_RUN, "started": CALLS_A_RUN, "worked": f"{CALLS_A_RUN} - {failed}", "failed": failed,
            "opened_position": f"{first} + 1", "version": f"{first} + 33", "ended_ms": f"{began} + 4000",
            "ended_clock_ms": f"{began} + 4000", "duration_ms": 4000, "llm_calls": 3,
        },
        f"NOT {is_leg}",
    )  # fmt: skip
    rows(
        models.Leg,
        whole | {"id": f"{run_id} + 2", "answer_id": answer_id, "run_id": run_id, "number": 1},
        f"NOT {is_leg}",
    )
    for call in range(1, CALLS_A_RUN + 1):
        error = f"({failed} = 1)" if call == 1 else "(1 = 0)"
        rows(
            models.ToolCall,
            whole | {
                "id": f"{run_id} + {2 + call}", "answer_id": answer_id, "run_id": run_id, "run_position": first,
                "number": call, "tool": _drawn(10 + call, TOOLS), "call_id": f"'call-' || n || '-{call}'",
                "state": "'closed'", "outcome": f"(CASE WHEN {error} THEN 'error' ELSE 'ok' END)",
                "version": f"{first} + {4 + 2 * call}", "opened_position": f"{first} + {3 + 2 * call}",
                "closed_position": f"{first} + {4 + 2 * call}", "opened_ms": f"{began} + {call} * 500",
                "closed_ms": f"{began} + {call} * 500 + 300", "opened_clock_ms": f"{began} + {call} * 500",
                "duration_ms": 300,
            },
            f"NOT {is_leg}",
        )  # fmt: skip
    text = models.Text._meta.db_table
    cursor.execute(
        f"WITH RECURSIVE series(n) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT n + 1 FROM series WHERE n < {runs}) "
        f'INSERT INTO "{text}" (project_id, position, kind, text, cut) '
        f"SELECT {project}, {first} + 1, 'question', "
        f"'Where is order NW-' || n || ', and when will it be here? I have been waiting.', (1 = 0) FROM series"
    )
    spawned = _chance(15, SPAWN)
    spawn = {
        "id": f"{run_id} + 8", "run_id": run_id, "answer_id": answer_id, "tool": f"'delegate_' || ({_hash(16)} % 5)",
        "products": "'" + json.dumps([{"name": "notes"}, {"name": "web", "aliases": ["www"]}]) + "'",
        "denied": "NULL", "refused": _chance(17, 500), "position": f"{first} + 20", "received_ms": began,
        "violations": f"(CASE WHEN {_chance(6, VIOLATION)} THEN 1 ELSE 0 END)",
    }  # fmt: skip
    rows(models.Spawn, whole | spawn, f"NOT {is_leg} AND ({spawned} OR {_chance(6, VIOLATION)})")
    violation = spawn | {
        "id": f"{run_id} + 9", "spawn_id": spawn["id"], "reason": "'undeclared_name'", "offender": "'web'",
        "sentence": "'The roster does not hold web.'",
    }  # fmt: skip
    rows(models.Violation, whole | violation, f"NOT {is_leg} AND {_chance(6, VIOLATION)}")


def _many_names(cursor: Any, project: int, stream: int, count: int) -> None:
    """The tools that are called, and `count` more with words of the app's."""
    from runs import models

    base = project << models.ID_BITS
    whole = {"project_id": project, "epoch": 1, "stream_id": stream}
    seen = whole | {"tool": "(1 = 1)", "first_position": 1, "last_ms": BEGAN_MS}
    for number, tool in enumerate(TOOLS, start=1):
        one = {"id": base + number, "name": f"'{tool}'", "calls": 1_000}
        _insert(cursor, models.SeenName, seen | one, "1 = 1", 1)
    many = {"id": f"({base} + n * {ROWS_A_RUN} + 10)", "name": "'tool_' || n", "calls": 5}
    _insert(cursor, models.SeenName, seen | many, "1 = 1", count)
    words = {
        "id": f"({base} + n * {ROWS_A_RUN} + 11)",
        "tool": "'tool_' || n",
        "text": "'Step ' || n",
        "position": 1,
    }
    _insert(cursor, models.DeclaredName, whole | words, "1 = 1", count)


def _insert(cursor: Any, model: Any, of: Mapping[str, Any], where: str, count: int) -> None:
    """Rows of `model` for n from 1 to `count`; columns that are not given have their field's default."""
    columns, values = [], []
    for field in model._meta.concrete_fields:
        if not field.generated:
            columns.append(f'"{field.column}"')
            values.append(str(of[field.column]) if field.column in of else _default(field))
    cursor.execute(
        f"WITH RECURSIVE series(n) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT n + 1 FROM series WHERE n < {count}) "
        f'INSERT INTO "{model._meta.db_table}" ({", ".join(columns)}) '
        f"SELECT {', '.join(values)} FROM series WHERE {where}"
    )


def _hash(salt: int) -> str:
    """A number below 1,000,003 that looks drawn, another for each salt: SQL on the series' `n`."""
    return f"(((n * {7_919 + 104_729 * salt} + {salt * 611_953}) % 1000000007 * 31 + n) % 1000003)"


def _chance(salt: int, share: int) -> str:
    return f"({_hash(salt)} % 10000 < {share})"


def _drawn(salt: int, shares: Mapping[str, int]) -> str:
    """One of the words, each as often as its share says."""
    upper = zip(shares, accumulate(shares.values()), strict=True)
    cases = " ".join(f"WHEN {_hash(salt)} % 10000 < {below} THEN '{word}'" for word, below in upper)
    return f"(CASE {cases} END)"


def _default(field: Any) -> str:
    if field.has_default():
        value = field.get_default()
        return (
            "(1 = 1)"
            if value is True
            else "(1 = 0)"
            if value is False
            else f"'{value}'"
            if isinstance(value, str)
            else str(value)
        )
    if field.null:
        return "NULL"
    return "''" if field.empty_strings_allowed else "0"


@contextmanager
def _indexes_made_afterwards() -> Iterator[None]:
    """Plain indexes are dropped and made anew at the end, which is several times faster than keeping them."""
    from django.apps import apps
    from django.db import connection

    listed = [
        (model, index) for model in apps.get_app_config("runs").get_models() for index in model._meta.indexes
    ]
    with connection.schema_editor() as editor:
        for model, index in listed:
            editor.remove_index(model, index)
    yield
    with connection.schema_editor() as editor:
        for model, index in listed:
            editor.add_index(model, index)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "footprint_site.settings")
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    print(json.dumps(asdict(fill(int(sys.argv[1])))))


if __name__ == "__main__":
    main()
