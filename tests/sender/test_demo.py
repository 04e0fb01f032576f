"""The demo's agents: varied, readable, honest about what happens to them, and the same for the same seed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from runs.rules import kept
from runs.sender import demo_agent
from runs.sender.demo_agent import Demo
from runs.sender.listed import line_of

from .scripted import Ingest, close_with

ROOT = Path(__file__).parents[2]


async def played(seed: int, answers: int) -> list[dict]:
    events: list[dict] = []
    now = 1_800_000_000.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        await asyncio.sleep(0)

    await Demo(events.append, seed=seed, sleep=sleep, clock=lambda: now).play(answers)
    return events


async def test_the_same_seed_plays_the_same_conversations():
    first = await played(7, 30)
    assert json.dumps(first) == json.dumps(await played(7, 30))
    assert first != await played(8, 30)


async def test_everything_it_shows_happens():
    events = await played(1, 400)
    lines = [line_of(event) for event in events]
    assert all(line is not None and line.refusal is None for line in lines)
    read = [one for event in events if isinstance(one := kept.keep_object(event), kept.Kept)]
    assert len(read) == len(events)
    bodies = {name: [one.body for one in read if one.type == name] for name in {one.type for one in read}}

    ends = bodies["stream.tool_end"]
    assert any(end.error for end in ends)
    assert {end.status for end in ends} >= {None, "success", "failure", "invalid"}
    assert any(end.not_executed for end in ends)
    assert max(end.duration_ms for end in ends) > 3000
    starts = bodies["stream.tool_start"]
    assert max(start.parallel_count or 1 for start in starts) == 3
    assert len(starts) > len(ends), "some calls never end"
    assert any(check.result == "deny" for check in bodies["permission.check"])
    assert {decision.approved for decision in bodies["checkin.decision"]} == {True, False}
    assert len(bodies["pause.request"]) > len(bodies["pause.resume"]) > 5
    early = [end.stopped_early for end in bodies["agent.turn_end"] if end.stopped_early]
    assert {(one.reason, one.wrapped_up) for one in early} == {
        (reason, wrapped) for reason in ("max-iterations", "cost-budget") for wrapped in (True, False)
    }
    assert bodies["error.fatal"]
    assert bodies["composition.exit"]
    assert bodies["footprint.delegation.refused"]
    assert bodies["footprint.answer.checked"]

    rows = bodies["footprint.tool_choice.row"]
    assert {row.kind for row in rows} == {"pick", "pick-error", "outcome"}
    assert {row.narrowed_skipped for row in rows} == {None, "unavailable", "too-few", "after-miss", "wrap-up"}
    narrowed = [row for row in rows if row.narrowed]
    assert narrowed
    assert all(len(row.served) < len(row.wire) for row in narrowed)
    assert any(row.miss for row in rows)
    assert {row.first_agrees for row in rows} == {None, True, False}

    (declared,) = bodies["footprint.tools.declared"]
    unnamed = [tool.name for tool in declared.tools if tool.display_name is None]
    assert 0 < len(unnamed) < len(declared.tools) / 2
    assert not any(tool.display_name_problem for tool in declared.tools)

    questions = [said.text for one in read for said in one.texts if said.kind == "question"]
    answers = [said.text for one in read for said in one.texts if said.kind == "answer"]
    assert len(set(questions)) > len(questions) * 0.7
    assert not any("{" in text or not text.strip() for text in questions + answers)
    sessions = Counter(one.meta.session_id for one in read if one.type == "agent.turn_start")
    del sessions[None]
    assert set(sessions.values()) == {1, 2, 3}


async def test_calls_and_runs_are_told_in_order():
    open_calls: dict[str, str] = {}
    finished: set[str] = set()
    for event in await played(3, 200):
        kind, payload, run = event["type"].partition(".")[2], event["payload"], event["meta"]["runId"]
        assert run == "consumer-scope" or run not in finished, "nothing comes after the end of a run"
        if kind == "stream.tool_start":
            assert payload["toolCallId"] not in open_calls
            open_calls[payload["toolCallId"]] = payload["toolName"]
        elif kind == "stream.tool_end":
            del open_calls[payload["toolCallId"]]
        elif kind == "integrity.disposition":
            finished.add(run)


async def test_the_demo_reports_through_the_shipped_sender():
    async with Ingest(close_with(1012, after=20)) as ingest:
        assert await demo_agent.run(ingest.url, pace=0, answers=10, seed=5) == 0
        (bye,) = ingest.byes
        assert len(ingest.events) == bye > 50
        starts = [event for event in ingest.events if event["type"].endswith("turn_start")]
        assert len(starts) >= 10


async def test_the_demo_ends_with_a_sentence_when_its_token_is_no_good(capsys):
    async with Ingest(close_with(4401)) as ingest:
        assert await demo_agent.run(ingest.url, pace=0.01, answers=None, seed=5) == 1
    assert "does not accept the token" in capsys.readouterr().err


async def leaves(process: subprocess.Popen, ingest: Ingest, ask) -> None:
    try:
        await asyncio.wait_for(ingest.met.wait(), 20)
        async with asyncio.timeout(20):
            while not ingest.events:
                await asyncio.sleep(0.02)
        ask()
        assert await asyncio.to_thread(process.wait, 20) == 0
        assert ingest.byes == [len(ingest.events)]
    finally:
        process.kill()
        process.wait()


def demo_process(ingest: Ingest) -> subprocess.Popen:
    command = [sys.executable, "-m", "runs.sender.demo_agent", "--url", ingest.url, "--seed", "1"]
    environment = {**os.environ, "FOOTPRINT_TOKEN": "fp_x"}
    return subprocess.Popen(command, env=environment, cwd=ROOT, stdin=subprocess.PIPE)


async def test_sigterm_says_goodbye():
    async with Ingest() as ingest:
        process = demo_process(ingest)
        await leaves(process, ingest, lambda: process.send_signal(signal.SIGTERM))
        assert set(ingest.headers) == {"Bearer fp_x"}


async def test_it_leaves_with_the_process_that_started_it():
    async with Ingest() as ingest:
        process = demo_process(ingest)
        assert process.stdin is not None
        await leaves(process, ingest, process.stdin.close)
