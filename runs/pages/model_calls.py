"""Model calls on a timeline: made from their starts and ends as kept, on the sender's clock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from runs.pages.timeline import Item
from runs.rules import kept


class KeptModelEvent(Protocol):
    @property
    def stream_id(self) -> int: ...
    @property
    def run(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def body(self) -> str: ...


def model_items(events: Iterable[KeptModelEvent]) -> list[Item]:
    """One item a model call; one without an end is open. What has no time cannot be placed and is left out."""
    items: list[Item] = []
    begun: dict[tuple[int, str], int] = {}
    for row in events:
        event = kept.decode_body(row.type, row.body)
        at = event.meta.wall_clock_ms
        key = (row.stream_id, row.run)
        if row.type == "stream.llm_start":
            if at is not None:
                begun[key] = at
        elif key in begun:
            start = begun.pop(key)
            took = event.body.duration_ms
            items.append(Item("model", "model", start, at if took is None else start + took))
    items += [Item("model", "model", start, None) for start in begun.values()]
    return items
