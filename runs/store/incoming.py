"""What the writer reads and appends for incoming events, all under the project's lock.

The caller has opened the transaction. `lock_project` takes the lock; everything else here expects it to be held.
Positions are drawn from the project's counter; ids are `project.id << 40 | position` (see runs/models).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from django.db.models import F

from runs import models
from runs.rules.today import Today
from runs.store.ask import among_ids, among_words, ask, listed, locked
from runs.store.book import ID_BITS
from runs.store.rows import NoteEntry, ProjectFacts
from runs.store.writes import insert_rows, run_many

EVENT_COLUMNS = ("id", "project_id", "stream_id", "seq", "type", "run", "received_ms", "body")
TEXT_COLUMNS = ("project_id", "position", "kind", "text", "cut")
NOTE_COLUMNS = (
    *("id", "project_id", "stream_id", "kind", "first", "last", "run", "code", "reason"),
    *("limit_s", "received_ms"),
)


@dataclass(slots=True)
class LockedProject:
    """The project's row while it is locked; counters are written back by `save_project`."""

    facts: ProjectFacts
    position: int
    row_number: int
    keep_text: bool
    silent_after_s: int
    unknown: int = 0
    dropped: int = 0
    refused: int = 0
    words_changed: bool = False
    today: Today = field(default_factory=Today)

    def next_position(self) -> int:
        self.position += 1
        return self.position


@dataclass(slots=True)
class HoleRange:
    id: int | None
    first: int
    last: int


@dataclass(slots=True)
class LockedStream:
    """A stream's row while its project is locked."""

    id: int
    name: str
    epoch: int
    acked: int
    ended: bool
    kept: int
    dropped: int
    refused: int
    repeated: int
    missing: int
    last_ms: int
    holes: list[HoleRange] = field(default_factory=list)
    holes_changed: bool = False
    tombstones: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OpenedStream:
    """What a hello learns: the stream's row and its new epoch, or why it may not be opened (`taken`)."""

    id: int
    epoch: int
    acked: int
    keep_text: bool
    taken: str = ""


def lock_project(project_id: int) -> LockedProject | None:
    """The project's row, locked to the end of the transaction; None when it is gone."""
    statement = (
        "SELECT secret, epoch, ledger_limit, position, row_number, keep_text, silent_after_s, "
        "events_per_day, day, day_events FROM runs_project WHERE id = %s"
    )
    found = ask(locked(statement), project_id)
    if not found:
        return None
    [(secret, epoch, ledger_limit, position, row_number, keep_text, silent_after_s, *day)] = found
    facts = ProjectFacts(project_id, secret, epoch, ledger_limit)
    return LockedProject(facts, position, row_number, bool(keep_text), silent_after_s, today=Today(*day))


def save_project(project: LockedProject) -> None:
    run_many(
        "UPDATE runs_project SET position = %s, row_number = %s, day = %s, day_events = %s, "
        "unknown_events = unknown_events + %s, dropped_events = dropped_events + %s, "
        "refused_events = refused_events + %s, words_version = words_version + %s WHERE id = %s",
        [
            (
                *(project.position, project.row_number, project.today.day, project.today.events),
                *(project.unknown, project.dropped, project.refused, int(project.words_changed)),
                project.facts.id,
            )
        ],
    )


STREAM_COLUMNS = (
    *("id", "name", "epoch", "acked", "ended", "kept", "dropped", "refused", "repeated", "missing"),
    "last_ms",
)


def load_streams(stream_ids: Collection[int], runs: Collection[str]) -> dict[int, LockedStream]:
    """The streams with their holes, and which of `runs` were deleted on them."""
    columns = ", ".join(STREAM_COLUMNS)
    rows = ask(f"SELECT {columns} FROM runs_stream WHERE {among_ids('id')}", listed(stream_ids))
    found = {values[0]: LockedStream(*values) for values in rows}
    for stream in found.values():
        stream.ended = bool(stream.ended)
    if any(stream.missing for stream in found.values()):
        statement = (
            f"SELECT stream_id, id, first, last FROM runs_hole WHERE {among_ids('stream_id')} ORDER BY first"
        )
        for stream_id, hole_id, first, last in ask(statement, listed(found)):
            found[stream_id].holes.append(HoleRange(hole_id, first, last))
    condition = f"{among_ids('stream_id')} AND {among_words('run')}"
    deleted: dict[int, set[str]] = {}
    for stream_id, run in ask(
        f"SELECT stream_id, run FROM runs_tombstone WHERE {condition}", listed(found), listed(runs)
    ):
        deleted.setdefault(stream_id, set()).add(run)
    for stream_id, names in deleted.items():
        found[stream_id].tombstones = frozenset(names)
    return found


