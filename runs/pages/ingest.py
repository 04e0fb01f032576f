"""Ingest health: what became of every event that senders brought, stream by stream, and what went wrong. For admins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.urls import path, reverse
from django.views.decorators.http import require_GET

from runs.pages.access import Audience, Visit, project_page
from runs.pages.addresses import run_href
from runs.pages.frame import show
from runs.pages.run_filters import Option
from runs.pages.runs import cursor, read_cursor
from runs.rules.refusals import CODES
from runs.store import reads_ingest
from runs.store.reads_ingest import Kind, NoteLine, StreamLine

STREAMS_A_PAGE: Final = 25
NOTES_A_PAGE: Final = 50
NEWEST_NOTES: Final = 5
MOST_HOLES: Final = 1_000  # a stream keeps no more

KINDS: Final = {
    Kind.REFUSED: "Refused",
    Kind.GAP: "Never came",
    Kind.LOST: "Given up by the sender",
}


@dataclass(frozen=True, slots=True)
class StreamRow:
    """One stream. What came is what was kept, dropped by the list and refused."""

    name: str
    href: str
    sender: str
    state: str
    came: int
    kept: int
    dropped: int
    refused: int
    repeated: int
    missing: int
    holes: str  # the ranges, as many as a line holds
    refused_href: str
    opened_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class NoteRow:
    """One refusal or loss."""

    anchor: str
    received_ms: int
    stream: str
    stream_href: str
    place: str
    code: str
    says: str
    run_href: str | None


@dataclass(frozen=True, slots=True)
class IngestPage:
    rows: tuple[StreamRow, ...]
    troubled: bool
    all_href: str
    troubled_href: str
    older_href: str
    newest_href: str
    dropped: int
    unknown: int
    refused: int
    newest: tuple[tuple[str, str, tuple[NoteRow, ...]], ...]  # a heading, where all of them are, the newest
    connect_href: str


@dataclass(frozen=True, slots=True)
class StreamPage:
    row: StreamRow
    holes: str
    more_holes: int
    newest: tuple[tuple[str, str, tuple[NoteRow, ...]], ...]
    back_href: str


@dataclass(frozen=True, slots=True)
class NotesPage:
    heading: str
    notes: tuple[NoteRow, ...]
    kinds: tuple[Option, ...]
    codes: tuple[Option, ...]
    stream: str
    no_stream: bool  # the stream asked for does not exist
    filtered: bool
    all_href: str
    older_href: str
    newest_href: str
    back_href: str


@require_GET
@project_page(at_least=Audience.ADMIN)
def ingest(request: HttpRequest, visit: Visit) -> HttpResponse:
    return show(request, visit, "ingest/ingest.html", build(visit, request.GET), here="ingest")


@require_GET
@project_page(at_least=Audience.ADMIN)
def stream(request: HttpRequest, visit: Visit) -> HttpResponse:
    found = _stream(visit, request.GET.get("name", ""))
    if found is None:
        raise Http404
    page = StreamPage(
        row=_row(visit, found),
        holes=_ranges(found.holes.ranges),
        more_holes=found.holes.count - len(found.holes.ranges),
        newest=_newest(visit, found),
        back_href=_href(visit, "ingest"),
    )
    return show(request, visit, "ingest/stream.html", page, here="ingest")


@require_GET
@project_page(at_least=Audience.ADMIN)
def notes(request: HttpRequest, visit: Visit) -> HttpResponse:
    return show(request, visit, "ingest/notes.html", build_notes(visit, request.GET), here="ingest")


def build(visit: Visit, query: QueryDict) -> IngestPage:
    troubled = query.get("troubled") == "1"
    before = read_cursor(query.get("before", ""))
    lines = reads_ingest.streams(visit.project, troubled=troubled, before=before, size=STREAMS_A_PAGE + 1)
    shown, more = lines[:STREAMS_A_PAGE], len(lines) > STREAMS_A_PAGE
    narrowed = {"troubled": "1"} if troubled else {}
    counts = reads_ingest.not_kept(visit.project)
    return IngestPage(
        rows=tuple(_row(visit, line) for line in shown),
        troubled=troubled,
        all_href=_href(visit, "ingest"),
        troubled_href=_href(visit, "ingest", troubled="1"),
        older_href=_href(visit, "ingest", **narrowed, before=cursor(shown[-1].id)) if more else "",
        newest_href=_href(visit, "ingest", **narrowed) if before is not None else "",
        dropped=counts.dropped,
        unknown=counts.unknown,
        refused=counts.refused,
        newest=_newest(visit, None),
        connect_href=_href(visit, "connect"),
    )


def build_notes(visit: Visit, query: QueryDict) -> NotesPage:
    kind = next((kind for kind in Kind if kind.value == query.get("kind")), Kind.REFUSED)
    code = query.get("code", "") if kind is Kind.REFUSED else ""
    code = code if code in CODES else ""
    name = query.get("stream", "")
    before = read_cursor(query.get("before", ""))
    of = _stream(visit, name) if name else None
    no_stream = bool(name) and of is None
    found: tuple[NoteLine, ...] = ()
    if not no_stream:
        found = reads_ingest.notes(
            visit.project,
            kind,
            stream_id=of.id if of else None,
            code=code,
            before=before,
            size=NOTES_A_PAGE + 1,
        )
    shown, more = found[:NOTES_A_PAGE], len(found) > NOTES_A_PAGE
    said = {"kind": kind.value, "code": code, "stream": name}
    return NotesPage(
        heading=KINDS[kind],
        notes=tuple(_note(visit, line) for line in shown),
        kinds=tuple(Option(one.value, words, one is kind) for one, words in KINDS.items()),
        codes=tuple(Option(one, f"{one}: {words}", one == code) for one, words in CODES.items()),
        stream=name,
        no_stream=no_stream,
        filtered=bool(code or name),
        all_href=_href(visit, "ingest-notes", kind=kind.value),
        older_href=_href(visit, "ingest-notes", **said, before=cursor(shown[-1].position)) if more else "",
        newest_href=_href(visit, "ingest-notes", **said) if before is not None else "",
        back_href=_href(visit, "ingest"),
    )


def _stream(visit: Visit, name: str) -> StreamLine | None:
    if not name or len(name) > 64 or "\x00" in name:
        return None
    return reads_ingest.stream_named(visit.project, name, MOST_HOLES)


def _newest(visit: Visit, of: StreamLine | None) -> tuple[tuple[str, str, tuple[NoteRow, ...]], ...]:
    """Each kind of which there is something, with its newest."""
    newest = []
    for kind, heading in KINDS.items():
        found = reads_ingest.notes(visit.project, kind, stream_id=of.id if of else None, size=NEWEST_NOTES)
        if found:
            where = {"kind": kind.value} | ({"stream": of.name} if of else {})
            href = _href(visit, "ingest-notes", **where)
            newest.append((heading, href, tuple(_note(visit, line) for line in found)))
    return tuple(newest)


def _row(visit: Visit, line: StreamLine) -> StreamRow:
    return StreamRow(
        name=line.name,
        href=_href(visit, "ingest-stream", name=line.name),
        sender=line.sender,
        state=_state(line),
        came=line.kept + line.dropped + line.refused,
        kept=line.kept,
        dropped=line.dropped,
        refused=line.refused,
        repeated=line.repeated,
        missing=line.missing,
        holes=_ranges(line.holes.ranges) + (", …" if line.holes.count > len(line.holes.ranges) else ""),
        refused_href=_href(visit, "ingest-notes", kind=Kind.REFUSED.value, stream=line.name),
        opened_ms=line.opened_ms,
        last_ms=line.last_ms,
    )


def _state(line: StreamLine) -> str:
    """What is on record of it. Whether a sender is connected at this moment is on no record."""
    if line.bare:
        return "without numbers"
    return "ended" if line.ended else "not ended"


def _note(visit: Visit, line: NoteLine) -> NoteRow:
    return NoteRow(
        anchor=f"note-{cursor(line.position)}",
        received_ms=line.received_ms,
        stream=line.stream,
        stream_href=_href(visit, "ingest-stream", name=line.stream),
        place=_ranges([(line.first, line.last)]),
        code=line.code,
        says=line.reason or _many(line.last - line.first + 1),
        run_href=run_href(visit.project.key, line.run) if line.run else None,
    )


def _ranges(ranges: Sequence[tuple[int, int]]) -> str:
    """3, 7–9"""
    return ", ".join(f"{first}" if first == last else f"{first}–{last}" for first, last in ranges)


def _many(count: int) -> str:
    return "1 event" if count == 1 else f"{count:,} events"


def _href(visit: Visit, page: str, /, **query: str) -> str:
    said = {key: value for key, value in query.items() if value}
    address = reverse(page, args=[visit.project.key])
    return f"{address}?{urlencode(said)}" if said else address


urlpatterns = [
    path("", ingest, name="ingest"),
    path("stream/", stream, name="ingest-stream"),
    path("notes/", notes, name="ingest-notes"),
]
