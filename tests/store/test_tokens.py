"""A token is shown once, kept as a hash, found by its secret and gone when it is revoked."""

import hashlib
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from runs.models import Project, Token
from runs.store import tokens

pytestmark = pytest.mark.django_db


@pytest.fixture
def project():
    return Project.objects.create(name="Northwind")


def test_the_secret_is_kept_nowhere(project):
    row, secret = tokens.create_token(project.pk, " laptop ", User.objects.create_user("ada"))
    assert secret.startswith("fp_")
    assert len(secret) == 3 + 43  # 32 bytes in base64url
    kept = Token.objects.values().get()
    assert kept["digest"] == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in map(str, kept.values())
    assert (row.hint, row.label, row.created_by) == (secret[:8], "laptop", "ada")


def test_a_token_is_found_by_its_secret_until_it_is_revoked(project):
    row, secret = tokens.create_token(project.pk, "", None)
    assert tokens.find_token(secret) == row
    assert tokens.tokens_in_force([row.id]) == {row.id}
    assert tokens.revoke_token(project.pk, row.id)
    assert tokens.find_token(secret) is None
    assert tokens.tokens_in_force([row.id]) == frozenset()
    first = Token.objects.get().revoked_at
    assert tokens.revoke_token(project.pk, row.id)
    assert Token.objects.get().revoked_at == first


@pytest.mark.parametrize(
    "secret", [None, 7, "", "fp_", "fp_\ud83d", "fp_" + "a" * 43, "x" * 100_000, ["fp_"]]
)
def test_any_other_value_finds_nothing(project, secret):
    tokens.create_token(project.pk, "", None)
    assert tokens.find_token(secret) is None


def test_another_projects_token_is_not_revoked(project):
    row, secret = tokens.create_token(project.pk, "", None)
    other = Project.objects.create(name="Other")
    assert not tokens.revoke_token(other.pk, row.id)
    assert tokens.find_token(secret) is not None


def test_last_used_is_noted_at_most_once_a_minute(project):
    row, secret = tokens.create_token(project.pk, "", None)
    assert row.last_used_at is None
    tokens.touch_used(row.id)
    first = tokens.find_token(secret).last_used_at
    tokens.touch_used(row.id)
    assert tokens.find_token(secret).last_used_at == first
    Token.objects.update(last_used_at=timezone.now() - timedelta(minutes=2))
    tokens.touch_used(row.id)
    assert tokens.find_token(secret).last_used_at >= first


def test_a_label_is_one_plain_line():
    assert tokens.label_problem("CI of the shop") is None
    assert tokens.label_problem("") is None
    assert "U+202E" in tokens.label_problem("a\u202eb")
    assert "at most 80" in tokens.label_problem("a" * 81)


def test_the_command_prints_a_working_token_and_nothing_else(project, capsys):
    call_command("token", project="Northwind")
    printed = capsys.readouterr().out
    assert tokens.find_token(printed.strip()).project_id == project.pk


def test_the_command_says_which_projects_there_are(project):
    from django.core.management import CommandError

    with pytest.raises(CommandError, match=r"no project named 'Elsewhere'\. There is: Northwind"):
        call_command("token", project="Elsewhere")
    Project.objects.create(name="Northwind")
    with pytest.raises(CommandError, match="2 projects are named 'Northwind'"):
        call_command("token", project="Northwind")
    call_command("token", project=project.key)
