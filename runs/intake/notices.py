"""What the log says about senders: the first of a kind at once, the others as a number with the next one.

So whoever looks after the server finds out why a sender came back or what it had to give up, and a sender that does so
every second cannot fill the disk. Ids, numbers, codes and our own sentences only. Called on the server's loop.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable
from dataclasses import dataclass

from runs.intake import frames

log = logging.getLogger("footprint.ingest")

QUIET_S = 60.0
MOST_KINDS = 1_000  # remembered at a time
CALM = frozenset([frames.TAKEN_OVER, frames.LEFT, 1001, 1005])  # what happens on any day


@dataclass(slots=True)
class _Told:
    at: float
    untold: int = 0


_told: dict[Hashable, _Told] = {}


def tell_end(stream_id: int | None, code: int, reason: str) -> None:
    """A connection ended: of this stream (None: it never opened one), with this close code."""
    if code == frames.NORMAL:
        return
    untold = _turn_of((stream_id, code))
    if untold is None:
        return
    whose = "A connection without a stream" if stream_id is None else f"A connection of stream {stream_id}"
    level = logging.INFO if code in CALM else logging.WARNING
    log.log(level, "%s ended with %d: %s%s", whose, code, reason, _more(untold))


def tell_lost(stream_id: int, first: int, last: int) -> None:
    """A sender says that it had to give these up."""
    untold = _turn_of((stream_id, "lost"))
    if untold is not None:
        log.warning(
            "Events %d to %d of stream %d were given up by their sender before they came%s",
            first, last, stream_id, _more(untold),
        )  # fmt: skip


def _turn_of(kind: Hashable) -> int | None:
    """How many of this kind were not told since the last one that was; None: this one is not told either."""
    before, now = _told.pop(kind, None), time.monotonic()
    if before is not None and now - before.at < QUIET_S:
        before.untold += 1
        _told[kind] = before
        return None
    while len(_told) >= MOST_KINDS:
        del _told[next(iter(_told))]
    _told[kind] = _Told(now)
    return 0 if before is None else before.untold


def _more(untold: int) -> str:
    return f" ({untold} more like it since the last was told)" if untold else ""
