"""One event as kept: its type, its meta, its body and the texts that leave it; or why there is none."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from runs.rules.kept_kinds import Clock, Fields, Millis, Names, OptName


class EventMeta(Fields):
    """The kept part of an event's `meta`. `run_id` None: the event names no run."""

    run_id: OptName = None
    session_id: OptName = None
    principal: OptName = None
    tenant: OptName = None
    trace_id: OptName = None
    wall_clock_ms: Clock = None
    run_offset_ms: Millis = None
    runtime_stage_id: OptName = None
    composition_path: Names = []


class SaidText(Struct, frozen=True):
    """A text as it was said: `kind` is question, answer or classifier; `cut` when it was longer than 32 KiB."""

    kind: str
    text: str
    cut: bool = False


class Kept(Struct):
    """One event as kept. `type` without the framework's prefix; `body` is one of the structs of the table."""

    type: str
    meta: EventMeta
    body: Any
    texts: tuple[SaidText, ...] = ()
    oversized: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The subflow path of the event's stage: no trailing slash, the top is the empty string."""
        return (self.meta.runtime_stage_id or "").rpartition("/")[0]


class Dropped(Struct, frozen=True):
    """The list does not name this type. `known`: it is one of the framework's own, of this domain; else nobody's."""

    known: bool
    domain: str = ""


class Refused(Struct, frozen=True):
    """The event could not be read. `reason` names place, expectation and TYPE; `run_id` where it was readable."""

    code: str
    reason: str
    run_id: str | None = None
