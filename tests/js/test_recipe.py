"""The example of the recipe, as it stands there, against a dashboard."""

import re
from pathlib import Path

import pytest

from tests.js.node import run_node_beside
from tests.js.scripted_server import scripted_server
from tests.server_process import ROOT

pytestmark = pytest.mark.node

AGENT = """
import { eventsOf, ReplayingAgent, WebSocketClass } from "SCRIPTS/agent.mjs";
globalThis.WebSocket ??= WebSocketClass;
const agent = new ReplayingAgent();
agent.run = async () => {
  for (const event of eventsOf("RECORDINGS/plain_answer.jsonl")) agent.emit(event);
};
"""


def example() -> str:
    recipes = (ROOT / "docs" / "recipes.md").read_text("utf-8")
    (code,) = re.findall(r"## \.\.\. an agentfootprint agent \(JavaScript\).*?```js\n(.*?)```", recipes, re.S)
    return code


async def test_the_example_runs(tmp_path: Path):
    async with scripted_server() as server:
        setting = AGENT.replace("SCRIPTS", str(ROOT / "tests" / "js")).replace(
            "RECORDINGS", str(ROOT / "tests" / "recordings" / "agentfootprint")
        )
        code = example().replace("./footprint/", f"{ROOT}/static/js/")
        script = tmp_path / "example.mjs"
        script.write_text(
            setting + code.replace("wss://footprint.example.com/ws/ingest/", server.url), "utf-8"
        )
        printed = await run_node_beside(script)
    assert printed.splitlines() == [
        "footprint: connecting ",
        "footprint: live ",
        "footprint: closed Everything was acknowledged.",
    ]
    assert server.types[0] == "footprint.tools.declared"
    assert server.types[-1] == "agentfootprint.integrity.disposition"
