"""`/metrics`: what is counted, in closed words, for who may read it."""

import json
import os
import subprocess
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from runs import measures
from runs.models import Run as RunRow
from runs.rules.kept import DROPPED_DOMAINS, KEPT
from runs.store.forget import delete_run
from tests import recordings
from tests.pages.test_roles import _without_its_own
from tests.server_process import ROOT, make_token_on, server_process
from tests.wire import Wire, make_project, make_token, run, send_all

HERE = {"REMOTE_ADDR": "127.0.0.1", "headers": {"host": "127.0.0.1:8000"}}


@pytest.fixture
def nothing(client):
    return _without_its_own(client.get("/no-such-address"))


def test_from_this_machine_it_is_told(client):
    answer = client.get("/metrics", **HERE)
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert b"footprint_events_kept_total" in answer.content


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("who", "headers"),
    [
        ("10.0.0.7", {"host": "127.0.0.1"}),
        ("127.0.0.1", {"host": "testserver"}),  # a proxy beside it asks by the site's name
        ("127.0.0.1", {"host": "127.0.0.1", "x-forwarded-for": "10.0.0.7"}),
        ("127.0.0.1", {"host": "127.0.0.1", "forwarded": "for=10.0.0.7"}),
        ("127.0.0.1", {"host": "127.0.0.1", "via": "1.1 proxy"}),
        ("", {"host": "127.0.0.1"}),
    ],
)
def test_everybody_else_gets_what_nothing_gets(client, nothing, who, headers):
    answer = client.get("/metrics", REMOTE_ADDR=who, headers=headers)
    assert (answer.status_code, _without_its_own(answer)) == (404, nothing)


@pytest.mark.django_db
def test_with_a_token_only_who_shows_it(client, nothing, settings):
    settings.METRICS_TOKEN = "let-me-see"
    shown = {"headers": {"authorization": "Bearer let-me-see"}, "REMOTE_ADDR": "10.0.0.7"}
    assert client.get("/metrics", **shown).status_code == 200
    for told in ("Bearer let-me", "let-me-see", "Bearer ", "Bearer é"):
        answer = client.get("/metrics", headers={"authorization": told, "host": "127.0.0.1"})
        assert (answer.status_code, _without_its_own(answer)) == (404, nothing)
    assert client.get("/metrics", **HERE).status_code == 404


def value(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0.0


class Difference:
    """What was counted since: counters live as long as the process."""

    NAMES = ("received", "acked", "repeated")

    def __init__(self):
        self._before = self._now()

    def _now(self):
        told = {name: value(f"footprint_events_{name}_total") for name in self.NAMES}
        told |= {f"kept {kind}": value("footprint_events_kept_total", type=kind) for kind in KEPT}
        told |= {
            f"dropped {domain}": value("footprint_events_dropped_total", domain=domain)
            for domain in (*DROPPED_DOMAINS, "unknown", "deleted")
        }
        told |= {
            f"refused {code}": value("footprint_events_refused_total", code=code) for code in measures.CODES
        }
        told["commits"] = value("footprint_commit_seconds_count")
        told["acks"] = value("footprint_ack_seconds_count")
        return told

    def told(self):
        return {
            name: now - self._before[name] for name, now in self._now().items() if now != self._before[name]
        }


@pytest.mark.django_db(transaction=True)
def test_every_event_is_counted_as_what_became_of_it():
    project = make_project()
    token = make_token(project)
    lines = [
        *recordings.lines("sequential_tools.jsonl"),
        '{"type":"weather.changed"}',
        '{"type":"agentfootprint.stream.token"}',
        '{"type":"agentfootprint.stream.tool_end","payload":{"toolCallId":7}}',
        "not json",
    ]
    counted = Difference()

    async def story():
        async with Wire(token) as wire:
            await send_all(wire, lines, a_frame=10)
            assert value("footprint_connections") == 1
            await wire.events(1, lines[:5])  # stored already
            await wire.events(len(lines) + 1, ['{"type":"weather.changed"}'])
            await wire.until_acked(len(lines) + 1)

    run(story)
    told = counted.told()
    assert told["received"] == told["acked"] == len(lines) + 6
    assert told["repeated"] == 5
    assert told["refused shape"] == told["refused not-json"] == 1
    assert told["dropped unknown"] == 2
    assert told["dropped stream"] >= 1
    assert told["kept stream.tool_start"] == told["kept stream.tool_end"] > 1
    of_all = sum(
        count for name, count in told.items() if name.partition(" ")[0] in ("kept", "dropped", "refused")
    )
    assert of_all + told["repeated"] == told["received"]
    assert 1 <= told["commits"] <= told["acks"]
    assert value("footprint_connections") == 0

    delete_run(project.pk, RunRow.objects.get().slug)
    counted = Difference()

    async def more():
        async with Wire(token) as wire:
            await wire.hello(last=99)
            await wire.events(len(lines) + 2, lines[-5:-4])
            await wire.until_acked(len(lines) + 2)

    run(more)
    assert counted.told().get("dropped deleted") == 1


def test_the_labels_are_closed_whatever_is_counted():
    measures.committed(0.001, [measures.Counts(3, 1, ["not.a.type"], ["nowhere"], ["made-up"])], 0)
    allowed = {*KEPT, *DROPPED_DOMAINS, *measures.CODES, "unknown", "deleted", "other"}
    for family in text_string_to_metric_families(measures.exposed().decode()):
        if family.name.startswith("footprint_"):
            for sample in family.samples:
                assert {word for name, word in sample.labels.items() if name != "le"} <= allowed


def test_every_measure_is_told_where_it_is_looked_for():
    told = (ROOT / "docs" / "operations.md").read_text()
    names = {family.name for family in text_string_to_metric_families(measures.exposed().decode())}
    for name in sorted(name for name in names if name.startswith("footprint_")):
        assert f"`{name}" in told


def test_several_processes_tell_the_sum(tmp_path):
    """Each counts in files of the shared folder; one that has ended is forgotten, what it counted is not."""
    count = (
        "import os; from runs import measures; measures.connections.inc();"
        "measures.committed(0.001, [measures.Counts(5, 1, ['agent.turn_start'] * 5)], 0); print(os.getpid())"
    )
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}

    def python(script):
        ran = subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout

    pids = [python(count).strip() for _ in range(2)]
    tell = "from runs import measures; print(measures.exposed().decode())"
    both = python(tell)
    assert 'footprint_events_kept_total{type="agent.turn_start"} 10.0' in both
    assert "footprint_connections 2.0" in both
    after = python(
        f"from runs import measures; measures.forget_process({pids[0]}); print(measures.exposed().decode())"
    )
    assert "footprint_connections 1.0" in after
    assert 'footprint_events_kept_total{type="agent.turn_start"} 10.0' in after


def test_a_real_server_tells_and_a_proxy_gets_nothing():
    with server_process() as server:
        make_token_on(server)
        with urlopen(server.url + "/metrics") as answer:
            assert b"footprint_watchers 0.0" in answer.read()
        with pytest.raises(HTTPError) as refused:
            urlopen(Request(server.url + "/metrics", headers={"X-Forwarded-For": "203.0.113.9"}))
        assert refused.value.code == 404
        assert json.loads(urlopen(server.url + "/health/live").read()) == {"state": "live"}
