"""Rows of any table with the least that must be said: for tests that count what is left after a deletion."""

from itertools import count

from django.apps import apps
from django.db import models

from runs.models import ID_BITS

_n = count(1)


def fill(model, **said):
    """One row of `model`; what is not said gets a value of its field's kind."""
    values = dict(said)
    project = said.get("project") or (said["stream"].project if "stream" in said else None)
    for field in model._meta.concrete_fields:
        if field.name in values or field.has_default() or field.null:
            continue
        if field.primary_key:
            if model.__module__.startswith("runs.models.") and _has_own_ids(model):
                values[field.name] = project.pk << ID_BITS | next(_n)
        elif isinstance(field, models.CharField | models.TextField):
            values[field.name] = "" if field.blank else f"x{next(_n)}"
        elif isinstance(field, models.IntegerField):
            values[field.name] = 1 if field.name == "epoch" else next(_n)
    return model.objects.create(**values)


def _has_own_ids(model):
    return {"KeptEvent", "Note"} & {model.__name__} or any(b.__name__ == "RecordRow" for b in model.__mro__)


def rows_of_every_table():
    """Table -> how many rows, for every table of the product."""
    return {model.__name__: model.objects.count() for model in apps.get_app_config("runs").get_models()}
