"""`manage.py retain`: what the projects no longer keep is deleted now, instead of at the server's next look."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.intake.retention import retain_once
from runs.intake.writer import now_ms
from runs.rules import retention as rules
from runs.store import remake
from runs.store.retention import projects_due


class Command(BaseCommand):
    help = "Delete the runs that the projects' retention no longer keeps. Safe while the server runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--project", help="key of one project (the part after /p/); default: every project"
        )

    def handle(self, *args: Any, project: str | None, **options: Any) -> None:
        found = remake.project_ids(project)
        if not found:
            raise CommandError("There is no such project.")
        wanted = found[0] if project else None
        dues = projects_due(now_ms(), wanted)
        for due in dues:
            tally = retain_once(due)
            self.stdout.write(
                f"project {due.project_id}: {tally.runs} runs deleted, {tally.rows} rows of them cleared. "
                + rules.sentence(due.limits)
            )
        if not dues:
            self.stdout.write("Everything is kept: no limit is set.")
