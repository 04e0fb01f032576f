"""`/health/live` and `/health/ready`: asked by whoever restarts and balances servers, answered in closed words."""

import asyncio
import json
import sqlite3
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from footprint_site import health
from footprint_site.health import Health
from runs.intake import service
from tests.server_process import server_process
from tests.wire import run

READY = {"state": "ready", "database": "ok", "writer": "ok", "redis": "unused"}


def asked(url, method="GET"):
    try:
        with urlopen(Request(url, method=method), timeout=20) as answer:
            return answer.status, json.loads(answer.read() or "null")
    except HTTPError as problem:
        return problem.code, json.loads(problem.read() or "null")


def until(url, expected, within=30.0):
    deadline = time.monotonic() + within
    while (found := asked(url)) != expected:
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def test_a_server_that_cannot_settle_is_alive_and_not_ready(tmp_path: Path) -> None:
    """Somebody else holds the database; as soon as it is let go, the server is ready again."""
    with server_process(data=tmp_path, environment={"FOOTPRINT_READY_SECONDS": "1"}) as server:
        assert asked(server.url + "/health/live") == (200, {"state": "live"})
        assert asked(server.url + "/health/ready") == (200, READY)
        assert asked(server.url + "/health/ready", "HEAD") == (200, None)
        other = sqlite3.connect(tmp_path / "footprint.sqlite3", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        until(server.url + "/health/ready", (503, {**READY, "state": "not-ready", "writer": "stuck"}))
        assert asked(server.url + "/health/live") == (200, {"state": "live"})
        other.execute("ROLLBACK")
        other.close()
        until(server.url + "/health/ready", (200, READY))
        assert server.stop() == 0


class Deaf:
    """A channel layer whose Redis is gone."""

    async def group_send(self, group, message):
        raise ConnectionError("no")


def told(path="/health/ready", method="GET", times=1):
    """What an application with the health's addresses answers: the last status and body."""
    sent = []

    async def behind(scope, receive, send):
        await send({"type": "http.response.start", "status": 418})
        await send({"type": "http.response.body", "body": b"{}"})

    async def send(message):
        sent.append(message)

    async def story():
        application = Health(behind)
        for _ in range(times):
            await application({"type": "http", "path": path, "method": method}, None, send)

    run(story)
    return sent[-2]["status"], json.loads(sent[-1]["body"])


@pytest.mark.django_db(transaction=True)
class TestParts:
    def test_redis_away(self, monkeypatch):
        monkeypatch.setattr(health, "get_channel_layer", Deaf)
        assert told() == (503, {**READY, "state": "not-ready", "redis": "fails"})

    def test_no_database(self, monkeypatch):
        monkeypatch.setattr(health, "_answers", lambda: health.FAILS)
        status, parts = told()
        assert (status, parts["database"]) == (503, "fails")

    def test_a_database_that_never_answers(self, monkeypatch):
        monkeypatch.setattr(health, "ANSWERED_WITHIN_S", 0.05)
        monkeypatch.setattr(health, "_answers", lambda: time.sleep(0.5))
        status, parts = told()
        assert (status, parts["database"]) == (503, "stuck")

    def test_a_writer_that_has_ended(self, monkeypatch):
        class Ended:
            lives = False

        class Service:
            writer = Ended()

        monkeypatch.setattr(service, "running", Service)
        status, parts = told()
        assert (status, parts["writer"]) == (503, "fails")

    def test_many_ask_and_the_parts_are_asked_once(self, monkeypatch):
        asked = []
        monkeypatch.setattr(health, "_answers", lambda: asked.append(1) or health.OK)
        assert told(times=50)[0] == 200
        assert len(asked) == 1


def test_other_addresses_and_methods_are_not_its():
    assert told("/health/")[0] == told("/health/live", "POST")[0] == 418


def test_one_who_leaves_does_not_end_the_look_for_the_others(monkeypatch):
    parts = health._Parts()
    asked = []

    async def slow():
        asked.append(1)
        await asyncio.sleep(0.05)
        return {"state": "ready"}

    monkeypatch.setattr(parts, "_ask", slow)

    async def story():
        leaving = asyncio.ensure_future(parts.told())
        staying = asyncio.ensure_future(parts.told())
        await asyncio.sleep(0)
        leaving.cancel()
        return await staying

    assert asyncio.run(story()) == {"state": "ready"}
    assert asked == [1]
