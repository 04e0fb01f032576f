"""What the demo needs in the database: three people, one project, a token. Never doubled."""

from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.db import transaction

PROJECT = "Northwind demo"
MARK = "@demo.invalid"  # the demo's people are told from real ones by their address


class NotADemo(Exception):
    """The sentence to show: this database has people of the same names who are not the demo's."""


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    role: str  # admin, operator, reader


@dataclass(frozen=True, slots=True)
class DemoLogins:
    people: tuple[Person, ...]
    password: str  # one for all three
    token: str  # the demo agent's ingest token


PEOPLE = (Person("ada", "admin"), Person("omar", "operator"), Person("rhea", "reader"))


@transaction.atomic
def prepare(password: str) -> DemoLogins:
    """The people, the project and a fresh token; the password is (again) this one."""
    users = get_user_model().objects
    for person in PEOPLE:
        user, made = users.get_or_create(username=person.name, defaults={"email": person.name + MARK})
        if not made and user.email != person.name + MARK:
            raise NotADemo(
                f"This database already has a user named {person.name!r} who is not the demo's. "
                "Set FOOTPRINT_DATA (or DATABASE_URL) to another place and start the demo there."
            )
        if not user.check_password(password):
            user.set_password(password)
            user.save(update_fields=["password"])
    # Here the project, its memberships and the token join in, when their models are there.
    return DemoLogins(PEOPLE, password, token="")
