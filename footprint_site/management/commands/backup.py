"""`manage.py backup FILE`: a copy of the database, made while the server writes."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from footprint_site import backups

POSTGRESQL = (
    "This database is on PostgreSQL, whose own tool makes the backup while the server runs:\n"
    '  pg_dump --format=custom --file={file} "$DATABASE_URL"'
)


class Command(BaseCommand):
    help = "Copy the SQLite database to a file while the server runs, and check the copy."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the file to write; it must not exist")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if connection.vendor != "sqlite":
            raise CommandError(POSTGRESQL.format(file=file))
        try:
            contents = backups.back_up(Path(connection.settings_dict["NAME"]), file)
        except backups.Refused as problem:
            raise CommandError(str(problem)) from None
        self.stdout.write(f"{file} is whole: {contents}.")
