"""Delegation in an agent: every arm of the roster rule, refused or reported, and the same judged by the server."""

import json
from typing import Any

import pytest

from runs.rules.json_types import ABSENT
from runs.rules.kept import Kept, keep_object
from runs.rules.vocabulary import RosterReason
from runs.sender.rosters import Delegation, ExtraToolNamesError, UndeclaredTool
from runs.sender.run import Run
from runs.store.rows import RosterRow, SpawnRow, ViolationRow
from tests.record.memory import MemoryRecord

ROSTER = [{"name": "notes", "aliases": ["scratch"], "contentOrigin": "workspace"}, {"name": "web"}]
NOTES = {"name": "notes", "contentOrigin": "workspace"}


class Host:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.run = Run(lambda event: self.events.append(json.loads(json.dumps(event))), run_id="run-1")
        self.run.turn_start("?")

    def delegation(self, **more: Any) -> Delegation:
        return Delegation(self.run, "consult", **({"roster": ROSTER} | more))

    def said(self, kind: str) -> list[dict[str, Any]]:
        return [e["payload"] for e in self.events if e["type"] == f"footprint.delegation.{kind}"]

    def rows(self, table: type) -> list[Any]:
        """What the server makes of it."""
        kept = [keep_object(event) for event in self.events]
        assert all(isinstance(one, Kept) for one in kept)
        return list(MemoryRecord().send(kept).book.touched[table].values())


def test_a_declared_product_starts_its_child() -> None:
    host = Host()
    assert host.delegation().spawn([NOTES], call_id="c1", child_run_id="r2", denied_tools=["web"]) is None
    assert host.said("spawned") == [
        {
            "toolName": "consult",
            "products": [NOTES],
            "toolCallId": "c1",
            "childRunId": "r2",
            "deniedTools": ["web"],
        }
    ]
    (spawn,) = host.rows(SpawnRow)
    assert (spawn.child_run, spawn.violations, bool(spawn.roster)) == ("r2", 0, True)


@pytest.mark.parametrize(
    ("product", "reason"),
    [
        ({"name": "shell"}, RosterReason.UNDECLARED_NAME),
        ({"name": "notes", "aliases": ["web"], "contentOrigin": "internal"}, RosterReason.UNDECLARED_NAME),
        ({"name": "notes", "contentOrigin": "external"}, RosterReason.UNDECLARED_ORIGIN),
        ({"name": "notes"}, RosterReason.UNDECLARED_ORIGIN),
    ],
)
def test_an_undeclared_one_is_refused_or_reported_as_the_host_chose(
    product: Any, reason: RosterReason
) -> None:
    strict = Host()
    with pytest.raises(UndeclaredTool) as refused:
        strict.delegation().spawn([NOTES, product], call_id="c1")
    assert (refused.value.code, refused.value.problem.reason) == ("config.extra_tool_names", reason)
    assert strict.said("spawned") == []
    assert strict.said("refused") == [
        {"toolName": "consult", "code": "config.extra_tool_names", "reason": reason.value, "toolCallId": "c1"}
    ]
    assert [(row.refused, row.refused_reason) for row in strict.rows(SpawnRow)] == [(True, reason.value)]
    assert strict.rows(ViolationRow) == [], "what was refused never happened"

    lenient = Host()
    problem = lenient.delegation(undeclared="report").spawn([NOTES, product])
    assert problem is not None and problem.reason is reason
    (violation,) = lenient.rows(ViolationRow)
    assert (violation.reason, violation.offender) == (reason.value, product["name"])
    assert violation.sentence == problem.sentence


@pytest.mark.parametrize(
    ("roster", "has_factory"),
    [
        (None, True),
        (7, True),
        ("notes", True),
        ({"name": "notes"}, True),
        ([{"name": ""}], True),
        ([{"name": "a"}, {"name": "b", "aliases": ["a"]}], True),
        ([{"name": "a", "contentOrigin": None}], True),
        (ROSTER, False),
    ],
)
def test_what_is_no_roster_is_refused_here_and_told_there(roster: Any, has_factory: bool) -> None:
    host = Host()
    with pytest.raises(ExtraToolNamesError) as refused:
        host.delegation(roster=roster, has_factory=has_factory)
    (row,) = host.rows(RosterRow)
    assert (row.reason, row.sentence) == ("shape", str(refused.value))


def test_without_a_roster_nothing_can_be_checked() -> None:
    host = Host()
    assert host.delegation(roster=ABSENT).spawn([{"name": "anything"}]) is None
    assert "extraToolNames" not in host.said("declared")[0]
    assert host.rows(ViolationRow) == []


def test_an_empty_roster_allows_nothing() -> None:
    host = Host()
    with pytest.raises(UndeclaredTool):
        host.delegation(roster=[]).spawn([NOTES])


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(ValueError, match="refuse"):
        Host().delegation(undeclared="ignore")
