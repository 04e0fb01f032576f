"""`python -m bench.live`: from an event's sending to its row on the pages that watch, and what watchers cost ingest.

One agent tells 200 events a second of one long answer; readers' and operators' pages of that answer are open. What is
timed begins before the frame with a call's start is sent and ends where the frame that shows its row arrives; with
--browser (not in --quick) also where Chromium has the row in its DOM.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from bench import harness
from bench.harness import Bar, Figure, Samples, percentile
from bench.senders import RawSender, send_all
from bench.servers import DATABASES, BenchServer, bench_server
from bench.watchers import Seen, watchers
from bench.workload import AGENTS, NAMES, OFFERED, Stream, workload

A_SECOND = 200  # events
MOST_WAITING = 500  # of them without an ack: a server that cannot keep up is not drowned
CALLS_A_STEP = 3
TOLD_S, TOLD_QUICK_S = 10.0, 4.0
WARM_UP_S = 1.0
SETTLED_S = 1.5  # so long after the last event every page must have shown it
PEOPLE = 10  # of each role; pages of the same person share a session
RUNS, RUNS_QUICK = 1_500, 400


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--watchers", type=int, nargs="*", help="pages that are open (default: 1 100 500)")
    parser.add_argument("--no-ingest", action="store_true", help="leave out what watchers cost ingest")


def measure(options: argparse.Namespace) -> list[Figure]:
    harness.set_up_django()
    figures: list[Figure] = []
    sizes = options.watchers if options.watchers is not None else [100] if options.quick else [1, 100, 500]
    for size in sizes:
        rounds = [one_round(options, size, seed) for seed in range(options.repeats)]
        harness.print_table(
            (
                "watchers",
                "p50 ms",
                "p99 ms",
                "worst",
                "rows seen",
                "frames/s a page",
                "kB a frame",
                "server cpu",
            ),
            [(size, *took.row()) for took in rounds],
        )
        figures += figures_of(size, rounds)
    if not options.quick:
        figures += in_a_browser(options)
    if not options.no_ingest:
        figures.append(beside_ingest(options))
    return figures


@dataclass(frozen=True)
class Took:
    """One round: milliseconds from event to row over all pages, and what was sent meanwhile."""

    waits: list[float]
    missing: int
    seconds: float
    seen: Seen
    cpu_share: float

    def row(self) -> tuple[object, ...]:
        pages = len(self.seen.pages)
        return (
            *(
                (percentile(self.waits, 0.5), percentile(self.waits, 0.99), max(self.waits))
                if self.waits
                else (None,) * 3
            ),
            f"{len(self.waits):,} of {len(self.waits) + self.missing:,}",
            *(self.seen.frames / pages / self.seconds, self.seen.bytes / 1000 / max(1, self.seen.frames)),
            f"{self.cpu_share:.0%}",
        )


def one_round(options: argparse.Namespace, size: int, seed: int) -> Took:
    seconds = TOLD_QUICK_S if options.quick else TOLD_S
    with bench_server(database=options.database) as server:
        agent = PacedAgent(server, seed)
        sessions = people_of(server)
        url = server.process.url
        with agent.telling() as (key, slug), watchers(url, key, slug, sessions, size) as seen:
            agent.go()
            time.sleep(WARM_UP_S)
            began, before = time.monotonic(), server.use().cpu_s
            time.sleep(seconds)
            ended, after = time.monotonic(), server.use().cpu_s
            time.sleep(SETTLED_S)
        waits, missing = waits_of(agent.sent, seen, began, ended)
        return Took(waits, missing, ended - began + SETTLED_S, seen, (after - before) / (ended - began))


def waits_of(sent: dict[int, float], seen: Seen, began: float, ended: float) -> tuple[list[float], int]:
    """Milliseconds of each row on each page, for what was sent between the two; and how many never came."""
    waits, missing = [], 0
    for page in seen.pages:
        for row, when in sent.items():
            if began <= when <= ended:
                if row in page:
                    waits.append((page[row] - when) * 1000)
                else:
                    missing += 1
    return waits, missing


def figures_of(size: int, rounds: list[Took]) -> list[Figure]:
    pages = f"{size} watcher{'s' if size > 1 else ''}"
    if not all(took.waits for took in rounds):
        return [Figure(f"live: event to page, {pages}", None, "ms", Bar(most=300), "a round without a row")]
    half = Samples(tuple(percentile(took.waits, 0.5) for took in rounds))
    most = Samples(tuple(percentile(took.waits, 0.99) for took in rounds))
    missing = sum(took.missing for took in rounds)
    note = f"{missing} rows never came" if missing else ""
    of_half, of_most = (Bar(most=40), Bar(most=120)) if size <= 100 else (None, Bar(most=300))
    return [
        Figure(f"live: event to page, {pages}, p50", half.median, "ms", of_half, note, half.spread),
        Figure(f"live: event to page, {pages}, p99", most.median, "ms", of_most, note, most.spread),
    ]


# -- who tells and who watches ----------------------------------------------------------------------


class PacedAgent:
    """Tells one long answer over a raw websocket, from a thread: its beginning at once, the rest at a steady pace as
    soon as `go()` was called. `sent`: call number -> when."""

    def __init__(self, server: BenchServer, seed: int) -> None:
        self._server, self._seed = server, seed
        self.sent: dict[int, float] = {}
        self._may_go, self._enough = threading.Event(), threading.Event()

    @contextlib.contextmanager
    def telling(self) -> Iterator[tuple[str, str]]:
        """The agent tells inside; the project's key and the answer's slug."""
        with ThreadPoolExecutor(1) as thread:
            telling = thread.submit(lambda: asyncio.run(self._tell()))
            try:
                yield self._address()
            finally:
                self._enough.set()
                self._may_go.set()
            telling.result()

    def go(self) -> None:
        self._may_go.set()

    def _address(self) -> tuple[str, str]:
        from runs.models import Answer

        while True:
            columns = ("project__key", "slug")
            found = self._server.database.rows(Answer, *columns, run__name=run_name(self._seed))
            if found:
                key, slug = found[0]
                return key, slug
            time.sleep(0.05)

    async def _tell(self) -> None:
        url, token = self._server.websocket_url, self._server.token
        sender = await RawSender.opened(url, token, Stream(f"paced-{self._seed}", ()))
        hearing = asyncio.create_task(sender.hear(10**9))
        began = 0.0
        for number, (call, line) in enumerate(long_answer(self._seed), 1):
            if call == 1:
                await asyncio.to_thread(self._may_go.wait)
                began = time.monotonic() - number / A_SECOND
            if (pause := began + number / A_SECOND - time.monotonic()) > 0:
                await asyncio.sleep(pause)
            while number - sender.acked > MOST_WAITING and not hearing.done():
                await asyncio.sleep(0.005)
            if self._enough.is_set() or hearing.done():
                break
            if call is not None:
                self.sent[call] = time.monotonic()
            await sender.socket.send(json.dumps({"type": "events", "first": number}) + "\n" + line)
        if hearing.done():
            hearing.result()  # why the server would hear no more
        hearing.cancel()
        await sender.close()


def run_name(seed: int) -> str:
    return f"watched-{seed}"


def long_answer(seed: int) -> Iterator[tuple[int | None, str]]:
    """Lines of one answer that never ends, each with the number of the call that it starts, if it does."""
    from runs.sender import Run
    from runs.sender.listed import line_of

    lines: list[str] = []

    def emit(event: object) -> None:
        listed = line_of(event)
        assert listed is not None
        assert listed.data is not None
        lines.append(listed.data.decode())

    def told() -> Iterator[tuple[int | None, str]]:
        yield from ((None, line) for line in lines)
        lines.clear()

    agent, model = AGENTS[0]
    run = Run(emit, run_id=run_name(seed), agent_id=agent, provider="northwind-models", model=model)
    run.tools_declared({name: f"the {name.replace('_', ' ')}" for name in NAMES})
    run.turn_start("Where is my order, and what can you do about the delay?")
    calls = count(1)
    while True:
        run.llm_start(OFFERED)
        run.llm_end(CALLS_A_STEP, input_tokens=900, output_tokens=80)
        yield from told()
        for name in islice(NAMES, CALLS_A_STEP):
            number = next(calls)
            call = run.tool_start(name, f"call-{number}")
            yield number, lines.pop()
            run.tool_end(call, error=number % 20 == 0)
            yield from told()


def people_of(server: BenchServer) -> list[str]:
    """Sessions of readers and operators of the project, in turn."""
    from tests.server_process import run_on

    script = _LOG_IN.format(project=server.project_id, people=PEOPLE)
    sessions: list[str] = json.loads(run_on(server.process, script))
    return sessions


_LOG_IN = """
import json
from django.contrib.auth import get_user_model
from django.test import Client
from runs.models import Membership
sessions = []
for number in range(2 * {people}):
    person = get_user_model().objects.create(username=f"person-{{number}}")
    Membership.objects.create(user=person, project_id={project}, role=("reader", "operator")[number % 2])
    client = Client()
    client.force_login(person)
    sessions.append(client.cookies["sessionid"].value)
