"""Recorded events (.jsonl: one event a line) as a sender plays them again. Pure: no clock, no socket.

A line ends at a newline and nowhere else: recorded text holds other characters that some readers take for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec import Raw, Struct

LONGEST_WAIT: Final = 60.0  # seconds of the recording; a night between two events is no use to anybody


class _Meta(Struct):
    wallClockMs: Raw = Raw(b"null")  # noqa: N815 - the wire's name


class _Timed(Struct):
    meta: _Meta | None = None


_decode = msgspec.json.Decoder(_Timed).decode


def lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a file, read in any pieces; empty ones are left out."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line for line in map(_trimmed, whole) if line)
    if last := _trimmed(rest):
        yield last


def scheduled(recorded: Iterable[bytes], speed: float | None) -> Iterator[tuple[float, bytes]]:
    """Each line with the seconds to wait before it: the recording's own pace, `speed` times as fast.

    None waits nowhere. A clock that steps back or is unreadable waits for nothing.
    """
    before: float | None = None
    for line in recorded:
        now = _clock_ms(line) if speed else None
        wait = 0.0
        if now is not None and before is not None and speed:
            wait = min(max(now - before, 0.0) / 1000, LONGEST_WAIT) / speed
        if now is not None:
            before = now
        yield wait, line


def _trimmed(line: bytes) -> bytes:
    return line.strip(b" \t\r")


def _clock_ms(line: bytes) -> float | None:
    try:
        meta = _decode(line).meta
        clock = None if meta is None else msgspec.json.decode(meta.wallClockMs)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if isinstance(clock, int | float) and not isinstance(clock, bool) and 0 < clock < 2**53:
        return float(clock)
    return None
