"""What every bench shares: repeats and medians, the machine's noise, versions, a table for people, JSON for machines.

A bench is a module of this folder with

    def measure(options) -> list[Figure]          what it found; `options` has quick, repeats and its own
    def arguments(parser) -> None                 optional: its own options
    if __name__ == "__main__":
        harness.run(measure, arguments)

`run` prints the table and, last, one JSON line a figure: {"bench", "figure", "unit", "bar", "holds"}. It exits with 0
whether or not a bar holds, and also when a part could not be measured: that is a figure too (None, with a note).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 3


@dataclass(frozen=True)
class Bar:
    """What a figure has to be: `least` or `most`, in the figure's unit."""

    least: float | None = None
    most: float | None = None

    def holds(self, value: float | None) -> bool:
        if value is None:
            return False
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        sides = [f">= {told(self.least)}"] if self.least is not None else []
        return ", ".join(sides + ([f"<= {told(self.most)}"] if self.most is not None else []))


@dataclass(frozen=True)
class Figure:
    """One number: `bench` says of what ("ingest: runs a second"), `note` how it came about, `spread` how steady it was.

    `value` None: it could not be measured, and `note` says why. `spread`: (largest - smallest) / median of the repeats.
    """

    bench: str
    value: float | None
    unit: str
    bar: Bar | None = None
    note: str = ""
    spread: float | None = None

    @property
    def holds(self) -> bool | None:
        """None: there is no bar."""
        return None if self.bar is None else self.bar.holds(self.value)

    def as_json(self) -> dict[str, Any]:
        return {
            "bench": self.bench,
            "figure": None if self.value is None else round(self.value, 3),
            "unit": self.unit,
            "bar": None if self.bar is None else str(self.bar),
            "holds": self.holds,
        }


@dataclass(frozen=True)
class Samples:
    """The same thing measured several times."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def spread(self) -> float:
        return (max(self.values) - min(self.values)) / self.median if self.median else 0.0


def repeat(times: int, function: Callable[[], float]) -> Samples:
    return Samples(tuple(function() for _ in range(times)))


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share (0 to 1) of all values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]


# -- the machine ------------------------------------------------------------------------------------


def calibrate(rounds: int = 7) -> list[float]:
    """Seconds that a fixed piece of work takes, again and again: what varies here is the machine, not us."""

    def work() -> float:
        began = time.perf_counter()
        total, text = 0, json.dumps({"a": list(range(200))})
        for _ in range(1500):
            total += len(json.loads(text)["a"])
        assert total
        return time.perf_counter() - began

    return [work() for _ in range(rounds)]


@dataclass(frozen=True)
class Noise:
    """The calibration before and after: how much slower the second was, and how far single rounds lay apart."""

    before: Sequence[float]
    after: Sequence[float]

    @property
    def drift(self) -> float:
        return statistics.median(self.after) / statistics.median(self.before) - 1

    @property
    def spread(self) -> float:
        return Samples((*self.before, *self.after)).spread

    def __str__(self) -> str:
        return f"drift {self.drift:+.0%}, spread {self.spread:.0%}"


def machine() -> str:
    """Processor, cores, memory and system, without the machine's name."""
    import psutil

    return (
        f"{psutil.cpu_count()} cores ({_processor()}), {psutil.virtual_memory().total / 2**30:.0f} GiB, "
        f"{platform.system()} {platform.release().partition('-')[0]}"
    )


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def versions() -> str:
    import sqlite3

    parts = [
        f"footprint {_ours()}",
        f"Python {platform.python_version()}",
        f"SQLite {sqlite3.sqlite_version}",
    ]
    for name in ("Django", "channels", "daphne", "msgspec", "psycopg"):
        try:
            parts.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            parts.append(f"{name} absent")
    if server := _postgres_version():
        parts.append(f"PostgreSQL {server}")
    return ", ".join(parts)


def _ours() -> str:
    import subprocess
    import tomllib

    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return f"{version} ({asked.stdout.strip()})" if asked.returncode == 0 else str(version)


