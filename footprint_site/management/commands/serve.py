"""`manage.py serve`: the dashboard, ready to take in events."""

import argparse
import asyncio
import os
import socket
import sys
import tempfile
from typing import Any

from channels.routing import get_default_application
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, connections

from footprint_site import starting
from footprint_site.processes import Processes, say_serving, why_not


class Command(BaseCommand):
    help = "Bring the database up to date and serve the dashboard until Ctrl-C or SIGTERM."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
        parser.add_argument(
            "--port", type=int, help="port; default: the first free one from 8000; 0: any free one"
        )
        parser.add_argument(
            "--processes",
            type=int,
            default=1,
            help="processes that share the port (default: 1); more need PostgreSQL and Redis",
        )
        parser.add_argument(
            "--no-migrate", action="store_true", help="leave the database as it is (another process migrates)"
        )
        # The numbers of the files a process has from its parent: the listening socket, and the line between them.
        parser.add_argument("--inherit", type=int, nargs=2, help=argparse.SUPPRESS)

    def handle(
        self,
        *args: Any,
        host: str,
        port: int | None,
        processes: int,
        no_migrate: bool,
        inherit: list[int] | None,
        **options: Any,
    ) -> None:
        starting.stop_quietly_until_served()
        if inherit is not None:
            self._serve_for_parent(*[socket.socket(fileno=number) for number in inherit])
            return
        problem = why_not(processes, sqlite=connection.vendor == "sqlite", redis=bool(settings.REDIS_URL))
        if problem is not None:
            raise CommandError(problem)
        try:
            listening = starting.listen(host, port)
        except starting.PortTaken as problem:
            raise CommandError(str(problem)) from None
        if not no_migrate:
            call_command("migrate", verbosity=0, interactive=False)
            connections.close_all()  # this thread goes on as the server's loop, which asks no database
        if processes == 1:
            self._serve(listening)
        else:
            self._serve_with(processes, listening)

    def _serve(self, listening: socket.socket) -> None:
        from footprint_site import server  # daphne chooses Twisted's reactor when it is imported

        url = starting.address(listening)
        server.serve(
            get_default_application(),
            listening,
            on_start=lambda: self._say(f"Footprint is at {url}/ - stop it with Ctrl-C."),
        )

    def _serve_with(self, count: int, listening: socket.socket) -> None:
        url = starting.address(listening)

        async def run() -> int:
            said = f"Footprint is at {url}/ with {count} processes - stop them with Ctrl-C."
            return await Processes(count, listening, lambda: self._say(said)).run()

        with tempfile.TemporaryDirectory(prefix="footprint-measures-") as folder:
            # Where the processes put their measures, so that any of them tells the sum (runs/measures.py).
            os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", folder)
            code = asyncio.run(run())
        sys.exit(code)

    def _serve_for_parent(self, listening: socket.socket, line: socket.socket) -> None:
        from footprint_site import server

        server.serve(get_default_application(), listening, on_start=lambda: say_serving(line))

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()
