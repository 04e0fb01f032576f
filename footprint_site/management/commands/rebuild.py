"""`manage.py rebuild`: the record made anew from the kept events and notes, while the server runs."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.announce import ring_from_sync
from runs.record.rebuild import rebuild
from runs.store import remake


class Command(BaseCommand):
    help = "Make the record anew from kept events and notes. Safe while the server runs; pages follow by themselves."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--project", help="key of one project (the part after /p/); default: every project"
        )

    def handle(self, *args: Any, project: str | None, **options: Any) -> None:
        found = remake.project_ids(project)
        if not found:
            raise CommandError("There is no such project.")
        for project_id in found:
            changed = rebuild(project_id)
            if changed is not None:
                ring_from_sync(changed)
                self.stdout.write(f"project {project_id}: rebuilt to position {changed.position}")
