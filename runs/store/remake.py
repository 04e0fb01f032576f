"""What a rebuild reads and switches: events and notes by position, the epoch of the record, the rows of an old one."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, F, OuterRef

from runs import models
from runs.store.book import ID_BITS
from runs.store.rows import TABLES, NoteEntry, Row

StoredEvent = tuple[int, int, int, str, str]  # position, stream id, received ms, type, body


def read_after(project_id: int, position: int, limit: int) -> list[StoredEvent | NoteEntry]:
    """The next `limit` events and notes after `position`, in the order of their positions.

    Events of deleted runs are passed over: they are being cleared, and half a run is none.
    """
    gone = Exists(models.Tombstone.objects.filter(stream=OuterRef("stream"), run=OuterRef("run")))
    first, end = project_id << ID_BITS | position + 1, (project_id + 1) << ID_BITS
    mask = (1 << ID_BITS) - 1
    events: list[StoredEvent | NoteEntry] = [
        (event_id & mask, stream_id, received_ms, kind, body)
        for event_id, stream_id, received_ms, kind, body in models.KeptEvent.objects.filter(
            ~gone, id__gte=first, id__lt=end
        )
        .order_by("id")
        .values_list("id", "stream_id", "received_ms", "type", "body")[:limit]
    ]
    notes: list[StoredEvent | NoteEntry] = [
        NoteEntry(note_id & mask, *rest)
        for note_id, *rest in models.Note.objects.filter(id__gte=first, id__lt=end)
        .order_by("id")
        .values_list(
            *("id", "stream_id", "kind", "first", "last", "run", "code", "reason"),
            *("limit_s", "received_ms"),
        )[:limit]
    ]
    return sorted(events + notes, key=position_of)[:limit]


def position_of(entry: StoredEvent | NoteEntry) -> int:
    return entry.position if isinstance(entry, NoteEntry) else entry[0]


def switch_epoch(project_id: int, epoch: int) -> None:
    """From now on the record is the one of `epoch`. Expects the project's lock."""
    models.Project.objects.filter(id=project_id).update(epoch=epoch, words_version=F("words_version") + 1)


def delete_some_rows(project_id: int, current: int, limit: int) -> int:
    """Delete up to `limit` rows a table that are of another epoch than `current`; how many there were.

    Deleted runs that wait to be cleared are left to `leaving.py`.
    """
    deleted = 0
    for table in reversed(TABLES):
        model = _model_of(table)
        others = model.objects.filter(project_id=project_id, epoch__lt=models.LEAVING).exclude(epoch=current)
        ids = list(others.order_by("id").values_list("id", flat=True)[:limit])
        if ids:
            model.objects.filter(id__in=ids)._raw_delete("default")
            deleted += len(ids)
    return deleted


def project_ids(key: str | None) -> list[int]:
    """Every project, or the one with this key."""
    found = models.Project.objects.order_by("id")
    return list((found.filter(key=key) if key else found).values_list("id", flat=True))


def _model_of(table: type[Row]) -> Any:
    return next(
        model for model in vars(models).values() if getattr(model, "_meta", None) and _is(model, table)
    )


def _is(model: Any, table: type[Row]) -> bool:
    return bool(not model._meta.abstract and model._meta.db_table == table.table)