def save_streams(streams: Iterable[LockedStream]) -> None:
    listed_streams = list(streams)
    run_many(
        "UPDATE runs_stream SET acked = %s, ended = %s, kept = %s, dropped = %s, refused = %s, repeated = %s, "
        "missing = %s, last_ms = %s WHERE id = %s",
        [
            (
                *(stream.acked, stream.ended, stream.kept, stream.dropped, stream.refused, stream.repeated),
                *(stream.missing, stream.last_ms, stream.id),
            )
            for stream in listed_streams
        ],
    )
    for stream in listed_streams:
        if stream.holes_changed:
            run_many("DELETE FROM runs_hole WHERE stream_id = %s", [(stream.id,)])
            rows = [(stream.id, hole.first, hole.last) for hole in stream.holes]
            insert_rows("runs_hole", ("stream_id", "first", "last"), rows)


def event_row(
    project_id: int, position: int, stream_id: int, seq: int, kind: str, run: str, received_ms: int, body: str
) -> tuple[int | str, ...]:
    """One row of EVENT_COLUMNS."""
    return (project_id << ID_BITS | position, project_id, stream_id, seq, kind, run, received_ms, body)


def append(
    project_id: int,
    events: list[tuple[int | str, ...]],
    notes: list[NoteEntry],
    texts: list[tuple[int, int, str, str, bool]],
) -> None:
    """Append what came in: events, notes and texts, each at its position."""
    insert_rows("runs_keptevent", EVENT_COLUMNS, events)
    insert_rows("runs_text", TEXT_COLUMNS, texts)
    insert_rows(
        "runs_note",
        NOTE_COLUMNS,
        [
            (
                *(project_id << ID_BITS | note.position, project_id, note.stream_id, note.kind),
                *(note.first, note.last, note.run, note.code, note.reason[:300]),
                *(note.limit_s, note.received_ms),
            )
            for note in notes
        ],
    )


def open_stream(
    project_id: int, name: str, instance: str, sender: str, now_ms: int, *, bare: bool = False
) -> OpenedStream | None:
    """Open or resume a stream under the project's lock and raise its epoch; None when the project is gone.

    `taken`: another instance owns the name.
    """
    project = models.Project.objects.select_for_update().filter(id=project_id).first()
    if project is None:
        return None
    stream = models.Stream.objects.filter(project=project, name=name).first()
    if stream is None:
        stream = models.Stream(
            project=project, name=name, instance=instance, bare=bare, opened_ms=now_ms, last_ms=now_ms
        )
    elif stream.instance != instance:
        taken = "another instance of a sender owns this stream; choose a new stream id"
        return OpenedStream(stream.pk, stream.epoch, stream.acked, project.keep_text, taken)
    stream.epoch += 1
    stream.sender = sender
    stream.ended = False
    stream.save()
    return OpenedStream(stream.pk, stream.epoch, stream.acked, project.keep_text)


def stream_epochs(stream_ids: Iterable[int]) -> dict[int, int]:
    return dict(models.Stream.objects.filter(id__in=list(stream_ids)).values_list("id", "epoch"))


def silent_candidates(project_id: int, epoch: int, before_ms: int) -> list[tuple[int, str]]:
    """(stream, runId) of running turns without a word since `before_ms`; a turn that waits for a person is none."""
    turns = models.Answer.objects.filter(
        project=project_id, epoch=epoch, ending="running", last_ms__lt=before_ms
    ).values_list("current_run", flat=True)
    runs = models.Run.objects.filter(id__in=list(turns), last_ms__lt=before_ms)
    return list(runs.order_by("id").values_list("stream_id", "name"))


def projects_gone_quiet(now_ms: int) -> list[int]:
    """The projects, in ascending id, where a running turn has had no word for as long as its project allows. Read
    without a lock: who finds something locks the project and looks again."""
    running = models.Answer.objects.filter(
        ending="running",
        epoch=F("project__epoch"),
        last_ms__lt=now_ms - F("project__silent_after_s") * 1000,
    )
    return sorted(set(running.values_list("project_id", flat=True)))


def allowed_origins(project_id: int) -> frozenset[str]:
    """Origins (scheme://host[:port]) that may send to the project from a browser besides this host."""
    found = models.Project.objects.filter(id=project_id).values_list("allowed_origins", flat=True).first()
    return frozenset((found or "").split())
