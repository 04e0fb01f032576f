"""Settings: safe without any, and each named where people look for it."""

import logging
import re

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from footprint_site import env
from footprint_site import settings as site
from footprint_site.log import WithoutContent
from tests.server_process import ROOT


def test_every_variable_is_in_both_tables():
    at_the_top = set(re.findall(r"^([A-Z_]{6,})  +", site.__doc__, re.M))
    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| `")]
    in_the_readme = {name for row in rows for name in re.findall(r"`([A-Z_]{6,})`", row.split("|")[1])}
    assert at_the_top == in_the_readme
    for name in at_the_top:
        assert (
            f'"{name}"'
            in (ROOT / "footprint_site" / "settings.py").read_text()
            + (ROOT / "footprint_site" / "env.py").read_text()
        )


def test_every_limit_is_told():
    told = (ROOT / "docs" / "limits.md").read_text() + (ROOT / "README.md").read_text()
    read = re.findall(
        r'env\.\w+\(\s*"(FOOTPRINT_\w+)"', (ROOT / "footprint_site" / "settings.py").read_text()
    )
    assert len(read) > 15
    assert [name for name in read if f"`{name}`" not in told] == []


def test_debug_is_off_and_the_policy_is_strict():
    assert site.DEBUG is False
    policy = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == ["'self'"]


@pytest.mark.django_db
def test_sqlite_keeps_what_it_acknowledged():
    if connection.vendor != "sqlite":
        pytest.skip("for SQLite")
    with connection.cursor() as cursor:
        facts = {
            name: cursor.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
        }
    assert facts == {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 10_000, "foreign_keys": 1}


@pytest.mark.parametrize("value", ["maybe", "2"])
def test_a_switch_that_is_none_is_said(monkeypatch, value):
    monkeypatch.setenv("FOOTPRINT_HTTPS", value)
    with pytest.raises(ImproperlyConfigured, match="FOOTPRINT_HTTPS is a switch: expected 1 or 0"):
        env.switch("FOOTPRINT_HTTPS")


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many", "²"])
def test_a_number_that_is_none_is_said(monkeypatch, value):
    monkeypatch.setenv("FOOTPRINT_WINDOW", value)
    with pytest.raises(ImproperlyConfigured, match="FOOTPRINT_WINDOW is a number"):
        env.number("FOOTPRINT_WINDOW", 1000)


def test_the_log_says_where_and_never_what():
    try:
        try:
            raise ValueError("what the agent said")
        except ValueError as error:
            raise RuntimeError("and what it read") from error
    except RuntimeError as error:
        record = logging.LogRecord(
            "footprint", logging.ERROR, __file__, 1, "one batch was not stored", (), None
        )
        record.exc_info = (RuntimeError, error, error.__traceback__)
        text = WithoutContent().format(record)
    assert "one batch was not stored" in text
    assert "builtins.RuntimeError" in text
    assert "builtins.ValueError" in text
    assert "in test_the_log_says_where_and_never_what" in text
    assert "agent said" not in text
    assert "it read" not in text
