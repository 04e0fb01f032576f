"""`python -m bench.peers`: workload W in Arize Phoenix and MLflow, beside ours in the same run.

Each peer is installed by pip into an environment of its own below `--folder` (about 850 MB, kept there for the next
time) and started as its documentation says, on SQLite. W goes in as OpenTelemetry spans, ten a run, until they are
committed. What cannot be installed or asked is said in words. No part of `make bench`, and of no test.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from bench import harness, ingest
from bench.cold_start import weight
from bench.harness import Bar, Figure, Samples
from bench.peers.products import PEERS, Peer
from bench.workload import RUNS, SENDERS

SPANS_A_RUN = 10
BIG_SPANS = 2_000
STARTED_WITHIN = 120.0
STORED_WITHIN = 900.0
PAGES = 9  # how often each page is asked
KILLED_RUNS = 400
WARM_UP_RUNS = 40


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder", type=Path, required=True, help="where their environments are, or are made"
    )
    parser.add_argument("--runs", type=int, help=f"default: {RUNS:,}; quick: 200")
    parser.add_argument("--only", choices=[peer.name for peer in PEERS], help="one of them")


def measure(options: argparse.Namespace) -> list[Figure]:
    harness.set_up_django()
    runs = options.runs or (200 if options.quick else RUNS)
    took = [ingest.on_empty(runs, repeat) for repeat in range(options.repeats)]
    ours = Costs.of([(runs / one.seconds, one.cpu_s / runs * 1000) for one in took])
    figures = [
        Figure("ours: runs", ours.rate.median, "runs/s", None, f"{runs:,} runs", ours.rate.spread),
        Figure("ours: processor", ours.cpu_ms.median, "ms/run", None, "", ours.cpu_ms.spread),
    ]
    for peer in PEERS:
        if options.only not in (None, peer.name):
            continue
        try:
            place = installed(peer, options.folder)
            figures += beside(peer, place, runs, ours, options.repeats)
        except Unavailable as problem:
            figures.append(Figure(f"{peer.name}: runs", None, "runs/s", None, str(problem)))
    return figures


@dataclass(frozen=True)
class Costs:
    """Runs a second, and the processor milliseconds of a run: these say more where others use the machine."""

    rate: Samples
    cpu_ms: Samples

    @classmethod
    def of(cls, repeats: list[tuple[float, float]]) -> Costs:
        rates, cpu = zip(*repeats, strict=True)
        return cls(Samples(rates), Samples(cpu))


class Unavailable(Exception):
    """A peer that could not be installed, started or used, in a sentence."""


def installed(peer: Peer, folder: Path) -> Path:
    """The peer's own environment; made when it is not there."""
    place = folder.resolve() / peer.name.lower()
    if not (place / "bin" / peer.command(0, place)[0]).exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "-q", "--no-input", peer.package]
        done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"pip did not install {peer.package}: {done.stderr.strip()[-150:]}")
    return place


def beside(peer: Peer, place: Path, runs: int, ours: Costs, repeats: int) -> list[Figure]:
    """The peer's figures, and how many times its rate ours is."""
    costs, starts = [], []
    for seed in range(repeats):
        with started(peer, place) as server:
            starts.append(server.seconds)
            server.warm_up()
            taken = server.take(runs, seed)
            costs.append((runs / taken.stored, taken.cpu_s / runs * 1000))
            memory, processes = server.memory()
            if seed == repeats - 1:
                pages = server.pages(seed)
    theirs, start = Costs.of(costs), Samples(tuple(starts))
    name = f"{peer.name} {version(peer, place)}"
    with started(peer, place) as server:
        server.warm_up()
        before = peer.spans(server.data)
        acked = server.take(KILLED_RUNS, 77, wait=False)
        server.kill()
        kept = peer.spans(server.data) - before
    words = f"of {KILLED_RUNS * SPANS_A_RUN:,} acknowledged in {acked.acked:.1f} s"
    return [
        Figure(f"{name}: runs", theirs.rate.median, "runs/s", None, "until committed", theirs.rate.spread),
        Figure(f"{name}: processor", theirs.cpu_ms.median, "ms/run", None, "", theirs.cpu_ms.spread),
        Figure(f"ours beside {peer.name}", ours.rate.median / theirs.rate.median, "x", Bar(least=peer.least)),
        Figure(f"ours beside {peer.name}, by processor", theirs.cpu_ms.median / ours.cpu_ms.median, "x"),
        Figure(
            f"{name}: memory after W", memory / 1e6, "MB", None, f"{processes} processes, shared pages once"
        ),
        Figure(
            f"{name}: start",
            start.median,
            "s",
            None,
            "to its first answer, its database being made",
            start.spread,
        ),
        Figure(f"{name}: install", weight(place) / 1e6, "MB"),
        *(Figure(f"{name}: {what}", ms, "ms", None, note) for what, ms, note in pages),
        Figure(f"{name}: spans kept, killed after the last ack", kept, "spans", None, words),
    ]


def version(peer: Peer, place: Path) -> str:
    ask = f"from importlib.metadata import version; print(version({peer.package!r}))"
    done = subprocess.run([place / "bin" / "python", "-c", ask], capture_output=True, text=True, check=True)
    return done.stdout.strip()


# -- a running peer ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Taken:
    """Seconds until all requests were answered, and until all spans were committed; its processor seconds."""

    acked: float
    stored: float
    cpu_s: float


