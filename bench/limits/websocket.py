"""The limit of receiving: daphne and a Channels consumer that decodes each event into a typed one and acks a number.

It speaks as much of our protocol as `bench.senders` needs, so the same senders drive it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import msgspec

from bench.harness import ROOT, Samples, repeat
from bench.senders import send_all
from bench.workload import EVENTS_A_RUN, workload

STARTED_WITHIN = 30.0


def rates(runs: int, repeats: int) -> Samples:
    """Events a second of W from four senders, decoded and acknowledged."""
    streams = workload(runs)
    with _served() as url:
        send_all(url, "", streams[:1])  # warm
        return repeat(repeats, lambda: runs * EVENTS_A_RUN / send_all(url, "", streams))


@contextlib.contextmanager
def _served() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = ["-b", "127.0.0.1", "-p", str(port), "-v", "0", "bench.limits.websocket:application"]
    process = subprocess.Popen(
        [sys.executable, "-m", "daphne", *arguments],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "footprint_site.settings"},
        stdout=subprocess.DEVNULL,
    )
    try:
        ends = time.monotonic() + STARTED_WITHIN
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            if time.monotonic() > ends or process.poll() is not None:
                raise RuntimeError("daphne did not start")
            time.sleep(0.05)
        yield f"ws://127.0.0.1:{port}/"
    finally:
        process.kill()
        process.wait()


class Meta(msgspec.Struct, rename="camel"):
    run_id: str | None = None
    session_id: str | None = None
    wall_clock_ms: int | None = None
    run_offset_ms: int | None = None
    runtime_stage_id: str | None = None
    composition_path: list[str] = []


class Event(msgspec.Struct):
    type: str
    payload: msgspec.Raw
    meta: Meta


def _application() -> object:
    import django

    django.setup()
    from channels.generic.websocket import AsyncWebsocketConsumer
    from channels.routing import ProtocolTypeRouter

    decode = msgspec.json.Decoder(Event).decode

    class Consumer(AsyncWebsocketConsumer):
        async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
            head, *lines = (text_data or "").split("\n")
            said = json.loads(head)
            if said["type"] == "hello":
                await self.send(json.dumps({"type": "welcome", "acked": 0, "limits": {"window": 1000}}))
                return
            events = [decode(line) for line in lines]
            await self.send(json.dumps({"type": "ack", "through": said["first"] + len(events) - 1}))

    return ProtocolTypeRouter({"websocket": Consumer.as_asgi()})


def __getattr__(name: str) -> object:
    if name == "application":  # only daphne asks for it
        return _application()
    raise AttributeError(name)
