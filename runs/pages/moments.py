"""Times and durations as a page writes them: one named zone, the machine's form beside the words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment: `clock` is ``14:02:07``, `day` ``3 May 2026``, `machine` ISO 8601 for ``<time datetime>``."""

    machine: str
    clock: str
    day: str
    zone: str


def moment(ms: int | None, zone: str) -> Moment | None:
    """The moment `ms` milliseconds after 1970 (UTC) in the project's zone; None where none is on record."""
    if ms is None:
        return None
    there = datetime.fromtimestamp(ms / 1000, UTC).astimezone(_zone(zone))
    machine = there.isoformat(timespec="milliseconds")
    return Moment(machine, f"{there:%H:%M:%S}", f"{there.day} {there:%B %Y}", there.tzname() or zone)


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")
