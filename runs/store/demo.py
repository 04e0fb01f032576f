"""What the demo needs in the database: three people, one project, a token. Never doubled."""

from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction

from runs.models import Membership, Project, Role, Token
from runs.store import tokens

PROJECT = "Northwind demo"
TOKEN_LABEL = "The demo's own agent"
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
    """The people, the project and a fresh token; the password is (again) this one.

    On the same data the same people and the same project, also when it was renamed. The last start's token is
    replaced: its secret is known to nobody any more.
    """
    people = {person.role: _person(person, password) for person in PEOPLE}
    project = Project.objects.filter(membership__user=people[Role.ADMIN]).order_by("pk").first()
    if project is None:
        project = Project.objects.create(name=PROJECT)
    for role, user in people.items():
        Membership.objects.get_or_create(project=project, user=user, defaults={"role": role})
    Token.objects.filter(project=project, label=TOKEN_LABEL).delete()
    _, secret = tokens.create_token(project.pk, TOKEN_LABEL, None)
    return DemoLogins(PEOPLE, password, secret)


def _person(person: Person, password: str) -> User:
    user, made = get_user_model().objects.get_or_create(
        username=person.name,
        # The admin may enter Django's admin too, which shows the projects whose admin somebody is.
        defaults={"email": person.name + MARK, "is_staff": person.role == Role.ADMIN},
    )
    if not made and user.email != person.name + MARK:
        raise NotADemo(
            f"This database already has a user named {person.name!r} who is not the demo's. "
            "Set FOOTPRINT_DATA (or DATABASE_URL) to another place and start the demo there."
        )
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    return user
