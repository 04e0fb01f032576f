"""Runs a script of this folder in Node.js: `run_node("filter_lines.mjs", stdin=...)` gives what it printed."""

import asyncio
import functools
import json
import subprocess
from pathlib import Path
from typing import Any

from tests import requirements
from tests.server_process import ROOT

SCRIPTS = Path(__file__).parent
RECORDINGS = ROOT / "tests" / "recordings" / "agentfootprint"
WITHIN = 60.0


@functools.cache
def _command() -> tuple[str, ...]:
    """Node's own WebSocket where it has one (behind a flag from 20.10 on); before, the scripts bring a plain one."""
    node = requirements.NODE.path()
    assert node is not None  # the mark `node` has skipped the test
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    major, minor = (int(part) for part in version.strip().removeprefix("v").split(".")[:2])
    return (node, "--experimental-websocket") if (20, 10) <= (major, minor) < (22, 0) else (node,)


def run_node(script: str, *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        [*_command(), str(SCRIPTS / script), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=WITHIN,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def run_node_beside(script: Path, *arguments: str) -> str:
    """The same beside a server of this process's own: what it printed."""
    process = await asyncio.create_subprocess_exec(
        *_command(), str(script), *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), WITHIN)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, err.decode()
    return out.decode()


async def start_node(script: str, **task: Any) -> dict[str, Any]:
    """The same for a script of this folder: hands `task` in as JSON, gives the JSON it printed."""
    told: dict[str, Any] = json.loads(await run_node_beside(SCRIPTS / script, json.dumps(task)))
    return told
