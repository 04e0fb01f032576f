"""What a batch of entries needs to find in the book, read off the entries themselves."""

from __future__ import annotations

from collections.abc import Iterable

from runs.record.entries import Entry, EventEntry
from runs.rules.kept import (
    ChoiceFailed,
    ChoiceOutcome,
    ChoicePicked,
    DelegationDeclared,
    DelegationRefused,
    DelegationSpawned,
    LlmStart,
    PauseRequest,
    ToolChoiceRow,
    ToolEnd,
    ToolsDeclared,
    ToolStart,
)
from runs.store.load import Wants


def wants_of(entries: Iterable[Entry]) -> Wants:
    """Gather, in one pass, every key the fold of these entries may look up."""
    wants = Wants()
    begun: set[tuple[int, str]] = set()  # runs that have said something about a turn in this batch already
    for entry in entries:
        wants.streams.add(entry.stream_id)
        if not isinstance(entry, EventEntry):
            if entry.kind in ("gap", "lost", "refused"):
                wants.whole_streams.add(entry.stream_id)
            elif entry.run:
                wants.runs.add((entry.stream_id, entry.run))
            continue
        key = (entry.stream_id, entry.run_name)
        if entry.run_name:
            if key not in wants.runs:
                wants.runs.add(key)
                wants.last_runs = True
        elif entry.kept.type.startswith("resilience."):
            wants.last_turns.add(entry.stream_id)
        elif entry.kept.type not in _RUNLESS_BY_NATURE:
            wants.whole_streams.add(entry.stream_id)
        _of_event(wants, entry, key, begun)
    return wants


_RUNLESS_BY_NATURE = frozenset(
    [
        "pause.resume",
        "footprint.tools.declared",
        "footprint.delegation.declared",
        "footprint.delegation.spawned",
        "footprint.delegation.refused",
    ]
)


def _of_event(wants: Wants, entry: EventEntry, key: tuple[int, str], begun: set[tuple[int, str]]) -> None:
    body = entry.kept.body
    if isinstance(body, ToolEnd):
        if key not in begun:  # perhaps the first word of a leg
            wants.leg_ends.add((*key, body.tool_call_id))
            if entry.kept.meta.session_id:
                wants.sessions.add(entry.kept.meta.session_id)
    elif isinstance(body, ToolStart):
        wants.names.add(body.tool_name)
        begun.add(key)
    elif isinstance(body, PauseRequest):
        if body.question_payload is not None and body.question_payload.tool_call_id is not None:
            wants.pauses.add(body.question_payload.tool_call_id)
    elif isinstance(body, LlmStart):
        wants.names |= {tool.name for tool in body.tools or ()}
    elif isinstance(body, ToolChoiceRow):
        for names in (body.offered, body.called, body.served, body.wire):
            wants.names |= set(names or ())
        wants.iterations.add(body.iteration)
    elif isinstance(body, ChoicePicked | ChoiceFailed | ChoiceOutcome):
        wants.iterations.add(body.iteration or 0)
        if isinstance(body, ChoiceOutcome):
            wants.names |= set(body.called)
    elif isinstance(body, ToolsDeclared):
        wants.declared |= {tool.name for tool in body.tools}
        wants.names |= {tool.name for tool in body.tools}
    elif isinstance(body, DelegationDeclared | DelegationSpawned | DelegationRefused):
        _of_delegation(wants, body)
    elif entry.kept.type == "agent.turn_start":
        begun.add(key)
    elif entry.kept.type == "footprint.answer.checked":
        wants.all_calls.add(key)


def _of_delegation(wants: Wants, body: DelegationDeclared | DelegationSpawned | DelegationRefused) -> None:
    wants.names.add(body.tool_name)
    wants.delegations.add(body.tool_name)
    pools = []
    if isinstance(body, DelegationDeclared):
        for item in body.extra_tool_names or ():
            wants.names |= {item["name"], *(item.get("aliases") or ())}
        pools = [*(body.static_pool or ()), *(body.inherited_surface or ())]
    elif isinstance(body, DelegationSpawned):
        pools = body.products
    for tool in pools:
        wants.names |= {tool.name, *(tool.aliases or ())}
