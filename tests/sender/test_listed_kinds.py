"""Every kind of field the allow-list knows arrives: a list of names is not taken for something to be emptied."""

from __future__ import annotations

import json

from runs.rules import tool_choice
from runs.sender import events, listed

FULL = ("lookup", "refund", "read_skill")


def test_a_tool_choice_row_arrives_with_its_lists() -> None:
    row = tool_choice.PickRow(
        iteration=1,
        source="classifier",
        classifier=tool_choice.ClassifierId("router"),
        offered=FULL[:2],
        ranked=(tool_choice.ToolChoiceScore("lookup", 0.5),),
        confidence=1,
        latency_ms=1,
        served=("lookup",),
        narrowed=True,
    )
    event = events.tool_choice_row(row, {"runId": "r"}, top=1, doors=FULL[2:], wire=FULL)
    line = listed.line_of(event)
    assert line is not None
    assert line.data is not None
    payload = json.loads(line.data)["payload"]
    wanted = {"offered": list(FULL[:2]), "served": ["lookup"], "wire": list(FULL), "doors": ["read_skill"]}
    assert {name: payload[name] for name in wanted} == wanted
