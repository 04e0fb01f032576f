"""Every combination of filters finds what reading all runs and looking at each would find, in both directions."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs import models
from runs.models import ID_BITS
from runs.store import run_search
from runs.store.people import ProjectRow
from runs.store.run_search import RunFilter, run_ids
from tests.people import *  # noqa: F403
from tests.people import People
from tests.sample import BEGAN_MS

VALUES: tuple[dict[str, Any], ...] = (
    {"ending": "answered"},
    {"ending": "failed"},
    {"failed": True},
    {"incomplete": True},
    {"missed": True},
    {"violation": True},
    {"skipped": "too-few"},
    {"session": "s1"},
    {"session": "s0"},
    {"since_ms": BEGAN_MS + 20_000 * 60},
    {"until_ms": BEGAN_MS + 20_000 * 140},
    {"tool": "often"},
    {"tool": "seldom"},
)
SKIPS = ("", "too-few", "after-miss,too-few", "after-miss")
RUNS = 200


@pytest.fixture
def project(people: People) -> ProjectRow:
    """Two hundred runs that have everything in all mixtures, and a few legs among them, which no list shows."""
    northwind, drawn = people.northwind, Random(7)
    stream = models.Stream.objects.create(project=northwind, name="one", instance="one")
    runs, answers, calls = [], [], []
    for n in range(1, RUNS + 1):
        ids = {"project": northwind, "epoch": 1}
        run = models.Run(
            **ids, id=northwind.id << ID_BITS | n * 10, stream=stream, name=f"run-{n}", slug=f"r{n}",
            session_slug=drawn.choice(["", "s0", "s1", "s1"]), ending=drawn.choice(["answered", "answered", "failed"]),
            failed_calls=drawn.choice([0, 2]), incomplete=drawn.choice([0, 0, 1]), missed=drawn.choice([0, 0, 3]),
            violations=drawn.choice([0, 0, 0, 1]), skipped=drawn.choice(SKIPS),
            leg_of=1 if n % 17 == 0 else None, first_position=n * 5, version=n * 5,
            opened_ms=BEGAN_MS + n * 20_000 + drawn.choice([0, -30_000]),  # clocks of two servers
            last_ms=0,
        )  # fmt: skip
        runs.append(run)
        answer = models.Answer(
            **ids, id=run.id + 1, run=run, stream=stream, slug=f"a{n}", ending=run.ending, current_run=run.id,
            opened_position=n * 5, version=n * 5, opened_ms=0, last_ms=0,
        )  # fmt: skip
        answers.append(answer)
        for number in range(1, 4):
            tool = drawn.choice(["often", "often", "sometimes"] if n % 9 else ["seldom", "often"])
            calls.append(
                models.ToolCall(
                    **ids, id=run.id + 1 + number, answer=answer, run=run, run_position=run.first_position,
                    number=number, tool=tool, call_id=str(number), state="closed", outcome="ok", version=1,
                )
            )  # fmt: skip
    models.Run.objects.bulk_create(runs)
    models.Answer.objects.bulk_create(answers)
    models.ToolCall.objects.bulk_create(calls)
    return ProjectRow(northwind.id, northwind.key, northwind.name, 1, "UTC", True, 1)


def all_runs(project: ProjectRow) -> list[tuple[models.Run, set[str]]]:
    """Every run of the list and the tools it called, newest first."""
    used: dict[int, set[str]] = {}
    for run_id, tool in models.ToolCall.objects.filter(project_id=project.id).values_list("run_id", "tool"):
        used.setdefault(run_id, set()).add(tool)
    runs = models.Run.objects.filter(project_id=project.id, leg_of=None).order_by("-first_position")
    return [(run, used[run.id]) for run in runs]


def looked_at_one_by_one(runs: list[tuple[models.Run, set[str]]], wanted: RunFilter) -> list[models.Run]:
    found = []
    for run, used in runs:
        if (
            (not wanted.ending or run.ending == wanted.ending)
            and (not wanted.failed or run.failed_calls)
            and (not wanted.incomplete or run.incomplete)
            and (not wanted.missed or run.missed)
            and (not wanted.violation or run.violations)
            and (not wanted.skipped or wanted.skipped in run.skipped.split(","))
            and (not wanted.session or run.session_slug == wanted.session)
            and (wanted.since_ms is None or run.opened_ms >= wanted.since_ms)
            and (wanted.until_ms is None or run.opened_ms < wanted.until_ms)
            and (not wanted.tool or wanted.tool in used)
        ):
            found.append(run)
    return found


def mixtures() -> list[RunFilter]:
    single = [RunFilter(), *(RunFilter(**value) for value in VALUES)]
    pairs = [RunFilter(**a, **b) for a, b in combinations(VALUES, 2) if a.keys() != b.keys()]
    three = RunFilter(session="s1", tool="often", failed=True, since_ms=BEGAN_MS + 20_000 * 20)
    return [*single, *pairs, three]


@pytest.mark.parametrize("few", [1, 5_000])  # whichever part is followed, it finds the same
def test_a_search_finds_what_looking_at_each_run_finds(
    project: ProjectRow, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_search, "FEW", few)
    middle = RUNS * 5 // 2
    found_some = 0
    runs = all_runs(project)
    for wanted in mixtures():
        fitting = looked_at_one_by_one(runs, wanted)
        every = [run.id for run in fitting]
        older = [run.id for run in fitting if run.first_position < middle]
        newer = [run.id for run in fitting[::-1] if run.first_position > middle]
        assert run_ids(project, wanted, 1_000) == every, wanted
        assert run_ids(project, wanted, 6) == every[:6], wanted
        assert run_ids(project, wanted, 6, before=middle) == older[:6], wanted
        assert run_ids(project, wanted, 6, after=middle) == newer[:6], wanted
        found_some += bool(every)
    assert found_some > 60


def test_a_project_of_another_epoch_or_without_runs_has_none(project: ProjectRow, people: People) -> None:
    after_a_rebuild = ProjectRow(project.id, project.key, project.name, 2, "UTC", True, 1)
    empty = ProjectRow(people.elsewhere.id, people.elsewhere.key, "Elsewhere", 1, "UTC", True, 1)
    for where in (after_a_rebuild, empty):
        for wanted in mixtures():
            assert run_ids(where, wanted, 10) == []


def test_each_part_is_followed_through_its_index(project: ProjectRow) -> None:
    """Without statistics, as the product runs; a plan that sorts or scans is fast only while there are few runs."""
    if connection.vendor != "sqlite":
        pytest.skip("the plan is read as SQLite tells it")
    followed = {
        RunFilter(): "run_list",
        RunFilter(since_ms=BEGAN_MS, until_ms=BEGAN_MS * 2): "run_list",
        RunFilter(session="s1"): "run_session",
        RunFilter(tool="often"): "call_tool",
        RunFilter(ending="failed"): "run_facets",
        RunFilter(ending="failed", missed=True, since_ms=BEGAN_MS): "run_facets",
    }
    for wanted, index in followed.items():
        with CaptureQueriesContext(connection) as queries:
            run_ids(project, wanted, 26)
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {queries[-1]['sql']}")
            plan = [row[3] for row in cursor.fetchall()]
        assert any(f"INDEX {index} (" in step and "first_position" in step for step in plan) or (
            index == "call_tool" and "run_position>?" in plan[0] and "first_position=?" in plan[1]
        ), plan
        assert not any(step.startswith(("SCAN r", "SCAN c")) for step in plan), plan
        # The newest of each facet are sorted, 26 of each; nothing else is.
        assert index == "run_facets" or not any("TEMP B-TREE" in step for step in plan), plan
