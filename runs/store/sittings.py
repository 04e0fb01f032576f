"""Who sits before which open page: sessions, people and roles, read for many pages in three queries.

Before anything is sent to an open page, its session, its person and that person's role are read again here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from runs.models import Membership, Project
from runs.store.people import ADMIN, ProjectRow

_COLUMNS = ("id", "key", "name", "epoch", "time_zone", "keep_text", "words_version")


@dataclass(frozen=True, slots=True)
class Sitting:
    """One open page: the session's key (never shown, never sent) and the project's."""

    session: str
    project: str


@dataclass(frozen=True, slots=True)
class Seat:
    """What a sitting may see: the project as it is now, and the role."""

    project: ProjectRow
    role: str


def seats(sittings: Iterable[Sitting]) -> dict[Sitting, Seat]:
    """The seats of those who still have one: logged in, active, a member. Everybody else is absent."""
    asked = set(sittings)
    people = _people({sitting.session for sitting in asked})
    keys = {sitting.project for sitting in asked}
    projects = {
        row[1]: ProjectRow(*row) for row in Project.objects.filter(key__in=keys).values_list(*_COLUMNS)
    }
    members = Membership.objects.filter(user_id__in={p.pk for p in people.values()}, project__key__in=keys)
    roles = {(user, key): role for user, key, role in members.values_list("user_id", "project__key", "role")}
    found = {}
    for sitting in asked:
        person, project = people.get(sitting.session), projects.get(sitting.project)
        if person is None or project is None:
            continue
        role = ADMIN if person.is_superuser else roles.get((person.pk, sitting.project))
        if role is not None:
            found[sitting] = Seat(project, role)
    return found


def project_row(project_id: int) -> ProjectRow | None:
    row = Project.objects.filter(pk=project_id).values_list(*_COLUMNS).first()
    return None if row is None else ProjectRow(*row)


def _people(session_keys: set[str]) -> dict[str, User]:
    """The active people of the sessions that still hold: not expired, and of the password that made them."""
    live = Session.objects.filter(session_key__in=session_keys, expire_date__gt=timezone.now())
    held = {session.session_key: session.get_decoded() for session in live}
    users = get_user_model().objects.in_bulk(
        [
            int(data[SESSION_KEY])
            for data in held.values()
            if BACKEND_SESSION_KEY in data and SESSION_KEY in data
        ]
    )
    found = {}
    for key, data in held.items():
        person = users.get(int(data.get(SESSION_KEY, 0)))
        if person is None or not person.is_active:
            continue
        if constant_time_compare(data.get(HASH_SESSION_KEY, ""), person.get_session_auth_hash()):
            found[key] = person
    return found
