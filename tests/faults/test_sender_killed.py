"""An agent is killed and started again with its buffer's folder: it goes on where it was."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

from tests.faults.check import assert_nothing_was_lost
from tests.faults.conftest import Undisturbed
from tests.faults.house import ROUND, TIMES, token
from tests.faults.house import house as a_house
from tests.server_process import ROOT

KILLS = 6 * TIMES
PACE = 600
COUNT = ROUND * 2 * TIMES

AGENT = f"""
import itertools, json, pathlib, sys, time
from runs.sender import DiskBuffer, Sender
from tests import busy_agent
import runs.sender.protocol as protocol
protocol.FIRST_PAUSE, protocol.LONGEST_PAUSE = 0.05, 0.2
url, folder, token, count = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
buffer = DiskBuffer(folder)
if not buffer.last:  # the story names the stream: its record is compared with another one's
    buffer.stream, buffer.instance = "stream-first", "instance-first"
    buffer._renamed()
sender = Sender(url, token=token, buffer=buffer)
print(buffer.last, flush=True)
sender.start()
for line in itertools.islice(busy_agent.lines(), buffer.last, count):
    sender.emit_text(line)
    print(buffer.last, flush=True)
    time.sleep(1 / {PACE})
print(json.dumps([sender.close(timeout=60), buffer.last, buffer.acked, buffer.lost]), flush=True)
"""


def test_a_killed_agent_goes_on_where_it_was(tmp_path: Path, undisturbed: Undisturbed) -> None:
    choose = random.Random(6)
    with a_house(tmp_path / "house", ["first"]) as home:
        told = 0
        for _ in range(KILLS):
            process = start(home.cable.url, tmp_path / "buffer")
            began = int(said(process))
            assert began >= told, "what was told before it was killed is numbered"
            for _ in range(choose.randint(1, COUNT // (KILLS + 2))):
                told = int(said(process))
            time.sleep(choose.uniform(0, 0.05))
            process.kill()
            rest = process.communicate()[0].split()
            told = int(rest[-1]) if rest else told
        process = start(home.cable.url, tmp_path / "buffer")
        out, _ = process.communicate(timeout=120)
        assert json.loads(out.splitlines()[-1]) == [True, COUNT, COUNT, 0]

        agent = home.agent("first")  # the one that tells the same undisturbed
        agent.told = COUNT
        home.stop()
        record = undisturbed([agent])
        agent.sender.core.buffer.acked = COUNT  # what the killed ones heard, put together
        assert_nothing_was_lost(home, [agent], record, why="the sender left without a goodbye")


def start(url: str, folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", AGENT, url, str(folder), token("first"), str(COUNT)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()
