"""Clocks jump, the sender's and the server's, forwards and back: the order and the outcomes stay what they were."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests import busy_agent
from tests.faults.check import (
    MOVED,
    Record,
    assert_same_record,
    assert_the_house_is_in_order,
)
from tests.faults.conftest import Undisturbed
from tests.faults.house import assert_promises_are_kept, house, until_acked_again

DAY_S = 86_400
JUMPS_S = (0, 600, -600, DAY_S, -DAY_S, 3, -3, 400 * DAY_S)


def jumping_lines() -> Iterator[str]:
    """The busy agent's day, told by a machine whose clock jumps at every seventh event."""
    for number, line in enumerate(busy_agent.lines()):
        event = json.loads(line)
        meta = event["meta"]
        if isinstance(meta.get("wallClockMs"), int):
            meta["wallClockMs"] += JUMPS_S[number // 7 % len(JUMPS_S)] * 1000
        yield json.dumps(event)


def test_the_senders_clock_jumps(tmp_path: Path, undisturbed: Undisturbed) -> None:
    with house(tmp_path / "house", ["first"]) as home:
        agent = home.agent("first", lines=jumping_lines)
        agent.tell(1_000)
        agent.end()
        home.stop()
        assert_promises_are_kept(home, [agent])
        assert_the_house_is_in_order(home, None, (0, 0))
        disturbed = without_clocks(home.database.whole())
        for row in home.database.whole()["ToolCall"]:
            assert row["duration_ms"] is None or 0 <= row["duration_ms"] < DAY_S * 1000
    agent.lines = busy_agent.lines
    assert_same_record(disturbed, without_clocks(undisturbed([agent])))


def test_the_servers_clock_jumps(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """A day ahead, what still runs is called silent; its next word brings it back, and the end is the same."""
    clock = tmp_path / "clock"
    clock.write_text("0")
    environment = {
        "DJANGO_SETTINGS_MODULE": "tests.faults.settings_clock",
        "FOOTPRINT_TEST_CLOCK": str(clock),
    }
    with house(tmp_path / "house", ["first"], environment=environment) as home:
        agent = home.agent("first")
        agent.start()
        for jump in JUMPS_S:
            until_acked_again([agent])
            clock.write_text(str(jump))
            time.sleep(0.4)
        clock.write_text("0")
        agent.finish()
        home.stop()
        record = home.database.whole()
        silent = [row for row in record["Note"] if row["kind"] == "silent"]
        assert silent, "a day ahead, and nothing that ran was called silent"
        assert silent == record["Note"]
        assert_promises_are_kept(home, [agent])
        assert_the_house_is_in_order(home, None, (0, 0))
        calm = undisturbed([agent])
        ended = {
            row["slug"]: row for row in facts(record["Answer"]) if row["ending"] not in ("running", "silent")
        }
        assert ended == {
            row["slug"]: row for row in facts(calm["Answer"]) if row["ending"] not in ("running", "silent")
        }
        assert facts(record["ToolCall"]) == facts(calm["ToolCall"])


def facts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without their places: each silent note takes one."""
    bare = [{name: value for name, value in row.items() if not MOVED.search(name)} for row in rows]
    return sorted(bare, key=str)


def without_clocks(record: Record) -> Record:
    return {
        table: sorted(
            (
                {
                    name: value
                    for name, value in row.items()
                    if not name.endswith("clock_ms") and name not in ("duration_ms", "body")
                }
                for row in rows
            ),
            key=str,
        )
        for table, rows in record.items()
    }
