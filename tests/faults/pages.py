"""Open pages of a house, and what they must come to show."""

import urllib.error
import urllib.request

from runs.models import Answer
from tests.faults.house import SOON, House, until
from tests.faults.watcher import Watcher
from tests.server_process import run_on

LOG_IN = """
import json
from django.contrib.auth import get_user_model
from django.test import Client
root, client = get_user_model().objects.create_superuser("root", password="root-walks-here"), Client()
client.force_login(root)
print(client.cookies["sessionid"].value)
"""


def open_answer(home: House, session: str) -> Watcher:
    """Open the page of the first project's only answer; returns when it shows something."""
    watcher = Watcher(home.cable.url, session, *address_of_answer(home))
    assert watcher.shown.wait(SOON), "an open page was never shown anything"
    return watcher


def assert_shows_what_there_is(home: House, watchers: list[Watcher], session: str) -> None:
    """Each open page comes to show, row for row, what one shows that is opened now. Closes them."""
    fresh = open_answer(home, session)
    there = dict(fresh.rows)
    assert len(there) > 20
    try:
        for watcher in watchers:
            until(lambda one=watcher: one.rows == there, "an open page never showed what there is", within=15)
    except AssertionError:
        for watcher in watchers:
            other = [number for number, row in there.items() if watcher.rows.get(number) != row]
            assert other == [], f"{len(watcher.rows)} of {len(there)} rows"
        raise
    finally:
        for watcher in (*watchers, fresh):
            watcher.leave()


def address_of_answer(home: House) -> tuple[str, str]:
    """The project's key and the answer's."""
    project = next(iter(home.projects.values()))
    until(lambda: bool(home.database.rows(Answer, "slug", project=project)), "there is no answer")
    [(slug, key)] = home.database.rows(Answer, "slug", "project__key", project=project)
    return key, slug


def get(home: House, session: str, place: str, key: str) -> tuple[int, str]:
    """The status and the body of a page of the project with this key."""
    request = urllib.request.Request(
        f"{home.cable.url}/p/{key}/{place}", headers={"Cookie": f"sessionid={session}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=SOON) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read().decode()


def log_in(home: House) -> str:
    """The session of a superuser, who may see every project."""
    return run_on(home.running, LOG_IN)
