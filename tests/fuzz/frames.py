"""Mutated frames through the real socket application in this process, the real writer and a real database behind it.

    python -m tests.fuzz.frames --count 1000000 --seed 7

prints how many frames, what was found, the peak of memory and what was left behind; exits with 1 when anything was
found. A finding names the seed of its conversation: `--only SEED` says it again.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

SIDE_BY_SIDE = 32
HANG_S = 60.0
LIMITS = {"frame_bytes": 48 * 1024, "event_bytes": 4 * 1024, "window": 40, "bare_bytes": 256 * 1024}
CODES = {1000, 1003, 1009, 4400, 4401, 4403, 4409, 4410, 4429}  # what a sender may be told; never 1011
TYPES = {"welcome", "ack", "refused", "closing"}


@dataclass
class Found:
    frames: int = 0
    connections: int = 0
    closed: Counter[int] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def problem(self, seed: int, what: str) -> None:
        if len(self.problems) < 50:
            self.problems.append(f"seed {seed}: {what}")


class Watching(logging.Handler):
    """What must not be in the log: an error, an exception, an event that passed the list and could not be stored."""

    def __init__(self, found: Found) -> None:
        super().__init__(logging.WARNING)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        told = record.getMessage()
        if record.exc_info or record.levelno >= logging.ERROR or "rejected" in told or "unstorable" in told:
            self._found.problem(-1, f"the log says: {told} {record.exc_info}")


async def say(token: str, seed: int, found: Found) -> None:
    """One conversation, from the first frame to the end of the application's coroutine."""
    from footprint_site.asgi import application
    from tests.fuzz.mutate import Conversation

    dice = Random(seed)
    frames = Conversation(dice).frames
    incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    closed = asyncio.Event()
    acked = 0

    async def hear(message: dict[str, Any]) -> None:
        nonlocal acked
        if message["type"] == "websocket.close":
            found.closed[message["code"]] += 1
            if message["code"] not in CODES:
                found.problem(seed, f"closed with {message['code']}: {message.get('reason')}")
            closed.set()
            return
        if message["type"] != "websocket.send":
            return
        if closed.is_set():
            found.problem(seed, "a frame after the close")
        told = json.loads(message["text"])
        if told["type"] not in TYPES or "Traceback" in message["text"] or len(message["text"]) > 2_000:
            found.problem(seed, f"told {message['text'][:300]}")
        if told["type"] == "refused":
            found.refused[told["code"]] += 1
        if told["type"] == "ack":
            if told["through"] < acked:
                found.problem(seed, f"acked {told['through']} after {acked}")
            acked = told["through"]

    headers = [(b"host", b"testserver"), (b"authorization", b"Bearer " + token.encode())]
    scope = {"type": "websocket", "path": "/ws/ingest/", "headers": headers, "query_string": b""}
    incoming.put_nowait({"type": "websocket.connect"})
    talking = asyncio.ensure_future(application(scope, incoming.get, hear))
    for frame in frames:
        key = "text" if isinstance(frame, str) else "bytes"
        incoming.put_nowait({"type": "websocket.receive", key: frame})
        if dice.random() < 0.5:
            await asyncio.sleep(0)
        if closed.is_set():
            break
    found.frames += len(frames)
    found.connections += 1
    if dice.random() < 0.6:  # the others leave before they are answered
        await _heard_out(incoming, closed)
    incoming.put_nowait({"type": "websocket.disconnect", "code": 1006})
    try:
        await asyncio.wait_for(talking, HANG_S)
    except TimeoutError:
        found.problem(seed, "it hangs")
    except Exception as problem:
        found.problem(seed, f"crashed: {problem!r}")


async def _heard_out(incoming: asyncio.Queue[dict[str, Any]], closed: asyncio.Event) -> None:
    """Everything that was said is read, settled and answered."""
    from runs.intake import service

    while not incoming.empty() and not closed.is_set():
        await asyncio.sleep(0.001)
    await asyncio.wrap_future(service.running().writer.call(lambda: None))
    await asyncio.sleep(0.002)


