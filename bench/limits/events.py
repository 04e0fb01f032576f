"""W's events as rows, for everybody who stores them without our server: small integers for streams and runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice

import msgspec

from bench.workload import EVENTS_A_RUN, SENDERS, run_lines

BATCH = 100  # events a transaction
COLUMNS = ("id", "stream", "seq", "run", "type", "received_ms", "body")
RECEIVED_MS = 1_796_000_000_000

Row = tuple[int, int, int, int, str, int, str]


class _Line(msgspec.Struct):
    type: str
    payload: msgspec.Raw


@cache
def batches(events: int) -> list[list[Row]]:
    """So many events in batches, made once: each batch is of one stream, the streams take turns."""
    waiting = [_rows(stream) for stream in range(SENDERS)]
    made = []
    for first in range(0, events, BATCH):
        stream = first // BATCH % SENDERS
        made.append([(first + n + 1, *row) for n, row in enumerate(islice(waiting[stream], BATCH))])
    return made


def _rows(stream: int) -> Iterator[tuple[int, int, int, str, int, str]]:
    seq, run = 0, stream
    decode = msgspec.json.Decoder(_Line).decode
    while True:
        for line in run_lines(run):
            seq += 1
            event = decode(line)
            yield stream, seq, run, event.type, RECEIVED_MS + seq, bytes(event.payload).decode()
        run += SENDERS
        assert seq % EVENTS_A_RUN == 0
