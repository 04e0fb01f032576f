"""Who may see what: projects, and the role a person has in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from runs.models import Membership, Project, Role

READER: Final = Role.READER.value
OPERATOR: Final = Role.OPERATOR.value
ADMIN: Final = Role.ADMIN.value


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """What every page needs of a project. `epoch`: only record rows of it count."""

    id: int
    key: str
    name: str
    epoch: int
    time_zone: str
    keep_text: bool
    words_version: int


@dataclass(frozen=True, slots=True)
class Place:
    """One project of a person and the role there: reader, operator or admin."""

    key: str
    name: str
    role: str


_COLUMNS = ("id", "key", "name", "epoch", "time_zone", "keep_text", "words_version")


def project_for(user_id: int, superuser: bool, key: str) -> tuple[ProjectRow, str] | None:
    """The project and the person's role in it; None for a stranger, and for a project that does not exist."""
    if superuser:
        values = Project.objects.filter(key=key).values_list(*_COLUMNS).first()
        return None if values is None else (ProjectRow(*values), ADMIN)
    found = (
        Membership.objects.filter(user_id=user_id, project__key=key)
        .values_list(*(f"project__{column}" for column in _COLUMNS), "role")
        .first()
    )
    return None if found is None else (ProjectRow(*found[:-1]), found[-1])


def places_of(user_id: int, superuser: bool) -> tuple[Place, ...]:
    """Every project the person may enter, by name. Superusers are admins everywhere."""
    if superuser:
        everything = Project.objects.order_by("name", "id").values_list("key", "name")
        return tuple(Place(key, name, ADMIN) for key, name in everything)
    mine = Membership.objects.filter(user_id=user_id).order_by("project__name", "project_id")
    return tuple(Place(*row) for row in mine.values_list("project__key", "project__name", "role"))
