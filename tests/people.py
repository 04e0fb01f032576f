"""The people of every story: Ada runs Northwind, Omar operates its agents, Rhea reads, and Sam is a stranger there.

Sam is admin of another project, Elsewhere; Root is a superuser. Load the fixtures with

    from tests.people import *  # noqa: F403   (in a conftest.py)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client

from runs.models import Membership, Project, Role

__all__ = ["People", "gather", "people"]


@dataclass(frozen=True, slots=True)
class People:
    northwind: Project
    elsewhere: Project
    ada: Any  # admin of Northwind
    omar: Any  # operator of Northwind
    rhea: Any  # reader of Northwind
    sam: Any  # admin of Elsewhere, a stranger to Northwind
    root: Any  # superuser, member of nothing

    def browser(self, name: str | None) -> Client:
        """A browser in which the person of this name is logged in; None: nobody is."""
        client = Client()
        if name is not None:
            client.force_login(getattr(self, name))
        return client

    def headers(self, name: str | None, origin: str = "http://testserver") -> list[tuple[bytes, bytes]]:
        """What that browser brings when one of its pages opens a websocket."""
        brought = [(b"host", b"testserver"), (b"origin", origin.encode())]
        session = self.browser(name).cookies.get(settings.SESSION_COOKIE_NAME)
        if session is not None:
            brought.append((b"cookie", f"{session.key}={session.value}".encode()))
        return brought


def gather() -> People:
    """Makes the people and their two projects in the test's database."""
    users = get_user_model().objects
    northwind = Project.objects.create(name="Northwind", time_zone="Europe/Berlin")
    elsewhere = Project.objects.create(name="Elsewhere")

    def member(name: str, project: Project, role: Role) -> Any:
        user = users.create_user(name, password=f"{name}-walks-here")
        Membership.objects.create(project=project, user=user, role=role)
        return user

    return People(
        northwind=northwind,
        elsewhere=elsewhere,
        ada=member("ada", northwind, Role.ADMIN),
        omar=member("omar", northwind, Role.OPERATOR),
        rhea=member("rhea", northwind, Role.READER),
        sam=member("sam", elsewhere, Role.ADMIN),
        root=users.create_superuser("root", password="root-walks-here"),
    )


@pytest.fixture
def people(db: None) -> People:
    return gather()