print(json.dumps(sessions))
"""


# -- Chromium ---------------------------------------------------------------------------------------

WATCH_ROWS = """
window.seenRows = {};
new MutationObserver(changes => {
  const now = performance.timeOrigin + performance.now();
  for (const change of changes)
    for (const node of change.addedNodes)
      if (node.id && node.id.startsWith("call-") && node.dataset.number && !(node.dataset.number in window.seenRows))
        window.seenRows[node.dataset.number] = now;
}).observe(document.getElementById("call-rows"), {childList: true});
"""


def in_a_browser(options: argparse.Namespace) -> list[Figure]:
    """One page in Chromium beside 99 watchers that only listen."""
    from tests import requirements

    if requirements.CHROMIUM.path() is None:
        return [Figure("live: event to DOM, p50", None, "ms", Bar(most=40), "there is no Chromium here")]
    rounds = [browser_round(options, seed) for seed in range(options.repeats)]
    half = Samples(tuple(percentile(waits, 0.5) for waits in rounds))
    most = Samples(tuple(percentile(waits, 0.99) for waits in rounds))
    note = f"Chromium beside 99 watchers, {sum(map(len, rounds)):,} rows"
    return [
        Figure("live: event to DOM, p50", half.median, "ms", Bar(most=40), note, half.spread),
        Figure("live: event to DOM, p99", most.median, "ms", Bar(most=120), note, most.spread),
    ]


def browser_round(options: argparse.Namespace, seed: int) -> list[float]:
    from playwright.sync_api import sync_playwright

    from tests import requirements

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright keeps a loop in this thread
    with bench_server(database=options.database) as server, sync_playwright() as playwright:
        agent = PacedAgent(server, seed)
        sessions = people_of(server)
        chromium = playwright.chromium.launch(
            executable_path=requirements.CHROMIUM.path(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        url = server.process.url
        with agent.telling() as (key, slug), watchers(url, key, slug, sessions, 99):
            context = chromium.new_context()
            context.add_cookies([{"name": "sessionid", "value": sessions[0], "url": url}])
            page = context.new_page()
            page.goto(f"{url}/p/{key}/answers/{slug}/")
            page.wait_for_selector('#live-state[data-state="live"]')
            page.evaluate(WATCH_ROWS)
            agent.go()
            time.sleep(WARM_UP_S)
            began = time.monotonic()
            time.sleep(TOLD_S)
            ended = time.monotonic()
            time.sleep(SETTLED_S)
            seen: dict[str, float] = page.evaluate("window.seenRows")
        chromium.close()
    offset = time.time() - time.monotonic()
    return [
        seen[str(row)] - (when + offset) * 1000
        for row, when in agent.sent.items()
        if began <= when <= ended and str(row) in seen
    ]


# -- what watchers cost ingest ------------------------------------------------------------------------


def beside_ingest(options: argparse.Namespace) -> Figure:
    """W at full speed beside a paced agent whose answer 100 pages watch, and the same without the pages."""
    runs = RUNS_QUICK if options.quick else RUNS
    ratios, rows = [], []
    for seed in range(options.repeats):
        alone, watched = ingest_round(options, runs, 0, seed), ingest_round(options, runs, 100, seed)
        ratios.append(watched / alone)
        rows.append((f"{runs:,} runs", alone, watched, f"{watched / alone:.0%}"))
    harness.print_table(("ingest", "runs/s without", "with 100 watchers", "kept"), rows)
    samples = Samples(tuple(ratios))
    return Figure(
        "live: ingest with 100 watchers", samples.median, "x", Bar(least=0.7), "of the rate with none", samples.spread
    )  # fmt: skip


def ingest_round(options: argparse.Namespace, runs: int, size: int, seed: int) -> float:
    with bench_server(database=options.database) as server:
        send_all(server.websocket_url, server.token, workload(100, senders=1, seed=99))
        streams = workload(runs, seed=seed)
        agent = PacedAgent(server, seed)
        with agent.telling() as (key, slug):
            watching: Any = contextlib.nullcontext()
            if size:
                watching = watchers(server.process.url, key, slug, people_of(server), size)
            with watching:
                agent.go()
                return runs / send_all(server.websocket_url, server.token, streams)


if __name__ == "__main__":
    harness.run(measure, arguments)
