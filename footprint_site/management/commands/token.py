"""`manage.py token`: a new ingest token, for scripts."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.store import tokens
from runs.store.project_settings import find_projects, project_names


class Command(BaseCommand):
    help = "Make a new ingest token of a project and print it. It is shown this once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--project", required=True, help="the project's name, or its key from the address"
        )
        parser.add_argument(
            "--label", default="made by manage.py token", help="what the list of tokens says of it"
        )

    def handle(self, *args: Any, project: str, label: str, **options: Any) -> None:
        problem = tokens.label_problem(label)
        if problem is not None:
            raise CommandError(problem)
        found = find_projects(project)
        if not found:
            names = ", ".join(project_names()) or "none yet"
            raise CommandError(f"There is no project named {project!r}. There is: {names}")
        if len(found) > 1:
            keys = ", ".join(one.key for one in found)
            raise CommandError(f"{len(found)} projects are named {project!r}. Say which by its key: {keys}")
        _, secret = tokens.create_token(found[0].id, label, None)
        self.stdout.write(secret)
