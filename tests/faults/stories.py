"""What agents tell in these stories besides the busy agent's day (tests/busy_agent.py)."""

from collections.abc import Iterator
from itertools import count

from tests.lines import line

LONG = "long"


def long_answer() -> Iterator[str]:
    """One answer with more and more calls, that never ends: what somebody watches."""
    yield line("agent.turn_start", {"userPrompt": "Where?", "turnIndex": 0}, run=LONG)
    for number in count():
        call = f"c{number}"
        yield line("stream.llm_start", {"iteration": number + 1, "messagesCount": 1}, run=LONG)
        yield line("stream.llm_end", {"iteration": number + 1, "toolCallCount": 1}, run=LONG)
        yield line("stream.tool_start", {"toolName": f"tool_{number % 5}", "toolCallId": call}, run=LONG)
        yield line("stream.tool_end", {"toolCallId": call, "durationMs": 5}, run=LONG)
