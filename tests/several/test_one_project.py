"""One project is folded by one process at a time, however many processes take in its events."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection, connections, transaction

from runs.intake.service import sweep_once
from runs.models import KeptEvent, Note, Project
from runs.store import incoming
from tests import busy_agent
from tests.faults.check import Record
from tests.faults.house import Lines
from tests.server_process import ROOT
from tests.several import NEEDS_BOTH, until
from tests.several.street import Street, cable_to, street

pytestmark = NEEDS_BOTH

TOLD = 2_000  # events of each agent, as fast as they are taken
# What depends on the order in which the agents' events were committed.
ORDER = re.compile(
    r"^(id|version|position|epoch)$|_position$|_id$|_at$|^current_run$|^previous$|^leg_of$|^retry_of$|^roster$"
)
TABLES = ("Run", "Answer", "ToolCall", "Leg", "ChoiceRow", "ChoiceCall", "Spawn", "Violation", "Text")


def test_two_processes_fed_one_project_at_once_make_the_record_of_one(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    with street(tmp_path / "two", 2) as built:
        feed(built, at_once=True)
        together = built.database.whole()
        positions = [row["id"] % 2**40 for row in (*together["KeptEvent"], *together["Note"])]
        assert sorted(positions) == list(range(1, 2 * TOLD + 1)), "each position is drawn once"
        rebuild(built)
        again = built.database.whole()
    (tmp_path / "one").mkdir()
    with street(tmp_path / "one", 1) as built:
        feed(built, at_once=False)
        alone = built.database.whole()
    for table in TABLES:
        assert facts(together, table) == facts(again, table), f"{table}: a rebuild tells something else"
        assert facts(together, table) == facts(alone, table), table
        assert facts(alone, table), f"the agents' day has no {table}"


def feed(built: Street, *, at_once: bool) -> None:
    """Two agents tell their day, each to a process of its own where there are two."""
    with cable_to(built.servers[0]) as one, cable_to(built.servers[-1]) as other:
        agents = [
            built.agent("first", one, lines=day_of("first")),
            built.agent("second", other, lines=day_of("second")),
        ]
        for agent in agents:
            agent.tell(TOLD)
        ends = [threading.Thread(target=agent.end) for agent in agents]
        for end in ends:
            end.start()
            if not at_once:
                end.join()
        for end in ends:
            end.join()
        for agent in agents:
            assert agent.sender.status.acked == TOLD
    for server in built.servers:
        assert server.stop() == 0
        assert "Traceback" not in server.output, server.output
        # Without the lock both would draw the same positions, and the database would have to refuse one of them.
        assert "A batch was rejected" not in server.output, server.output


def day_of(name: str) -> Lines:
    """The busy agent's, with runs and sessions of its own: a resume would otherwise find its call on either stream."""

    def lines() -> Iterator[str]:
        for line in busy_agent.lines():
            event = json.loads(line)
            for key in ("runId", "sessionId"):
                if event["meta"].get(key):
                    event["meta"][key] += f".{name}"
            yield json.dumps(event)

    return lines


def rebuild(built: Street) -> None:
    """In a process of its own, as an operator would."""
    ran = subprocess.run(
        [sys.executable, "manage.py", "rebuild"],
        cwd=ROOT,
        env={**os.environ, "FOOTPRINT_DATA": str(built.database.data), **built.database.environment},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr


def facts(record: Record, table: str) -> list[str]:
    """What the rows of a table say, whatever their order."""
    return sorted(
        json.dumps(
            {name: value for name, value in row.items() if not ORDER.search(name)},
            sort_keys=True,
            default=str,
        )
        for row in record[table]
    )


# -- the lock itself --


@pytest.mark.django_db(transaction=True)
def test_a_project_that_is_locked_is_waited_for_and_read_as_the_other_left_it() -> None:
    project = Project.objects.create(name="Northwind")
    found: list[int] = []

    def second() -> None:
        try:
            with transaction.atomic():
                locked = incoming.lock_project(project.pk)
                assert locked is not None
                found.append(locked.position)
        finally:
            connections.close_all()

    with transaction.atomic():
        first = incoming.lock_project(project.pk)
        assert first is not None
        waiting = threading.Thread(target=second)
        waiting.start()
        until(somebody_waits_for_a_lock, "the second waits")
        assert found == []
        first.next_position()
        incoming.save_project(first)
    waiting.join()
    assert found == [1]


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # a transaction sees one snapshot of it otherwise
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
def test_sweepers_of_two_processes_say_once_that_a_run_went_silent() -> None:
    project = Project.objects.create(name="Northwind", silent_after_s=1)
    with transaction.atomic():
        opened = incoming.open_stream(project.pk, "s", "i", "tests/1", 1)
    assert opened is not None
    begin_a_turn(project, opened.id)
    both = [threading.Thread(target=sweep) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert list(Note.objects.values_list("kind", flat=True)) == ["silent"]
    assert KeptEvent.objects.count() == 1


def sweep() -> None:
    try:
        with transaction.atomic():
            sweep_once()
    finally:
        connections.close_all()


def begin_a_turn(project: Project, stream_id: int) -> None:
    """Long ago."""
    from runs.intake.numbering import Batch, Item
    from runs.intake.settle import settle_project
    from runs.rules.kept import keep
    from runs.store.tokens import create_token
    from tests.lines import turn

    token, _ = create_token(project.pk, "", None)
    with transaction.atomic():
        settle_project(
            project.pk, [Batch(project.pk, stream_id, 1, token.id, 1_000, [Item(1, keep(turn()[0]))])]
        )