async def fuzz(token: str, seeds: range, count: int, found: Found) -> None:
    """Conversations side by side until there were so many frames; the writer has settled everything at the end."""
    from runs.intake import service

    end, numbers = found.frames + count, iter(seeds)

    async def one_after_another() -> None:
        while found.frames < end:
            await say(token, next(numbers), found)

    await asyncio.gather(*(one_after_another() for _ in range(SIDE_BY_SIDE)))
    await asyncio.wrap_future(service.running().writer.call(lambda: None))


def what_is_left() -> list[str]:
    """What the connections left in this process."""
    from runs.intake import socket

    gc.collect()
    there = sum(isinstance(one, socket.IngestSocket) for one in gc.get_objects())
    left = [f"{there} connections are still in memory"] if there else []
    return [*left, f"{len(socket._holders)} streams are still held"] if socket._holders else left


def what_is_wrong() -> list[str]:
    """Numbers of the database that do not add up: every number settled once, every kept event there once."""
    from django.db.models import Count

    from runs.models import KeptEvent, Stream

    there = dict(KeptEvent.objects.values_list("stream").annotate(Count("id")))
    wrong = []
    for stream in Stream.objects.all():
        settled = stream.kept + stream.dropped + stream.refused + stream.missing
        if stream.acked != settled or there.get(stream.pk, 0) != stream.kept:
            wrong.append(f"stream {stream.name}: {stream.acked} acked, {settled} settled, {stream.kept} kept")
    return wrong


def watched(found: Found) -> Callable[[], None]:
    """Begin to watch the log; returns what ends it."""
    watching, log = Watching(found), logging.getLogger()
    loggers = [log, *(logging.getLogger(name) for name in ("footprint", "asyncio", "django"))]
    for one in loggers:
        one.addHandler(watching)

    def end() -> None:
        for one in loggers:
            one.removeHandler(watching)

    return end


def memory() -> int:
    """Bytes of this process in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


# -- the long run -------------------------------------------------------------------------------

A_ROUND = 20_000  # frames; then the database begins anew, so that a million frames do not need gigabytes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.frames", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="frames (default: 20,000)")
    parser.add_argument("--seed", type=int, default=1, help="of the first conversation")
    parser.add_argument("--only", type=int, help="say one conversation again")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="footprint-fuzz-") as folder:
        os.environ["FOOTPRINT_DATA"], os.environ["FOOTPRINT_LOG"] = folder, "ERROR"
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "footprint_site.settings")
        import django

        django.setup()
        return _rounds(asked.seed, asked.count, asked.only)


def _rounds(seed: int, count: int, only: int | None) -> int:
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    from runs.intake import service
    from runs.models import Project
    from runs.store.tokens import create_token

    settings.FOOTPRINT = {**settings.FOOTPRINT, **LIMITS}
    call_command("migrate", verbosity=0)
    found, seeds, began, held = Found(), seed, time.monotonic(), 0
    end_watching = watched(found)

    async def one_round(token: str, frames: int) -> None:
        try:
            if only is not None:
                await say(token, only, found)
            else:
                await fuzz(token, range(seeds, sys.maxsize), frames, found)
        finally:
            await asyncio.to_thread(service.stop)

    while found.frames < count and not (only is not None and found.frames):
        call_command("flush", verbosity=0, interactive=False)
        token = create_token(Project.objects.create(name="Fuzz").pk, "", None)[1]
        asyncio.run(one_round(token, min(A_ROUND, count - found.frames)))
        for what in (*what_is_left(), *what_is_wrong()):
            found.problem(seeds, what)
        seeds = seed + found.connections + SIDE_BY_SIDE
        held = held or memory()  # after the first round
        print(
            f"{found.frames:>9,} frames, {memory() / 1e6:.0f} MB, {len(found.problems)} problems", flush=True
        )
    end_watching()
    connections.close_all()
    seconds = time.monotonic() - began
    print(*found.problems, sep="\n")
    print(f"closed with {dict(found.closed)}, refused {dict(found.refused)}")
    summary = {
        "frames": found.frames,
        "connections": found.connections,
        "frames_a_second": round(found.frames / seconds),
        "problems": len(found.problems),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "after_first_round_mb": round(held / 1e6),
        "at_the_end_mb": round(memory() / 1e6),
    }
    print(json.dumps(summary))
    return 1 if found.problems else 0


if __name__ == "__main__":
    sys.exit(main())
