"""What a migration does to rows that are there already."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from tests.people import gather
from tests.sample import make

pytestmark = pytest.mark.django_db(transaction=True)


def executor_of_steps() -> MigrationExecutor:
    """Of the single steps: a new database took them all as one (0001_all)."""
    executor = MigrationExecutor(connection)
    executor.loader = MigrationLoader(connection, replace_migrations=False)
    return executor


def test_calls_from_before_0004_get_the_place_of_the_run_that_opened_their_answer() -> None:
    from runs.models import Run, ToolCall

    northwind = gather().northwind
    make(northwind)
    told = dict(ToolCall.objects.values_list("id", "run_position"))
    facets = dict(Run.objects.values_list("id", "facets"))
    try:
        executor_of_steps().migrate([("runs", "0001_initial")])
    finally:
        executor_of_steps().migrate([("runs", "0007_second_readings")])
    assert dict(ToolCall.objects.values_list("id", "run_position")) == told
    assert 0 not in told.values()
    assert dict(Run.objects.values_list("id", "facets")) == facets
    assert "failed|f|" in facets.values()
