"""Rosters, spawns and violations. The server runs the roster rule itself, on every product of every spawn."""

from __future__ import annotations

import msgspec

from runs.record.answers import last_at, turn_at
from runs.record.entries import EventEntry
from runs.record.names import see
from runs.rules import roster as rule
from runs.rules.kept import DelegationDeclared, DelegationRefused, DelegationSpawned, PoolTool
from runs.rules.vocabulary import RosterReason
from runs.store.book import Book
from runs.store.rows import AnswerRow, RosterRow, RunRow, SpawnRow, ViolationRow


def declared(book: Book, run: RunRow | None, entry: EventEntry) -> None:
    told: DelegationDeclared = entry.kept.body
    project = book.project
    row = RosterRow(
        id=book.new_id(),
        project_id=project.id,
        epoch=project.epoch,
        stream_id=entry.stream_id,
        run_id=run.id if run else None,
        tool=told.tool_name,
        position=entry.position,
        has_factory=told.has_factory,
        entries=_json(told.extra_tool_names),
        static_pool=_json(told.static_pool),
        inherited=_json(told.inherited_surface),
        reason=told.roster_reason or "",
        sentence=told.roster_sentence or "",
    )
    book.rosters.append(row)
    book.touch(row)
    see(book, entry, told.tool_name, tool=True)
    for entry_names in told.extra_tool_names or ():
        see(book, entry, entry_names["name"])
        for alias in entry_names.get("aliases") or ():
            see(book, entry, alias, alias=True)
    for tool in (*(told.static_pool or ()), *(told.inherited_surface or ())):
        _see_pool_tool(book, entry, tool)
    if row.reason:
        answer = _answer(book, run, entry)
        _violation(book, run, answer, None, entry, row.tool, row.reason, "", row.sentence)


def spawned(book: Book, run: RunRow | None, entry: EventEntry) -> None:
    told: DelegationSpawned = entry.kept.body
    answer = _answer(book, run, entry)
    judged_by = _roster_for(book, run, entry.stream_id, told.tool_name)
    spawn = _spawn(book, run, answer, entry, told.tool_name)
    spawn.roster = judged_by.id if judged_by else None
    spawn.call_id = told.tool_call_id
    spawn.child_run = told.child_run_id
    spawn.products = _json(told.products) or "[]"
    spawn.denied = _json(told.denied_tools)
    book.touch(spawn)
    for product in told.products:
        _see_pool_tool(book, entry, product)
    if judged_by is not None and judged_by.entries is not None:
        entries = read_entries(judged_by.entries)
        products = [rule.ToolProduct(p.name, tuple(p.aliases or ()), p.content_origin) for p in told.products]
        for place, problem in rule.undeclared_extra_tools(entries, products, told.tool_name):
            offender = products[place].name
            spawn.violations += 1
            _violation(
                book, run, answer, spawn, entry, told.tool_name, problem.reason, offender, problem.sentence
            )
    if answer is not None:
        answer.spawns += 1
        book.changed(answer, entry.position, entry.received_ms)


def refused(book: Book, run: RunRow | None, entry: EventEntry) -> None:
    """The host's own refusal of a spawn, kept beside our judgement."""
    told: DelegationRefused = entry.kept.body
    answer = _answer(book, run, entry)
    spawn = _spawn(book, run, answer, entry, told.tool_name)
    spawn.call_id = told.tool_call_id
    spawn.refused = True
    spawn.refused_reason = told.reason or ""
    book.touch(spawn)
    see(book, entry, told.tool_name, tool=True)
    if answer is not None:
        book.changed(answer, entry.position, entry.received_ms)


def read_entries(entries: str) -> tuple[rule.ExtraToolDeclaration, ...]:
    """A kept roster again, as the rule reads it."""
    return rule.read_extra_tool_names(msgspec.json.decode(entries), True) or ()


def _roster_for(book: Book, run: RunRow | None, stream_id: int, tool: str) -> RosterRow | None:
    """The tool's last declaration in the run, else in its stream."""
    own = [r for r in book.rosters if r.tool == tool and run is not None and r.run_id == run.id]
    fitting = own or [r for r in book.rosters if r.tool == tool and r.stream_id == stream_id]
    return max(fitting, key=lambda r: r.position, default=None)


def _answer(book: Book, run: RunRow | None, entry: EventEntry) -> AnswerRow | None:
    if run is None:
        return None
    return turn_at(book, run, entry.path) or last_at(book, run, entry.path)


def _spawn(
    book: Book, run: RunRow | None, answer: AnswerRow | None, entry: EventEntry, tool: str
) -> SpawnRow:
    return SpawnRow(
        id=book.new_id(),
        project_id=book.project.id,
        epoch=book.project.epoch,
        stream_id=entry.stream_id,
        run_id=run.id if run else None,
        answer_id=answer.id if answer else None,
        tool=tool,
        position=entry.position,
        received_ms=entry.received_ms,
    )


def _violation(
    book: Book,
    run: RunRow | None,
    answer: AnswerRow | None,
    spawn: SpawnRow | None,
    entry: EventEntry,
    tool: str,
    reason: RosterReason | str,
    offender: str,
    sentence: str,
) -> None:
    row = ViolationRow(
        id=book.new_id(),
        project_id=book.project.id,
        epoch=book.project.epoch,
        stream_id=entry.stream_id,
        run_id=run.id if run else None,
        answer_id=answer.id if answer else None,
        spawn_id=spawn.id if spawn else None,
        tool=tool,
        reason=str(reason),
        offender=offender,
        sentence=sentence[:1200],
        position=entry.position,
        received_ms=entry.received_ms,
    )
    book.touch(row)
    if answer is not None:
        answer.violations += 1
        book.changed(answer, entry.position, entry.received_ms)


def _see_pool_tool(book: Book, entry: EventEntry, tool: PoolTool) -> None:
    see(book, entry, tool.name)
    for alias in tool.aliases or ():
        see(book, entry, alias, alias=True)


def _json(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
