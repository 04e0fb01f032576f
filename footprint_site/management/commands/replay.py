"""`manage.py replay FILE...`: recorded events again, through the real socket and the shipped sender."""

import asyncio
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.sender import AsyncSender
from runs.sender.replay import lines, scheduled

ROOM = 5_000  # events that may wait for the server before reading goes on
PIECE = 1024 * 1024
CLOSED_WITHIN = 60.0  # seconds the server may take for the last events


class Command(BaseCommand):
    help = "Play recorded .jsonl files to a server, each as a stream of its own."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
        parser.add_argument(
            "--speed",
            type=float,
            help="1 is the recording's own pace, 10 ten times as fast; default: no waiting",
        )
        parser.add_argument(
            "--url", default="http://127.0.0.1:8000", help="the server (default: %(default)s)"
        )
        parser.add_argument("--token", help="the project's ingest token (default: FOOTPRINT_TOKEN)")

    def handle(
        self, *args: Any, files: list[Path], speed: float | None, url: str, token: str | None, **options: Any
    ) -> None:
        token = token or os.environ.get("FOOTPRINT_TOKEN")
        if not token:
            raise CommandError("An ingest token is needed: --token, or FOOTPRINT_TOKEN in the environment.")
        if speed is not None and not speed > 0:
            raise CommandError("--speed: expected a number above 0.")
        logging.getLogger("footprint.sender").setLevel(logging.ERROR)  # what matters is said below
        for path in files:
            try:
                self.stdout.write(asyncio.run(_play(path, speed, url, token)))
            except OSError as problem:
                raise CommandError(f"{path}: {problem.strerror}.") from None


async def _play(path: Path, speed: float | None, url: str, token: str) -> str:
    """One file; a sentence about how it went."""
    sender = AsyncSender(url, token=token, name=path.stem)
    read = 0
    with path.open("rb") as file:
        sender.start()
        for wait, line in scheduled(lines(_pieces(file)), speed):
            if wait:
                await asyncio.sleep(wait)
            sender.emit_text(line)
            read += 1
            while sender.status.buffered > ROOM and sender.state != "stopped":
                await asyncio.sleep(0.01)
            if sender.state == "stopped":
                break
    settled = await sender.close(CLOSED_WITHIN)
    status = sender.status
    if not settled:
        raise CommandError(f"{path}: {status.error or 'The server has not confirmed everything.'}")
    return f"{path}: {read} events read, {status.last} sent as listed, {status.refused_count} refused."


def _pieces(file: Any) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        yield piece
