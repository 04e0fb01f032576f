"""Events as lines of the wire, told in one call each: `line("stream.tool_start", {...}, run="r1")`."""

import json
from typing import Any

NOW_MS = 1_790_000_000_000


def line(kind: str, payload: Any = None, *, run: Any = "run-1", stage: str = "call#1", **meta: Any) -> str:
    told = {"wallClockMs": NOW_MS, "runOffsetMs": 0, "runtimeStageId": stage, "compositionPath": [], **meta}
    if run is not None:
        told["runId"] = run
    full = kind if kind.startswith("footprint.") else f"agentfootprint.{kind}"
    return json.dumps({"type": full, "payload": {} if payload is None else payload, "meta": told})


def turn(run: str = "run-1", *, calls: int = 1, question: str = "Where?", answer: str = "Here.") -> list[str]:
    """A whole answer: 3 events, 2 a call, 2 to end."""
    middle = []
    for number in range(calls):
        start = {"toolName": "look_up", "toolCallId": f"c{number}", "args": {"secret": "args"}}
        end = {"toolCallId": f"c{number}", "result": "secret result", "durationMs": 5}
        middle += [line("stream.tool_start", start, run=run), line("stream.tool_end", end, run=run)]
    return [
        line("agent.turn_start", {"userPrompt": question, "turnIndex": 0}, run=run),
        line("stream.llm_start", {"iteration": 1, "messagesCount": 1}, run=run),
        line("stream.llm_end", {"iteration": 1, "toolCallCount": calls}, run=run),
        *middle,
        line("agent.turn_end", {"finalContent": answer, "iterationCount": 1}, run=run),
        line("integrity.disposition", {}, run=run),
    ]
