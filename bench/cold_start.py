"""`python -m bench.cold_start`: from `manage.py serve` on nothing to the first page, and what an installation weighs.

The start makes the database with all its migrations. The installation is that of the extra `server` with what an agent
needs, in a new virtual environment, pip and our own files included; it is made once, by pip, from its usual index.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench import harness
from bench.harness import Bar, Figure, Samples

OURS = ("runs", "footprint_site", "templates", "static", "manage.py")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-install", action="store_true", help="leave the installation out")


def measure(options: argparse.Namespace) -> list[Figure]:
    on_nothing, again = [], []
    for _ in range(options.repeats):
        with tempfile.TemporaryDirectory(prefix="footprint-bench-") as folder:
            on_nothing.append(start(Path(folder)))
            again.append(start(Path(folder)))

    def figure(words: str, values: list[float], unit: str, bar: Bar | None = None, note: str = "") -> Figure:
        samples = Samples(tuple(values))
        return Figure(f"cold start: {words}", samples.median, unit, bar, note, samples.spread)

    figures = [
        figure("on nothing", [one.seconds for one in on_nothing], "s", Bar(most=1.5), "migrations included"),
        figure("on nothing, processor time", [one.cpu_s for one in on_nothing], "s"),
        figure("on a database that is there", [one.seconds for one in again], "s"),
        figure("on a database that is there, processor time", [one.cpu_s for one in again], "s"),
        figure("memory after the first page", [one.rss / 1e6 for one in again], "MB"),
    ]
    if options.quick or options.no_install:
        return figures
    return [*figures, installation()]


@dataclass(frozen=True)
class Start:
    """From the command to the end of the first page's answer: seconds, processor seconds, memory in bytes then."""

    seconds: float
    cpu_s: float
    rss: int


def start(data: Path) -> Start:
    from tests.server_process import server_process

    began = time.perf_counter()
    with server_process(data=data) as server, urllib.request.urlopen(server.url + "/log-in/") as page:
        page.read()
        seconds, process = time.perf_counter() - began, psutil.Process(server.pid)
        times = process.cpu_times()
        return Start(seconds, times.user + times.system, process.memory_info().rss)


def installation() -> Figure:
    """Installs what pyproject.toml names. Nothing of it is installed from this folder: our own files are added."""
    project = tomllib.loads((harness.ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["server"]]
    name, bar = "install: the extra `server`", Bar(most=160)
    with tempfile.TemporaryDirectory(prefix="footprint-bench-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "install", "-q", "--no-input", *wanted]
        done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode:
            return Figure(name, None, "MB", bar, f"pip did not install it: {done.stderr.strip()[-120:]}")
        size = weight(Path(folder)) + sum(weight(harness.ROOT / part) for part in OURS)
    return Figure(name, size / 1e6, "MB", bar, "the whole environment, pip and our own files included")


def weight(path: Path) -> int:
    """Bytes on disk of a file or a folder."""
    if path.is_file():
        return path.stat().st_blocks * 512
    found = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return sum(one.lstat().st_blocks * 512 for one in found)


if __name__ == "__main__":
    harness.run(measure, arguments)
