"""No row without its parents: what the database itself does not check on the hot tables (runs/models/came_in.py)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection


def orphans() -> list[str]:
    """`table.column: how many` for every reference to a row that is not there."""
    found = []
    with connection.cursor() as cursor:
        for model in apps.get_app_config("runs").get_models():
            for field in model._meta.concrete_fields:
                if not field.is_relation or field.db_constraint:
                    continue
                child, parent = model._meta.db_table, field.related_model._meta.db_table
                cursor.execute(
                    f"SELECT count(*) FROM {child} c WHERE c.{field.column} IS NOT NULL"
                    f" AND NOT EXISTS (SELECT 1 FROM {parent} p WHERE p.id = c.{field.column})"
                )
                [(count,)] = cursor.fetchall()
                if count:
                    found.append(f"{child}.{field.column}: {count}")
    return found


@pytest.fixture(autouse=True)
def no_orphans(request: pytest.FixtureRequest) -> Iterator[None]:
    """After every test with a database. A folder's conftest.py imports it."""
    marker = request.node.get_closest_marker("django_db")
    if marker is not None:
        request.getfixturevalue("transactional_db" if marker.kwargs.get("transaction") else "db")
    yield
    if marker is not None:
        assert orphans() == []