class RunningPeer:
    def __init__(
        self, peer: Peer, place: Path, data: Path, port: int, process: subprocess.Popen[bytes]
    ) -> None:
        self.peer, self.place, self.data = peer, place, data
        self.url = f"http://127.0.0.1:{port}"
        self.seconds = 0.0
        self._process = process

    def take(self, runs: int, seed: int, *, tools: int = 6, wait: bool = True) -> Taken:
        """Send W. The clock runs from the first request."""
        before, cpu_s = self.peer.spans(self.data), self._cpu_s()
        order = {
            "url": self.url + "/v1/traces",
            "headers": dict(self.peer.headers),
            "runs": runs,
            "senders": min(SENDERS, runs),
            "seed": seed,
            "tools": tools,
        }
        script = Path(__file__).with_name("send_spans.py")
        done = subprocess.run(
            [self.place / "bin" / "python", script, json.dumps(order)], capture_output=True, text=True
        )
        if done.returncode:
            raise Unavailable(f"its sender failed: {done.stderr.strip()[-150:]}")
        told = json.loads(done.stdout.splitlines()[-1])
        if told["failed"]:
            raise Unavailable(f"it did not take the spans: {told['failed'][0]}")
        if not wait:
            return Taken(told["seconds"], 0.0, 0.0)
        wanted = before + runs * (4 + tools)
        while self.peer.spans(self.data) < wanted:
            if time.time() - told["began_at"] > STORED_WITHIN:
                raise Unavailable(
                    f"it stored {self.peer.spans(self.data)} of {wanted} spans in {STORED_WITHIN:.0f} s"
                )
            time.sleep(0.05)
        return Taken(told["seconds"], time.time() - told["began_at"], self._cpu_s() - cpu_s)

    def pages(self, seed: int) -> list[tuple[str, float | None, str]]:
        """What its user interface asks for: (what, milliseconds in the middle, note)."""
        self.take(1, 55, tools=BIG_SPANS - 4)
        return [
            self._asked("page of 10 spans", self.peer.page(_trace(seed, 0))),
            self._asked(f"page of {BIG_SPANS:,} spans", self.peer.page(_trace(55, 0))),
            self._asked("list of 50 runs", self.peer.list_of_50()),
        ]

    def _asked(self, what: str, request: tuple[str, bytes | None]) -> tuple[str, float | None, str]:
        path, body = request
        took = []
        for _ in range(PAGES):
            asked = urllib.request.Request(self.url + path, body, {"Content-Type": "application/json"})
            began = time.perf_counter()
            try:
                with urllib.request.urlopen(asked, timeout=60) as answer:
                    text = answer.read()
            except OSError as problem:
                return what, None, f"{path.partition('?')[0]}: {problem}"
            took.append((time.perf_counter() - began) * 1000)
        if b'"errors"' in text[:2000]:
            return what, None, f"its query has changed: {text[:120]!r}"
        return what, Samples(tuple(took)).median, f"{len(text) / 1000:,.0f} kB"

    def warm_up(self) -> None:
        """Its workers have come up, have taken something in, and are at rest."""
        self.take(WARM_UP_RUNS, 99)
        ends = time.monotonic() + STARTED_WITHIN
        before = self._cpu_s()
        while time.monotonic() < ends:
            time.sleep(2)
            now = self._cpu_s()
            if now - before < 0.3:
                return
            before = now

    def memory(self) -> tuple[int, int]:
        """Bytes of all its processes, shared pages counted once, and how many processes they are."""
        family = self._family()
        return sum(one.memory_full_info().pss for one in family), len(family)

    def _cpu_s(self) -> float:
        total = 0.0
        for one in self._family():
            with contextlib.suppress(psutil.NoSuchProcess):
                total += sum(one.cpu_times()[:2])
        return total

    def _family(self) -> list[psutil.Process]:
        first = psutil.Process(self._process.pid)
        return [first, *first.children(recursive=True)]

    def kill(self) -> None:
        """With -9, and everything it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextlib.contextmanager
def started(peer: Peer, place: Path) -> Iterator[RunningPeer]:
    """On data of its own; killed in the end."""
    with TemporaryDirectory(prefix="footprint-bench-", ignore_cleanup_errors=True) as folder:
        data, port = Path(folder), _two_free_ports()
        program, *rest = peer.command(port, data)
        began = time.perf_counter()
        with (data / "log").open("wb") as log:
            process = subprocess.Popen(
                [place / "bin" / program, *rest],
                cwd=data,
                env={**_plain_environment(place), **peer.environment(port, data)},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        server = RunningPeer(peer, place, data, port, process)
        try:
            while not _answers(server.url + peer.health):
                if process.poll() is not None or time.perf_counter() - began > STARTED_WITHIN:
                    raise Unavailable(f"it did not start: {(data / 'log').read_text()[-150:]}")
                time.sleep(0.05)
            server.seconds = time.perf_counter() - began
            yield server
        finally:
            server.kill()


def _plain_environment(place: Path) -> dict[str, str]:
    """Ours without what is ours; its own programs first."""
    left_out = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return kept | {"PATH": f"{place / 'bin'}:{kept.get('PATH', '')}"}


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def _two_free_ports() -> int:
    """The first of two neighbours that nobody uses."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port: int = first.getsockname()[1]
            with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port + 1)):
                return port


def _trace(seed: int, number: int) -> str:
    return hashlib.md5(f"{seed}/{number}".encode()).hexdigest()


if __name__ == "__main__":
    harness.run(measure, arguments)