def _postgres_version() -> str | None:
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        return None
    from urllib.parse import urlsplit

    import psycopg

    try:
        with psycopg.connect(urlsplit(url)._replace(path="/postgres").geturl(), connect_timeout=3) as asked:
            return asked.info.parameter_status("server_version") or "?"
    except psycopg.Error:
        return "unreachable"


def set_up_django() -> None:
    """Django for the bench's own process, on data that is nobody's."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "footprint_site.settings")
    if "FOOTPRINT_DATA" not in os.environ:
        os.environ["FOOTPRINT_DATA"] = tempfile.mkdtemp(prefix="footprint-bench-")
    import django

    django.setup()


# -- printing ---------------------------------------------------------------------------------------


def told(value: float | None) -> str:
    """A number as people read it: three digits that count, thousands apart."""
    if value is None:
        return "not measured"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 4
    return f"{value:,.{digits}f}"


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns as wide as they need to be; numbers to the right, words to the left."""
    listed = [[cell if isinstance(cell, str) else told(cell) for cell in row] for row in rows]  # type: ignore[arg-type]
    numeric = [all(_is_numeric(row[place]) for row in listed) for place in range(len(headings))]
    widths = [max(len(row[place]) for row in [list(headings), *listed]) for place in range(len(headings))]
    for row in [list(headings), ["-" * width for width in widths], *listed]:
        cells = zip(row, widths, numeric, strict=True)
        print("  ".join(f"{c:>{w}}" if right else f"{c:<{w}}" for c, w, right in cells).rstrip())


def _is_numeric(text: str) -> bool:
    return not text or text.strip("+-% ").replace(",", "").replace(".", "").isdigit()


# -- one bench as a command -------------------------------------------------------------------------


def run(
    measure: Callable[[argparse.Namespace], list[Figure]],
    arguments: Callable[[argparse.ArgumentParser], None] | None = None,
) -> None:
    """The bench as a command. Exits with 0 in any case."""
    main = sys.modules["__main__"]
    name = main.__spec__.name if main.__spec__ else "bench"
    parser = argparse.ArgumentParser(
        prog=f"python -m {name}", description=(main.__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: seconds, for a first impression")
    parser.add_argument(
        "--repeats", type=int, default=REPEATS, help=f"default: {REPEATS}; medians are printed"
    )
    parser.add_argument(
        "--into", type=Path, help="append the figures to this file too, one JSON object a line"
    )
    if arguments is not None:
        arguments(parser)
    options = parser.parse_args()

    print(f"{(main.__doc__ or name).strip().splitlines()[0]}\n\n{machine()}\n{versions()}")
    before = calibrate()
    try:
        figures = measure(options)
    except Exception as problem:
        traceback.print_exc()
        figures = [
            Figure(name.rpartition(".")[2], None, "", Bar(), f"failed: {type(problem).__name__}: {problem}")
        ]
    noise = Noise(before, calibrate())
    print(f"Noise of the machine: {noise} (one round {statistics.median(before) * 1000:.0f} ms)\n")
    print_table(
        ("figure", "median", "unit", "spread", "bar", "holds", "note"),
        [
            (
                one.bench,
                told(one.value),
                one.unit,
                "" if one.spread is None else f"{one.spread:.0%}",
                "" if one.bar is None else str(one.bar),
                {None: "", True: "yes", False: "NO"}[one.holds],
                one.note,
            )
            for one in figures
        ],
    )
    print()
    for one in figures:
        print(json.dumps(one.as_json()))
    if options.into is not None:
        command = " ".join([f"python -m {name}", *_without_into(sys.argv[1:])])
        with options.into.open("a") as file:
            for one in figures:
                more = {"spread": one.spread, "note": one.note, "noise": str(noise), "command": command}
                file.write(json.dumps(one.as_json() | more) + "\n")
    sys.exit(0)


def _without_into(words: list[str]) -> list[str]:
    place = words.index("--into") if "--into" in words else len(words)
    return words[:place] + words[place + 2 :]
