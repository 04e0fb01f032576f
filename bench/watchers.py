"""Open pages that cost little: websockets that note when the frame with a row arrives, many in one process.

`python -m bench.watchers URL PROJECT SLUG COUNT SESSION...` opens them, says "watching", and when its input ends prints
{"frames", "bytes", "cpu_s", "seen": one {call number: when} a page}. Times are those of the machine's monotonic clock,
which all processes share.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

ROW = re.compile(r'"id":"call-(\d+)"')
A_PROCESS = 125  # pages; more in one process would measure that process


@dataclass
class Seen:
    """What the pages of all processes saw."""

    frames: int = 0
    bytes: int = 0
    cpu_s: float = 0.0
    pages: list[dict[int, float]] = field(default_factory=list)


@contextlib.contextmanager
def watchers(url: str, project: str, slug: str, sessions: Sequence[str], count: int) -> Iterator[Seen]:
    """So many pages of an answer are open inside; what they saw is in the result afterwards."""
    seen = Seen()
    shares = [min(A_PROCESS, count - place) for place in range(0, count, A_PROCESS)]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.watchers", url, project, slug, str(share), *sessions],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for share in shares
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "watching\n"
        yield seen
        for process in started:
            told = json.loads(process.communicate(timeout=60)[0])
            seen.frames += told["frames"]
            seen.bytes += told["bytes"]
            seen.cpu_s += told["cpu_s"]
            seen.pages += [{int(row): when for row, when in page.items()} for page in told["seen"]]
    finally:
        for process in started:
            process.kill()
            process.wait()


class Page:
    """One open page. Only looks for rows in the text: what reading a frame costs a browser is not measured here."""

    def __init__(self) -> None:
        self.rows: dict[int, float] = {}
        self.frames = self.bytes = 0
        self.shown = asyncio.Event()

    async def follow(self, url: str, about: dict[str, Any], session: str) -> None:
        async with connect(
            url.replace("http", "ws", 1) + "/ws/live/",
            additional_headers={"Cookie": f"sessionid={session}"},
            origin=url,  # type: ignore[arg-type]
            compression=None,
            max_size=None,
            ping_interval=None,
            open_timeout=120,
        ) as socket:
            await socket.send(json.dumps(about))
            with contextlib.suppress(ConnectionClosed):
                async for text in socket:
                    now = time.monotonic()
                    assert isinstance(text, str)
                    self.frames += 1
                    self.bytes += len(text)
                    for row in ROW.findall(text):
                        self.rows.setdefault(int(row), now)
                    self.shown.set()


async def main(url: str, project: str, slug: str, count: int, sessions: Sequence[str]) -> None:
    about = {"type": "watch", "page": "answer", "project": project, "slug": slug}
    pages = [Page() for _ in range(count)]
    open_pages = [
        asyncio.create_task(page.follow(url, about, sessions[number % len(sessions)]))
        for number, page in enumerate(pages)
    ]
    await asyncio.gather(*(asyncio.wait_for(page.shown.wait(), 120) for page in pages))
    print("watching", flush=True)
    before = time.process_time()
    await asyncio.to_thread(sys.stdin.read)
    told = {
        "frames": sum(page.frames for page in pages),
        "bytes": sum(page.bytes for page in pages),
        "cpu_s": time.process_time() - before,
        "seen": [page.rows for page in pages],
    }
    for task in open_pages:
        task.cancel()
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4], int(sys.argv[4]), sys.argv[5:]))
