"""What this machine can do at most, measured in the same run as what is compared with it: `python -m bench.limits`."""

from __future__ import annotations

from bench.harness import Bar, Figure, repeat
from bench.limits import django_orm, raw_postgres, raw_sqlite, websocket

EVENTS, EVENTS_QUICK = 68_000, 10_000


def beside_ingest(events_a_second: float, *, database: str, repeats: int, quick: bool) -> list[Figure]:
    """The limits of taking events in, and our rate as a share of the hardest of them: storing for good."""
    limits = storing(database, repeats, quick)
    hardest = limits[0]
    assert hardest.value is not None
    share = Figure(
        f"ingest: share of '{hardest.bench}'",
        events_a_second / hardest.value,
        "x",
        Bar(least=0.2) if database == "sqlite" else None,
        "ours receives, checks and folds, too",
    )
    return [share, *limits, *decoding(repeats, quick)]


def storing(database: str, repeats: int, quick: bool) -> list[Figure]:
    events = EVENTS_QUICK if quick else EVENTS
    if database == "postgres":
        ways = {
            "limit: PostgreSQL, COPY": lambda: raw_postgres.rate(events, copy=True),
            "limit: PostgreSQL, executemany": lambda: raw_postgres.rate(events, copy=False),
        }
    else:
        ways = {
            "limit: raw SQLite, FULL": lambda: raw_sqlite.rate(events, "FULL"),
            "limit: raw SQLite, NORMAL": lambda: raw_sqlite.rate(events, "NORMAL"),
            "limit: Django, executemany": lambda: django_orm.rate(events, bulk_create=False),
            "limit: Django, bulk_create": lambda: django_orm.rate(events, bulk_create=True),
        }
    samples = {name: repeat(repeats, way) for name, way in ways.items()}
    note = "100 events and a projection row a transaction"
    return [Figure(name, one.median, "events/s", None, note, one.spread) for name, one in samples.items()]


def decoding(repeats: int, quick: bool) -> list[Figure]:
    samples = websocket.rates(600 if quick else 2_000, repeats)
    note = "100 typed events a frame, answered with a number"
    return [
        Figure("limit: daphne and channels", samples.median, "events/s", None, note, samples.spread),
    ]
