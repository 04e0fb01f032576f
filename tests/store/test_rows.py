"""The fold's row types and the tables say the same."""

import pytest
from django.apps import apps

from runs.store.rows import TABLES, Row


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_a_row_type_has_its_tables_columns(table: type[Row]) -> None:
    model = next(m for m in apps.get_app_config("runs").get_models() if m._meta.db_table == table.table)
    assert set(table.columns()) == {
        field.column
        for field in model._meta.get_fields()
        if hasattr(field, "column") and not field.generated  # what the database makes itself
    }
