"""What the Ingest health pages ask: streams with what became of their events, and the notes of what went wrong.

The number of queries never grows with the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from django.db.models import Count, F, Q, Window
from django.db.models.functions import RowNumber

from runs.models import ID_BITS, Hole, Note, Project, Run, Stream
from runs.store.leaving import named
from runs.store.people import ProjectRow

HOLES_OF_A_LINE: Final = 3


class Kind(StrEnum):
    """What can go wrong on the way in, as its note is called."""

    REFUSED = "refused"  # it came and was not kept
    GAP = "gap"  # it never came, and nobody said why
    LOST = "lost"  # its sender had to give it up, and said so


@dataclass(frozen=True, slots=True)
class Holes:
    """What is missing of a stream: how many ranges, and some of them (both ends included), lowest first."""

    count: int = 0
    ranges: tuple[tuple[int, int], ...] = ()


NO_HOLES: Final = Holes()


@dataclass(frozen=True, slots=True)
class StreamLine:
    """One stream. `id` orders the list, newest first."""

    id: int
    name: str
    sender: str
    bare: bool
    ended: bool
    acked: int
    kept: int
    dropped: int
    refused: int
    repeated: int
    missing: int
    opened_ms: int
    last_ms: int
    holes: Holes = NO_HOLES


@dataclass(frozen=True, slots=True)
class NoteLine:
    """One refusal or loss. `run` is the slug of its run, where one is known and on record."""

    position: int
    kind: Kind
    stream: str
    first: int
    last: int
    code: str
    reason: str
    run: str | None
    received_ms: int


@dataclass(frozen=True, slots=True)
class NotKept:
    """The project's counts of what came and was not kept."""

    dropped: int
    unknown: int
    refused: int


_COLUMNS: Final = (
    *("id", "name", "sender", "bare", "ended", "acked", "kept", "dropped", "refused", "repeated", "missing"),
    *("opened_ms", "last_ms"),
)


def not_kept(project: ProjectRow) -> NotKept:
    counts = Project.objects.values_list("dropped_events", "unknown_events", "refused_events")
    return NotKept(*counts.get(pk=project.id))


def streams(project: ProjectRow, *, troubled: bool, before: int | None, size: int) -> tuple[StreamLine, ...]:
    """At most `size` streams opened before stream `before` (None: the newest), newest first, with some holes each.

    `troubled`: only those with something refused or missing.
    """
    found = Stream.objects.filter(project=project.id)
    if troubled:
        found = found.filter(Q(refused__gt=0) | Q(missing__gt=0))
    if before is not None:
        found = found.filter(pk__lt=before)
    rows = list(found.order_by("-pk").values_list(*_COLUMNS)[:size])
    holes = _holes([row[0] for row in rows], HOLES_OF_A_LINE)
    return tuple(replace(StreamLine(*row), holes=holes.get(row[0], NO_HOLES)) for row in rows)


def stream_named(project: ProjectRow, name: str, most_holes: int) -> StreamLine | None:
    row = Stream.objects.filter(project=project.id, name=name).values_list(*_COLUMNS).first()
    if row is None:
        return None
    return replace(StreamLine(*row), holes=_holes([row[0]], most_holes).get(row[0], NO_HOLES))


def notes(
    project: ProjectRow,
    kind: Kind,
    *,
    stream_id: int | None = None,
    code: str = "",
    before: int | None = None,
    size: int,
) -> tuple[NoteLine, ...]:
    """At most `size` notes of a kind before position `before` (None: the newest), newest first."""
    found = Note.objects.filter(project=project.id, kind=kind.value)
    if stream_id is not None:
        found = found.filter(stream=stream_id)
    if code:
        found = found.filter(code=code)
    if before is not None:
        found = found.filter(pk__lt=project.id << ID_BITS | before)
    rows = list(
        found.order_by("-pk").values_list(
            *("pk", "stream_id", "stream__name", "first", "last", "code", "reason", "run", "received_ms")
        )[:size]
    )
    runs = _slugs(project, {(row[1], row[7]) for row in rows if row[7]})
    mask = (1 << ID_BITS) - 1
    return tuple(
        NoteLine(pk & mask, kind, name, first, last, code, reason, runs.get((stream, run)), received_ms)
        for pk, stream, name, first, last, code, reason, run, received_ms in rows
    )


def _holes(stream_ids: Sequence[int], most: int) -> dict[int, Holes]:
    """The lowest `most` holes of each stream, and how many it has."""
    numbered = Hole.objects.filter(stream__in=stream_ids).annotate(
        number=Window(RowNumber(), partition_by=F("stream"), order_by=F("first").asc()),
        count=Window(Count("pk"), partition_by=F("stream")),
    )
    found: dict[int, Holes] = {}
    rows = numbered.filter(number__lte=most).order_by("stream", "first")
    for stream_id, first, last, count in rows.values_list("stream_id", "first", "last", "count"):
        before = found.get(stream_id, NO_HOLES).ranges
        found[stream_id] = Holes(count, (*before, (first, last)))
    return found


def _slugs(project: ProjectRow, pairs: set[tuple[int, str]]) -> dict[tuple[int, str], str]:
    if not pairs:
        return {}
    runs = Run.objects.filter(named(pairs, "name"), project=project.id, epoch=project.epoch)
    return {(stream, name): slug for stream, name, slug in runs.values_list("stream_id", "name", "slug")}
