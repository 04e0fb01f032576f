"""The log-in is closed for a while to an address from which too many log-ins failed."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.core.management import call_command
from django.test import Client

from tests.people import *  # noqa: F403
from tests.people import People

CLOSED = "Too many log-ins from your address did not fit"
WRONG = "That name and password do not fit together"


@pytest.fixture(autouse=True)
def three_tries(settings: Any) -> None:
    settings.AXES_FAILURE_LIMIT = 3


def log_in(name: str, password: str, address: str = "192.0.2.7", to: str = "/log-in/") -> Any:
    return Client(REMOTE_ADDR=address).post(to, {"username": name, "password": password})


def close_the_door(address: str = "192.0.2.7") -> None:
    assert log_in("ada", "wrong", address).status_code == 200
    assert log_in("nobody", "wrong", address).status_code == 200
    assert log_in("rhea", "wrong", address).status_code == 429


def test_whoever_they_were_for_failed_log_ins_close_the_door_to_their_address(people: People) -> None:
    close_the_door()
    right = log_in("ada", "ada-walks-here")
    assert right.status_code == 429
    assert CLOSED in right.content.decode()
    assert "Wait 15 minutes" in right.content.decode()
    assert right["Retry-After"] == "900"
    # Nobody else is locked out, and Ada is not either, from elsewhere.
    assert log_in("ada", "ada-walks-here", "192.0.2.8").status_code == 302


def test_neither_door_tells_who_exists(people: People) -> None:
    def told(name: str) -> str:
        page = log_in(name, "wrong").content.decode()
        return page[page.index('role="alert"') :].split("</p>")[0]

    wrong = told("ada")
    assert WRONG in wrong
    assert told("nobody") == wrong
    closed = told("ada")
    assert CLOSED in closed
    assert told("nobody") == closed


def test_the_admins_own_log_in_is_the_same_door(people: People) -> None:
    close_the_door()
    tried = log_in("root", "root-walks-here", to="/admin/login/")
    assert tried.status_code == 429
    assert CLOSED in tried.content.decode()
    for _ in range(3):
        last = log_in("root", "wrong", "192.0.2.9", to="/admin/login/")
    assert last.status_code == 429
    assert log_in("root", "root-walks-here", "192.0.2.9").status_code == 429


def test_who_is_logged_in_stays_so(people: People) -> None:
    ada = people.browser("ada")
    close_the_door("127.0.0.1")
    assert ada.get(f"/p/{people.northwind.key}/runs/").status_code == 200


def test_a_house_is_one_address(people: People) -> None:
    for number in range(2):
        log_in("ada", "wrong", f"2001:db8:1:2::{number}")
    assert log_in("ada", "wrong", "2001:db8:1:2:ffff::1").status_code == 429
    assert log_in("ada", "wrong", "2001:db8:1:3::1").status_code == 200


def test_the_door_opens_again_by_itself_and_trying_on_keeps_it_closed_no_longer(people: People) -> None:
    close_the_door()
    AccessAttempt.objects.update(
        attempt_time=AccessAttempt.objects.get().attempt_time - timedelta(minutes=14)
    )
    before = AccessAttempt.objects.get().attempt_time
    assert log_in("ada", "ada-walks-here").status_code == 429
    assert AccessAttempt.objects.get().attempt_time == before
    AccessAttempt.objects.update(attempt_time=before - timedelta(minutes=2))
    assert log_in("ada", "ada-walks-here").status_code == 302


@pytest.mark.parametrize("command", [["axes_reset"], ["axes_reset_ip", "192.0.2.7"]])
def test_whoever_runs_the_server_opens_it(people: People, command: list[str], capsys: Any) -> None:
    close_the_door()
    call_command(*command)
    assert log_in("ada", "ada-walks-here").status_code == 302


def test_what_was_typed_is_kept_nowhere(people: People) -> None:
    log_in("my password by mistake", "secret one")
    [attempt] = AccessAttempt.objects.all()
    kept = " ".join(str(value) for value in vars(attempt).values())
    assert "mistake" not in kept
    assert "secret" not in kept
    assert attempt.ip_address == "192.0.2.7"
