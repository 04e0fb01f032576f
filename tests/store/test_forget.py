"""Deleting leaves what it promises to leave, and nothing else."""

import json

import pytest
from django.contrib.auth.models import User

from runs import models as m
from runs.store import forget
from tests.store.fill import fill, rows_of_every_table

pytestmark = pytest.mark.django_db


class Told:
    """One project in which an agent ran: a question, a call, a spawn, a pause that another run resumed."""

    def __init__(self, name):
        self.project = m.Project.objects.create(name=name, position=10_000)
        self.ada = User.objects.get_or_create(username="ada")[0]
        fill(m.Membership, project=self.project, user=self.ada, role="admin")
        fill(m.Token, project=self.project)
        fill(m.DisplayName, project=self.project, tool="lookup", text="Look up")
        self.stream = fill(m.Stream, project=self.project, name="s", acked=50)
        fill(m.Hole, stream=self.stream, first=3, last=4)
        fill(m.SeenName, project=self.project, name="lookup", calls=5)

    def run(self, name, *, continues=None, epoch=1, **more):
        of = {"project": self.project, "stream": self.stream, "epoch": epoch}
        run = fill(m.Run, **of, name=name, slug=f"slug-{name}", version=1, **more)
        answer = continues or fill(
            m.Answer, **of, run=run, current_run=run.pk, slug=f"answer-{name}", ending="answered"
        )
        of |= {"run": run, "answer": answer}
        plain = {key: of[key] for key in ("project", "epoch", "run", "answer")}
        fill(m.Leg, **plain)
        fill(m.ToolCall, **plain, tool="lookup", call_id="c1", state="closed", outcome="ok")
        fill(m.ChoiceRow, **plain, kind="pick", origin="row", body="{}")
        fill(m.ChoiceCall, **plain, reading="pick")
        if epoch == 1 and not continues:
            fill(m.SecondReading, project=self.project, answer=answer.slug, body="{}")
        spawn = fill(m.Spawn, **of, tool="delegate")
        fill(m.Violation, **of, spawn=spawn, tool="delegate", reason="undeclared_name")
        fill(m.Violation, **of, spawn=None, tool="delegate", reason="shape")
        fill(m.Roster, project=self.project, epoch=epoch, stream=self.stream, run=run, tool="delegate")
        fill(m.Waiting, project=self.project, epoch=epoch, stream=self.stream, kind="pause", run=name)
        if epoch == 1:
            self.event(name, "agent.turn_start", said="question")
            self.event(name, "footprint.tools.declared")
            fill(m.Note, project=self.project, stream=self.stream, kind="silent", run=name)
        return run, answer

    def event(self, run, type_, said=None):
        clock = 1_700_000_000_000
        body = json.dumps(
            {"m": {"runId": run, "sessionId": "s", "wallClockMs": clock}, "p": {"tools": [{"name": "t"}]}}
        )
        event = fill(m.KeptEvent, project=self.project, stream=self.stream, type=type_, run=run, body=body)
        if said:
            position = event.pk - (self.project.pk << m.ID_BITS)
            fill(m.Text, project=self.project, position=position, kind=said, text="Where is it?")

    def finish(self):
        run_ids = list(m.Run.objects.filter(project=self.project).values_list("pk", flat=True))
        fill(
            m.StreamMemory, project=self.project, stream=self.stream, last_runs=json.dumps({"": max(run_ids)})
        )
        fill(m.DeclaredName, project=self.project, epoch=1, stream=self.stream, tool="lookup", text="Look up")


OF_A_RUN = (
    "Run",
    "Answer",
    "Leg",
    "ToolCall",
    "ChoiceRow",
    "ChoiceCall",
    "SecondReading",
    "Spawn",
    "Waiting",
    "Text",
)


