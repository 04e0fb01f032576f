"""`manage.py demo`: the dashboard with a project, three people and an agent that never stops running."""

from typing import Any

from channels.routing import get_default_application
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections


class Command(BaseCommand):
    help = "Serve the dashboard with a demo project and a running agent. Starts again on the same data."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--port", type=int, help="port; default: the first free one from 8000; 0: any free one"
        )

    def handle(self, *args: Any, port: int | None, **options: Any) -> None:
        from footprint_site import server, starting  # daphne chooses Twisted's reactor when it is imported

        starting.stop_quietly_until_served()
        try:
            listening = starting.listen("127.0.0.1", port)  # this machine only: its log-ins are printed
        except starting.PortTaken as problem:
            raise CommandError(str(problem)) from None

        from footprint_site.agent_process import demo_agent
        from footprint_site.env import kept_secret
        from runs.store import demo

        call_command("migrate", verbosity=0, interactive=False)
        try:
            logins = demo.prepare(kept_secret(settings.DATA_DIR / "demo-password", length=9))
        except demo.NotADemo as problem:
            raise CommandError(str(problem)) from None
        connections.close_all()  # this thread goes on as the server's loop, which asks no database

        url = starting.address(listening)
        agent = demo_agent(url, logins.token)

        def start() -> None:
            agent.start()
            self.stdout.write(f"Footprint is at {url}/ - log in as one of")
            for person in logins.people:
                self.stdout.write(f"  {person.name:<6} {person.role:<9} password {logins.password}")
            self.stdout.write("An agent is running and reports here. Stop both with Ctrl-C.")
            self.stdout.flush()

        server.serve(get_default_application(), listening, on_start=start, on_stop=agent.stop)
