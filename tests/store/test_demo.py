"""The demo starts again on the same data."""

import pytest
from django.contrib.auth.models import User

from runs.models import Membership, Project, Token
from runs.store import demo
from runs.store.tokens import create_token, find_token

pytestmark = pytest.mark.django_db


def test_twice_is_once():
    first = demo.prepare("secret-1")
    own, _ = create_token(Project.objects.get().pk, "mine", None)
    Project.objects.update(name="Renamed")
    second = demo.prepare("secret-1")
    assert (Project.objects.count(), User.objects.count(), Membership.objects.count()) == (1, 3, 3)
    assert {m.user.username: m.role for m in Membership.objects.all()} == {
        "ada": "admin",
        "omar": "operator",
        "rhea": "reader",
    }
    assert find_token(first.token) is None
    assert find_token(second.token) is not None
    assert Token.objects.filter(pk=own.id).exists()
    assert User.objects.get(username="rhea").check_password("secret-1")


def test_people_who_are_not_the_demos_are_left_alone():
    User.objects.create_user("ada", email="ada@northwind.example")
    with pytest.raises(demo.NotADemo, match="a user named 'ada' who is not the demo's"):
        demo.prepare("secret-1")
