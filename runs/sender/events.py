"""This product's own events, and the envelope around any event. Field names are the wire's."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from runs.rules.json_types import ABSENT

Event = dict[str, Any]
Tools = Mapping[str, str] | Iterable[Mapping[str, Any]]
"""`{registered name: the app's words}`, or `[{"name", "displayName"?, "description"?}]`."""

APP_SCOPE: Final = "consumer-scope"  # the run id of events that belong to no run


def app_meta(clock_ms: int | None = None) -> Event:
    """The envelope of an event that belongs to no run."""
    return {
        "runId": APP_SCOPE,
        "wallClockMs": int(time.time() * 1000) if clock_ms is None else clock_ms,
        "runOffsetMs": 0,
        "runtimeStageId": "consumer-emit#0",
        "compositionPath": [],
    }


def present(**fields: Any) -> Event:
    """A payload without what is None: on the wire, what is not known is absent."""
    return {name: value for name, value in fields.items() if value is not None}


def tools_declared(tools: Tools, meta: Event) -> Event:
    if isinstance(tools, Mapping):
        listed: list[Any] = [{"name": name, "displayName": words} for name, words in tools.items()]
    else:
        listed = list(tools)
    return _event("footprint.tools.declared", {"tools": listed}, meta)


def tool_choice_row(
    row: Struct | Mapping[str, Any],
    meta: Event,
    *,
    top: int | None,
    doors: Iterable[str],
    wire: Iterable[str],
) -> Event:
    """A row of `rules.tool_choice` (or one in its JSON form), and beside it what a replay needs."""
    said = dict(row) if isinstance(row, Mapping) else msgspec.to_builtins(row)
    said |= present(top=top, doors=list(doors) or None, wire=list(wire) or None)
    return _event("footprint.tool_choice.row", said, meta)


def delegation_declared(
    tool_name: str,
    meta: Event,
    *,
    has_factory: bool,
    static_pool: Iterable[Mapping[str, Any]] | None,
    inherited_surface: Iterable[Mapping[str, Any]] | None,
    extra_tool_names: object,
) -> Event:
    payload = present(
        toolName=tool_name,
        hasFactory=has_factory,
        staticPool=_list(static_pool),
        inheritedSurface=_list(inherited_surface),
    )
    # A roster goes as it came: what is none is for the server to say, null too.
    if extra_tool_names is not ABSENT:
        if isinstance(extra_tool_names, Iterable) and not isinstance(extra_tool_names, str | Mapping):
            extra_tool_names = list(extra_tool_names)
        payload["extraToolNames"] = extra_tool_names
    return _event("footprint.delegation.declared", payload, meta)


def delegation_spawned(
    tool_name: str,
    products: Iterable[Mapping[str, Any]],
    meta: Event,
    *,
    call_id: str | None,
    child_run_id: str | None,
    denied_tools: Iterable[str] | None,
) -> Event:
    payload = present(
        toolName=tool_name,
        products=list(products),
        toolCallId=call_id,
        childRunId=child_run_id,
        deniedTools=_list(denied_tools),
    )
    return _event("footprint.delegation.spawned", payload, meta)


def delegation_refused(tool_name: str, code: str, reason: str, meta: Event, *, call_id: str | None) -> Event:
    payload = present(toolName=tool_name, code=code, reason=reason, toolCallId=call_id)
    return _event("footprint.delegation.refused", payload, meta)


def answer_checked(calls: Iterable[Mapping[str, Any]], incomplete: bool, meta: Event) -> Event:
    """`calls`: `[{"toolName", "toolCallId", "outcome"}]`, the run's own view of its ledger."""
    view = {"calls": list(calls), "incomplete": incomplete}
    return _event("footprint.answer.checked", {"toolCalls": view}, meta)


def _event(name: str, payload: Event, meta: Event) -> Event:
    return {"type": name, "payload": payload, "meta": meta}


def _list(items: Iterable[Any] | None) -> list[Any] | None:
    return None if items is None else list(items)
