"""`manage.py restore FILE`: a backup in the place of the database, which is kept aside."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from footprint_site import backups

POSTGRESQL = (
    "This database is on PostgreSQL. Stop the servers, and its own tool brings the backup back:\n"
    '  pg_restore --clean --if-exists --no-owner --dbname="$DATABASE_URL" {file}'
)


class Command(BaseCommand):
    help = "Put a backup in the place of the SQLite database. The server must be stopped; the old one is kept aside."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="what `manage.py backup` wrote")
        parser.add_argument("--yes", action="store_true", help="replace the database that is there")

    def handle(self, *args: Any, file: Path, yes: bool, **options: Any) -> None:
        if connection.vendor != "sqlite":
            raise CommandError(POSTGRESQL.format(file=file))
        database = Path(connection.settings_dict["NAME"])
        aside = database.with_name(f"{database.name}.before-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
        try:
            contents = backups.check(file)
            self._is_not_newer(contents)
            there = database.exists() and database.stat().st_size > 0
            if there and not yes:
                raise CommandError(
                    f"{database} exists. With --yes it is replaced, and kept as {aside.name} beside it."
                )
            connection.close()  # this process must not be the one that has it open
            backups.restore(file, database, aside)
        except backups.Refused as problem:
            raise CommandError(str(problem)) from None
        call_command("migrate", verbosity=0, interactive=False)  # the backup may be of an older version
        self.stdout.write(f"{database} is restored: {contents}.")
        if aside.exists():
            self.stdout.write(f"What was there before is {aside}.")

    def _is_not_newer(self, contents: backups.Contents) -> None:
        known = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
        unknown = sorted(f"{app}.{name}" for app, name in contents.migrations if (app, name) not in known)
        if unknown:
            raise CommandError(
                f"The backup is of a newer version of Footprint (it has seen {unknown[-1]}). Upgrade, then restore it."
            )
