"""An admin's display names: set, cleared, and who did it when. Append-only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from runs.models import DisplayName, Project
from runs.rules.display_name import ecma_trim, read_display_name
from runs.store.words import name_problem, registered_names

MAX_TOOL_CHARS = 256


@dataclass(frozen=True, slots=True)
class NameSet:
    """One line of a tool's history. `text` None: the words set here were cleared. `by` None: that person is gone."""

    text: str | None
    by: str | None
    at: datetime


@transaction.atomic
def set_display_name(project_id: int, tool: str, text: str, user: User | None) -> str | None:
    """Sets the words of `tool`; empty words clear them. The sentence why not, or None when it is saved.

    Bumps the project's words version under its lock, so that every open page reads again. The same words twice are
    saved once.
    """
    project = Project.objects.select_for_update().get(pk=project_id)
    words = ""
    if ecma_trim(text):
        problem = name_problem(text, registered_names(project.pk, project.epoch))
        if problem is not None:
            return problem
        words = read_display_name(text) or ""
    before = DisplayName.objects.filter(project=project, tool=tool).order_by("-id").first()
    if words == ("" if before is None else before.text):
        return None
    DisplayName.objects.create(project=project, tool=tool, text=words, set_by=user, position=project.position)
    Project.objects.filter(pk=project.pk).update(words_version=F("words_version") + 1)
    return None


def name_history(project_id: int, tool: str, limit: int = 50) -> list[NameSet]:
    """The words set here for `tool`, newest first."""
    rows = (
        DisplayName.objects.filter(project_id=project_id, tool=tool).select_related("set_by").order_by("-id")
    )
    return [
        NameSet(
            read_display_name(row.text), None if row.set_by is None else row.set_by.get_username(), row.set_at
        )
        for row in rows[:limit]
    ]
