"""An agent that never rests: recorded runs over and over under new run ids, and between them one that uses everything
of this product's own (tool choice, rosters, spawns, declared names)."""

import json
from collections.abc import Iterator
from typing import Any

from runs.rules.kept import Kept, keep
from runs.sender import Run
from tests import recordings

RECORDED = (
    "tool_throws.jsonl",
    "ask_human_pause_resume.jsonl",
    "interleaved_two_runs.jsonl",
    "permission_denied_and_allowed.jsonl",
    "process_dies_mid_tool.jsonl",
    "sequence_of_agents.jsonl",
    "followup_conversation.jsonl",
    "crash_then_resume_on_error.jsonl",
    "checkin_approved.jsonl",
    "tool_call_id_reuse.jsonl",
)
T0 = 1_796_000_000.0


def lines() -> Iterator[str]:
    """One event a line, without end; the same every time. All of them are kept by the list."""
    recorded = [[json.loads(line) for line in recordings.lines(name)] for name in RECORDED]
    number = 0
    while True:
        for events in (*recorded, _own(number)):
            for event in events:
                line = json.dumps(_renamed(event, number))
                if isinstance(keep(line), Kept):
                    yield line
            number += 1


def _renamed(event: dict[str, Any], number: int) -> dict[str, Any]:
    meta = dict(event["meta"])
    for name in ("runId", "sessionId"):
        if isinstance(meta.get(name), str) and meta[name] != "consumer-scope":
            meta[name] += f".{number}"
    return {**event, "meta": meta}


def _own(number: int) -> list[dict[str, Any]]:
    events: list[Any] = []
    ticks = iter(range(1_000_000))
    run = Run(
        events.append,
        run_id="own",
        agent_id="support",
        session_id="session",
        provider="mock",
        model="small",
        clock=lambda: T0 + number + next(ticks) / 1000,
    )
    run.tools_declared({"lookup_order": f"order search {number % 7}", "delegate": "a helper"})
    run.delegation_declared("delegate", extra_tool_names=[{"name": "lookup_order"}])
    run.turn_start("Where is my order?")
    wire = ["lookup_order", "delegate", "refund"]
    pick = {
        "kind": "pick",
        "iteration": 1,
        "source": "classifier",
        "classifier": {"name": "mock"},
        "offered": wire,
        "ranked": [{"name": name, "score": 1 - place / 4} for place, name in enumerate(wire)],
        "chosen": "lookup_order",
        "confidence": 0.8,
        "latencyMs": 3,
        "served": wire[:2],
        "narrowed": True,
    }
    run.tool_choice_row(pick, top=2, wire=wire)
    run.llm_start(wire)
    run.llm_end(2)
    looked = run.tool_start("lookup_order", "call-1")
    handed = run.tool_start("delegate", "call-2")
    run.delegation_spawned(
        "delegate",
        [{"name": "lookup_order"}, {"name": "refund"}],
        call_id=handed,
        child_run_id=f"child.{number}",
    )
    run.tool_end(looked)
    run.tool_end(handed, error=True)
    run.llm_start(wire)
    run.llm_end(0)
    run.turn_end("It is on its way.")
    run.finish()
    return events
