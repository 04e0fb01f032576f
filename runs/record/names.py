"""Registered names seen, and display names as the app declares them."""

from __future__ import annotations

from collections.abc import Iterable

from runs.record.entries import EventEntry
from runs.rules.kept import ToolsDeclared
from runs.store.book import Book
from runs.store.rows import DeclaredNameRow, SeenNameRow


def see(
    book: Book, entry: EventEntry, name: str, *, alias: bool = False, tool: bool = False, call: bool = False
) -> None:
    """A registered name or alias exists. A display name equal to it is left out from now on."""
    if not name:
        return
    row = book.seen.get(name)
    if row is None:
        row = SeenNameRow(
            id=book.new_id(),
            project_id=book.project.id,
            epoch=book.project.epoch,
            name=name,
            first_position=entry.position,
            last_ms=entry.received_ms,
        )
        book.seen[name] = row
        book.touch(row)
        book.words_changed = True  # some display name may equal it
    if (alias and not row.alias) or (tool and not row.tool) or call:
        row.alias = row.alias or alias
        row.tool = row.tool or tool
        row.calls += call
        row.last_ms = max(row.last_ms, entry.received_ms)
        book.touch(row)


def see_tools(book: Book, entry: EventEntry, names: Iterable[str]) -> None:
    """The same for tools, most of which were seen long ago."""
    for name in names:
        if name not in book.tools_seen:
            see(book, entry, name, tool=True)
            book.tools_seen.add(name)


def tools_declared(book: Book, entry: EventEntry) -> None:
    """Append what is new: a declaration that says what the latest one said is none."""
    told: ToolsDeclared = entry.kept.body
    for tool in told.tools:
        see(book, entry, tool.name, tool=True)
        text, problem = tool.display_name or "", tool.display_name_problem or ""
        latest = book.declared.get(tool.name)
        if (latest.text, latest.problem) == (text, problem) if latest else not text and not problem:
            continue
        row = DeclaredNameRow(
            id=book.new_id(),
            project_id=book.project.id,
            epoch=book.project.epoch,
            stream_id=entry.stream_id,
            tool=tool.name,
            text=text,
            problem=problem[:300],
            position=entry.position,
        )
        book.declared[tool.name] = row
        book.touch(row)
        book.words_changed = True