def test_a_run_goes_with_its_whole_chain_and_every_row_of_it():
    told = Told("Northwind")
    told.run("kept")
    before = rows_of_every_table()
    _, answer = told.run("asked")
    told.run("resumed", continues=answer)

    deleted = forget.delete_run(told.project.pk, "slug-resumed")

    assert deleted.runs == ("slug-asked", "slug-resumed")
    assert deleted.answers == ("answer-asked",)
    after = rows_of_every_table()
    assert {table: after[table] for table in OF_A_RUN} == {table: before[table] for table in OF_A_RUN}
    assert set(m.Tombstone.objects.values_list("run", flat=True)) == {"asked", "resumed"}
    notes = m.Note.objects.filter(kind="deleted").order_by("id")
    assert [(note.run, note.id - (told.project.pk << m.ID_BITS)) for note in notes] == [
        ("asked", 10_001),
        ("resumed", 10_002),
    ]
    told.project.refresh_from_db()
    assert told.project.position == deleted.position == 10_002
    assert not m.KeptEvent.objects.filter(run__in=["asked", "resumed"]).exists()
    assert not m.Note.objects.filter(run__in=["asked", "resumed"]).exclude(kind="deleted").exists()
    assert m.Stream.objects.get().acked == 50
    assert m.SeenName.objects.get().calls == 3


def test_what_the_app_declared_stays_without_the_run():
    told = Told("Northwind")
    told.run("asked")
    forget.delete_run(told.project.pk, "slug-asked")
    event = m.KeptEvent.objects.get()
    assert event.type.endswith("tools.declared")
    assert event.run == ""
    assert json.loads(event.body) == {
        "m": {"wallClockMs": 1_700_000_000_000},
        "p": {"tools": [{"name": "t"}]},
    }
    assert m.Roster.objects.get().run is None
    assert m.Violation.objects.get().reason == "shape"


def test_a_rebuild_under_way_forgets_the_run_too():
    told = Told("Northwind")
    told.run("asked")
    told.run("asked", epoch=2)
    forget.delete_run(told.project.pk, "slug-asked")
    assert not m.Run.objects.exists()
    assert not m.ToolCall.objects.exists()


def test_what_pointed_at_the_run_points_at_the_one_before():
    told = Told("Northwind")
    first, _ = told.run("first")
    second, _ = told.run("second", previous=first.pk)
    third, _ = told.run("third", previous=second.pk)
    memory = fill(
        m.StreamMemory, project=told.project, stream=told.stream, last_runs=json.dumps({"": second.pk})
    )
    forget.delete_run(told.project.pk, "slug-second")
    third.refresh_from_db()
    memory.refresh_from_db()
    assert third.previous == first.pk
    assert json.loads(memory.last_runs) == {"": first.pk}


def test_a_retry_goes_with_the_run_it_carries_on():
    told = Told("Northwind")
    failed, _ = told.run("failed")
    told.run("retry", previous=failed.pk, retry_of=failed.pk)
    told.run("other")
    assert forget.delete_run(told.project.pk, "slug-failed").runs == ("slug-failed", "slug-retry")
    assert m.Run.objects.get().name == "other"


def test_another_projects_run_is_not_found():
    told, other = Told("Northwind"), Told("Other")
    told.run("asked")
    before = rows_of_every_table()
    assert forget.delete_run(other.project.pk, "slug-asked") is None
    assert forget.delete_run(told.project.pk, "") is None
    assert rows_of_every_table() == before


def test_texts_are_forgotten_and_nothing_else():
    told = Told("Northwind")
    told.run("asked")
    before = rows_of_every_table()
    assert forget.forget_texts(told.project.pk) == 1
    after = rows_of_every_table()
    assert after == {**before, "Text": 0}
    assert m.Project.objects.get().words_version == told.project.words_version + 1


def test_a_deleted_project_leaves_no_row_in_any_table():
    told = Told("Other")
    told.run("kept")
    told.finish()
    fill(m.Tombstone, stream=told.stream, run="gone")
    before = rows_of_every_table()
    assert all(before.values()), "the test must put a row into every table"
    gone = Told("Northwind")
    _, answer = gone.run("asked")
    gone.run("resumed", continues=answer)
    gone.finish()
    fill(m.Tombstone, stream=gone.stream, run="gone")
    assert all(rows_of_every_table()[table] > n for table, n in before.items())

    forget.delete_project(gone.project.pk)

    assert rows_of_every_table() == before
    assert User.objects.filter(username="ada").exists()
