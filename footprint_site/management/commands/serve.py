"""`manage.py serve`: the dashboard, ready to take in events."""

from typing import Any

from channels.routing import get_default_application
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections


class Command(BaseCommand):
    help = "Bring the database up to date and serve the dashboard until Ctrl-C or SIGTERM."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
        parser.add_argument(
            "--port", type=int, help="port; default: the first free one from 8000; 0: any free one"
        )
        parser.add_argument(
            "--no-migrate", action="store_true", help="leave the database as it is (another process migrates)"
        )

    def handle(self, *args: Any, host: str, port: int | None, no_migrate: bool, **options: Any) -> None:
        from footprint_site import server  # daphne chooses Twisted's reactor when it is imported

        server.stop_quietly_until_served()
        try:
            listening = server.listen(host, port)
        except server.PortTaken as problem:
            raise CommandError(str(problem)) from None
        if not no_migrate:
            call_command("migrate", verbosity=0, interactive=False)
            connections.close_all()  # this thread goes on as the server's loop, which asks no database

        url = server.address(listening)

        def say() -> None:
            self.stdout.write(f"Footprint is at {url}/ - stop it with Ctrl-C.")
            self.stdout.flush()

        server.serve(get_default_application(), listening, on_start=say)
