"""Why connections end, in the log: the first of a kind at once, the others as a number with the next one.

So whoever looks after the server finds out why a sender came back, and a sender that comes back every second cannot
fill the disk. Ids, codes and our own sentences only.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from runs.intake import frames

log = logging.getLogger("footprint.ingest")

QUIET_S = 60.0
MOST_KINDS = 1_000  # remembered at a time
CALM = frozenset([frames.TAKEN_OVER, frames.LEFT, 1001, 1005])  # what happens on any day


@dataclass(slots=True)
class _Said:
    at: float
    unsaid: int = 0


_said: dict[tuple[int | None, int], _Said] = {}


def tell(stream_id: int | None, code: int, reason: str) -> None:
    """A connection ended: of this stream (None: it never opened one), with this close code. On the server's loop."""
    if code == frames.NORMAL:
        return
    kind, now = (stream_id, code), time.monotonic()
    before = _said.pop(kind, None)
    if before is not None and now - before.at < QUIET_S:
        before.unsaid += 1
        _said[kind] = before
        return
    while len(_said) >= MOST_KINDS:
        del _said[next(iter(_said))]
    _said[kind] = _Said(now)
    whose = "A connection without a stream" if stream_id is None else f"A connection of stream {stream_id}"
    more = f"; so did {before.unsaid} before it" if before is not None and before.unsaid else ""
    level = logging.INFO if code in CALM else logging.WARNING
    log.log(level, "%s ended with %d: %s%s", whose, code, reason, more)
