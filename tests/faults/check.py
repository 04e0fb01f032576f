"""The one check that every story of faults ends with."""

import re
from collections.abc import Sequence
from typing import Any

from tests.faults.house import Agent, House, assert_promises_are_kept

Record = dict[str, list[dict[str, Any]]]
TRACEBACK = re.compile(rb'Traceback \(most recent|File "[^"]+", line \d+')
UNEXPECTED = "(its message is not logged)"  # the log's mark of an exception that nobody caught
# What another order of commits, or a note between the events, moves and nothing else.
MOVED = re.compile(
    r"^(id|version|number)$|position$|_id$|_at$|^current_run$|^previous$|^retry_of$|^leg_of$|^roster$"
)


def assert_nothing_was_lost(
    home: House,
    agents: Sequence[Agent],
    undisturbed: Record,
    *,
    why: str | None,
    lines: tuple[int, int] = (1, 1),
) -> None:
    """The record is the undisturbed one, every seq that was acknowledged is there, and no client saw a traceback.

    `why`: what the server's log says about the fault (a pattern), in at least and at most so many `lines`; None where
    the server could not know of it.
    """
    assert_promises_are_kept(home, agents)
    assert_the_house_is_in_order(home, why, lines)
    record = home.database.whole()
    assert_same_record(record, undisturbed)
    assert record["Note"] == record["Hole"] == []


def assert_what_was_lost_is_said(
    home: House,
    agents: Sequence[Agent],
    undisturbed: Record,
    *,
    why: str | None,
    lines: tuple[int, int] = (1, 1),
) -> set[str]:
    """Every number is there or in a hole that a note tells of; an answer that differs is not called complete.

    Returns the answers (slugs) that differ or are missing altogether.
    """
    assert_the_house_is_in_order(home, why, lines)
    record = home.database.whole()
    for agent in agents:
        name = agent.sender.status.stream
        kept = {row["seq"] for row in record["KeptEvent"] if row["stream_id"] == name}
        said = {
            seq
            for row in record["Note"]
            if row["stream_id"] == name and row["kind"] in ("lost", "gap")
            for seq in range(row["first"], row["last"] + 1)
        }
        assert kept | said == set(range(1, agent.sender.status.acked + 1))
        assert len(kept) == sum(row["stream_id"] == name for row in record["KeptEvent"])
    ours = {row["slug"]: row for row in record["Answer"]}
    differing = set()
    for row in undisturbed["Answer"]:
        found = ours.pop(row["slug"], None)
        if found is None or _facts(found) != _facts(row):
            differing.add(row["slug"])
            assert found is None or not found["complete"], found
    assert not any(row["complete"] for row in ours.values()), "an answer that never was"
    return differing


def assert_the_house_is_in_order(home: House, why: str | None, lines: tuple[int, int]) -> None:
    assert home.database.problems() == []
    assert not TRACEBACK.search(home.cable.heard), "a client saw a traceback"
    log = home.said
    assert not any(UNEXPECTED in line for line in log), "\n".join(log)
    if why is not None:
        found = [line for line in log if re.search(why, line)]
        assert lines[0] <= len(found) <= lines[1], "\n".join(log)


def assert_same_record(one: Record, other: Record) -> None:
    """Row for row; a failure shows the first row that differs, not all of them."""
    assert one.keys() == other.keys()
    for table, rows in one.items():
        for row, twin in zip(rows, other[table], strict=False):
            differing = {name: (value, twin[name]) for name, value in row.items() if value != twin[name]}
            assert differing == {}, f"{table}: {row}"
        assert len(rows) == len(other[table]), table


def _facts(answer: dict[str, Any]) -> dict[str, Any]:
    """What an answer says, wherever its rows came to lie. Why it is incomplete is apart: that is what may differ."""
    return {name: value for name, value in answer.items() if not MOVED.search(name)}
