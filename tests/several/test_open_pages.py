"""Open pages of one process see at once what another took in or changed. They never look by themselves here."""

import contextlib
import json
import re
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from runs.models import Answer, Membership
from tests.cable import Cable
from tests.faults.house import Agent
from tests.faults.instances import OwnRedis, own_redis
from tests.faults.stories import long_answer
from tests.server_process import ServerProcess, run_on
from tests.several import NEEDS_BOTH, until
from tests.several.street import PROJECT, Street, cable_to, street

pytestmark = NEEDS_BOTH

EVENTS_A_CALL = 4
PATIENT = {"DJANGO_SETTINGS_MODULE": "tests.several.settings_patient"}
PEOPLE = """
import json
from django.contrib.auth import get_user_model
from django.test import Client
from runs.models import Membership, Project
sessions = {}
for name, role in (("ada", "admin"), ("omar", "operator"), ("rhea", "reader")):
    person = get_user_model().objects.create_user(name)
    Membership.objects.create(user=person, project=Project.objects.get(), role=role)
    client = Client()
    client.force_login(person)
    sessions[name] = client.cookies["sessionid"].value
print(json.dumps(sessions))
"""
REMOVE_RHEA = """
from runs.announce import Changed, ring_from_sync
from runs.models import Membership
membership = Membership.objects.get(user__username="rhea")
membership.delete()
ring_from_sync(Changed(membership.project_id, 1, 0, people=True))
print("removed")
"""


class Page:
    """Somebody's page of the first answer, as far as the live socket sees it."""

    def __init__(self, built: Street, server: ServerProcess, session: str) -> None:
        until(lambda: bool(built.database.rows(Answer, "slug")), "there is an answer", server)
        [(slug, key), *_] = built.database.rows(Answer, "slug", "project__key")
        self.key, self.slug = key, slug
        self.heard: list[dict[str, Any]] = []
        self._socket: ClientConnection = connect(
            server.websocket_url + "/ws/live/",
            additional_headers={"Cookie": f"sessionid={session}"},
            origin=server.url,  # type: ignore[arg-type]
            max_size=None,
        )
        self.watch()
        threading.Thread(target=self._listen, daemon=True).start()
        until(lambda: bool(self.heard), "the page is shown something", server)

    def watch(self) -> None:
        about = {"type": "watch", "page": "answer", "project": self.key, "slug": self.slug, "through": 1000}
        self._socket.send(json.dumps(about))

    def says(self, words: str) -> bool:
        return any(words in part["html"] for message in self.heard for part in message.get("parts", ()))

    def was_told(self, kind: str) -> bool:
        return any(message["type"] == kind for message in self.heard)

    def shows(self, call: int) -> bool:
        return self.says(f'id="call-{call}"')

    def _listen(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            for text in self._socket:
                message = json.loads(text)
                if message["type"] == "again":
                    self.watch()
                self.heard.append(message)


def test_what_one_process_takes_in_and_changes_is_on_the_pages_of_another(tmp_path: Path) -> None:
    with street(tmp_path, environment=PATIENT) as built:
        here, there = built.servers
        with cable_to(there) as cable:
            agent = begun(cable)
            sessions = json.loads(run_on(here, PEOPLE))
            operator, reader = (Page(built, here, sessions[name]) for name in ("omar", "rhea"))

            last = tell(agent)
            until(lambda: reader.shows(last) and operator.shows(last), "both see the calls", here, there)

            rename(there, sessions["ada"], operator.key, "tool_0", "Looking it up elsewhere")
            until(lambda: reader.says("Looking it up elsewhere"), "the rename is seen", here, there)
            assert operator.says("Looking it up elsewhere")

            assert run_on(there, REMOVE_RHEA) == "removed"  # a command is a process too
            until(lambda: reader.was_told("gone"), "who was removed is told to go", here, there)
            assert built.database.rows(Membership, "role") == [("admin",), ("operator",)]
            assert not operator.was_told("gone")

            delete_run(there, sessions["ada"], built)
            until(lambda: operator.was_told("gone"), "the page of a deleted run is told to go", here, there)
            agent.sender.close(timeout=0)


def test_the_doorbell_rings_again_when_redis_is_back(tmp_path: Path) -> None:
    """It is killed and comes back empty, twice; then it stands still. No process is started anew, no flood of words."""
    with (
        own_redis(tmp_path) as redis,
        street(tmp_path, environment={**PATIENT, "REDIS_URL": redis.url}) as built,
    ):
        here, there = built.servers
        with cable_to(there) as cable:
            agent = begun(cable)
            page = Page(built, here, json.loads(run_on(here, PEOPLE))["omar"])
            for time, (away, back) in enumerate(
                [(OwnRedis.kill, OwnRedis.start)] * 2 + [(OwnRedis.freeze, OwnRedis.thaw)]
            ):
                away(redis)
                acked = agent.sender.status.acked
                tell(agent)
                until(lambda n=acked: agent.sender.status.acked > n, "ingest goes on", here, there)
                for server in built.servers:
                    until(said(server, "cannot be told", time + 1), "it is said", server)
                back(redis)
                for server in built.servers:
                    until(said(server, "are told of changes again", time + 1), "it is said", server)
                last = tell(agent)
                until(lambda n=last: page.shows(n), "the page hears again", here, there)
            agent.sender.close(timeout=0)
        for server in built.servers:
            assert server.stop() == 0
            assert "Traceback" not in server.output
            assert server.output.count("footprint.announce") == 6, server.output
            assert "channels_redis" not in server.output


def said(server: ServerProcess, words: str, times: int) -> Callable[[], bool]:
    return lambda: server.output.count(words) >= times


class _Telling(Agent):
    """Told event by event."""

    rest_of_it: Iterator[str]
    steps = 0


def begun(cable: Cable) -> _Telling:
    """An agent in the middle of a long answer."""
    agent = _Telling(PROJECT, cable)
    agent.rest_of_it = long_answer()
    agent.sender.emit_text(next(agent.rest_of_it))
    tell(agent)
    return agent


def tell(agent: _Telling) -> int:
    """Two calls more; the number of the last one."""
    for _ in range(2 * EVENTS_A_CALL):
        agent.sender.emit_text(next(agent.rest_of_it))
    agent.steps += 1
    return 2 * agent.steps


def rename(server: ServerProcess, session: str, project: str, tool: str, words: str) -> None:
    """Ada names a tool on the Tools page of this process."""
    address = f"{server.url}/p/{project}/tools/"
    one = f"{address}one/?{urllib.parse.urlencode({'tool': tool})}"
    send_form(one, one, session, {"words": words})


def delete_run(server: ServerProcess, session: str, built: Street) -> None:
    [(key, slug), *_] = built.database.rows(Answer, "project__key", "run__slug")
    address = f"{server.url}/p/{key}/runs/{slug}/delete/"
    send_form(address, address, session, {"confirm": "Northwind"})


def send_form(page: str, address: str, session: str, fields: dict[str, str]) -> None:
    """As the browser of a person who is logged in."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    shown = browser.open(urllib.request.Request(page, headers={"Cookie": f"sessionid={session}"}))
    form = shown.read().decode()
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
    assert found is not None
    cookie = next(
        value for name, value in shown.headers.items() if name == "Set-Cookie" and "csrftoken" in value
    )
    headers = {"Cookie": f"sessionid={session}; {cookie.partition(';')[0]}", "Referer": page}
    data = urllib.parse.urlencode({**fields, "csrfmiddlewaretoken": found.group(1)}).encode()
    with browser.open(urllib.request.Request(address, data=data, headers=headers)) as answer:
        assert answer.status < 400
