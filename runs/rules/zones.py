"""Named time zones: the project's zone, in which every page says its times."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo


@lru_cache(maxsize=64)
def zone_of(name: str) -> tzinfo:
    """The zone of this name; UTC where there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def moment(ms: int, zone: str) -> datetime | None:
    """UTC milliseconds as a time in the zone; None for what no calendar holds."""
    try:
        return datetime.fromtimestamp(ms / 1000, zone_of(zone))
    except (ValueError, OverflowError, OSError):
        return None


def read_local(text: str, zone: str) -> int | None:
    """``2026-03-14`` or ``2026-03-14T14:02`` as said in the zone, in UTC milliseconds; None for anything else."""
    try:
        said = datetime.fromisoformat(text)
        return round((said if said.tzinfo else said.replace(tzinfo=zone_of(zone))).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def local_field(ms: int | None, zone: str) -> str:
    """A time as a field for local date and time takes it, to the minute; empty where there is none."""
    said = None if ms is None else moment(ms, zone)
    return "" if said is None else said.replace(tzinfo=None).isoformat(timespec="minutes")
