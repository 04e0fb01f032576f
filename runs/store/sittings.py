"""Who sits before which open page: sessions, people and roles, read for many pages in three queries.

Before anything is sent to an open page, its session, its person and that person's role are read again here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from runs.store.ask import among_ids, among_words, ask, listed
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
    """The seats of those who still have one: logged in, active, a member. Everybody else is absent.

    Asked before everything that is sent to an open page, so in plain statements (store/ask.py).
    """
    asked = set(sittings)
    people = _people({sitting.session for sitting in asked})
    keys = listed({sitting.project for sitting in asked})
    projects = {row.key: row for row in map(_project, ask(_PROJECTS + among_words("key"), keys))}
    members = _MEMBERS + among_words("project.key") + " AND " + among_ids("member.user_id")
    found_roles = ask(members, keys, listed({person.id for person in people.values()}))
    roles = {(user, key): role for user, key, role in found_roles}
    found = {}
    for sitting in asked:
        person, project = people.get(sitting.session), projects.get(sitting.project)
        if person is None or project is None:
            continue
        role = ADMIN if person.is_superuser else roles.get((person.id, sitting.project))
        if role is not None:
            found[sitting] = Seat(project, role)
    return found


def project_row(project_id: int) -> ProjectRow | None:
    for values in ask(_PROJECTS + "id = %s", project_id):
        return _project(values)
    return None


@dataclass(frozen=True, slots=True)
class _Person:
    id: int
    is_superuser: bool


_PROJECTS = f"SELECT {', '.join(_COLUMNS)} FROM runs_project WHERE "
_MEMBERS = (
    "SELECT member.user_id, project.key, member.role "
    "FROM runs_membership member JOIN runs_project project ON project.id = member.project_id WHERE "
)
_SESSIONS = "SELECT session_key, session_data FROM django_session WHERE expire_date > %s AND "
_USERS = "SELECT id, password, is_active, is_superuser FROM auth_user WHERE "


def _project(values: tuple[Any, ...]) -> ProjectRow:
    id, key, name, epoch, time_zone, keep_text, words_version = values
    return ProjectRow(id, key, name, epoch, time_zone, bool(keep_text), words_version)


def _people(session_keys: set[str]) -> dict[str, _Person]:
    """The active people of the sessions that still hold: not expired, and of the password that made them."""
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    live = ask(_SESSIONS + among_words("session_key"), now, listed(session_keys))
    held = {key: _read_session(data) for key, data in live}
    ids = listed({user for user, _ in held.values()})
    users = {
        id: (_Person(id, bool(is_superuser)), password)
        for id, password, is_active, is_superuser in ask(_USERS + among_ids("id"), ids)
        if is_active
    }
    found = {}
    for key, (user, made_by) in held.items():
        if user not in users:
            continue
        person, password = users[user]
        if constant_time_compare(made_by, _session_hash(password)):
            found[key] = person
    return found


@lru_cache(maxsize=4096)
def _read_session(data: str) -> tuple[int, str]:
    """The person of a session as it is stored, 0 for nobody, and the hash of the password it was made by."""
    told = Session(session_data=data).get_decoded()
    if BACKEND_SESSION_KEY not in told:
        return 0, ""
    return int(told.get(SESSION_KEY, 0)), told.get(HASH_SESSION_KEY, "")


@lru_cache(maxsize=4096)
def _session_hash(password: str) -> str:
    """What a session made by this (hashed) password says."""
    return get_user_model()(password=password).get_session_auth_hash()
