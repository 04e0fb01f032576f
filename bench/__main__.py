"""`python -m bench`: every bench of this folder, one after the other; with --write, its figures into RESULTS.md."""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import harness

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "RESULTS.md"
FIRST = ("ingest", "single_event", "raw_stream", "memory")  # the order people read them in; all others follow
LONGEST_S = 3600.0


def benches() -> list[str]:
    """The modules that have a `measure`, told from their text: a bench that cannot be imported says so itself."""
    found = [path.stem for path in FOLDER.glob("*.py") if "\ndef measure(" in path.read_text()]
    return [name for name in FIRST if name in found] + sorted(set(found) - set(FIRST))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(benches())}")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--repeats", type=int, default=harness.REPEATS)
    parser.add_argument("--write", action="store_true", help="write RESULTS.md")
    options = parser.parse_args()
    began = time.monotonic()
    figures = []
    for name in options.names or benches():
        figures += _one(name, options)
    print(f"\n== all figures, after {time.monotonic() - began:.0f} s\n")
    harness.print_table(
        ("figure", "median", "unit", "bar", "holds"),
        [
            (f["bench"], harness.told(f["figure"]), f["unit"], f["bar"] or "", _word(f["holds"]))
            for f in figures
        ],
    )
    if options.write:
        RESULTS.write_text(_page(figures))
        print(f"\nWritten to {RESULTS.relative_to(harness.ROOT)}.")


def _one(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """One bench in a process of its own, its output passed on as it comes."""
    print(f"\n== {name}\n", flush=True)
    command = [sys.executable, "-m", f"bench.{name}", "--repeats", str(options.repeats)]
    with tempfile.NamedTemporaryFile(prefix="footprint-bench-", suffix=".jsonl") as into:
        quick = ["--quick"] if options.quick else []
        try:
            subprocess.run(
                [*command, *quick, "--into", into.name], cwd=harness.ROOT, timeout=LONGEST_S, check=False
            )
        except subprocess.TimeoutExpired:
            print(f"{name} was stopped after {LONGEST_S:.0f} s")
        return [json.loads(line) for line in Path(into.name).read_text().splitlines()]


def _page(figures: list[dict[str, Any]]) -> str:
    rows = [
        f"| {f['bench']} | {harness.told(f['figure'])} {f['unit']} | {_share(f['spread'])} | {f['bar'] or ''} "
        f"| {_word(f['holds'])} | {f['note']} | {f['noise']} | `{f['command']}` |"
        for f in figures
    ]
    return "\n".join(
        [
            "# Figures",
            "",
            "Written by `make bench`; what they mean: [README.md](README.md). Medians, on a shared machine: compare what",
            "stands in one table, not two tables. *Spread* is (largest - smallest) / median of the repeats; *noise* is what a",
            "fixed piece of work did before and after that bench.",
            "",
            f"- {datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
            f"- {harness.machine()}",
            f"- {harness.versions()}",
            "",
            "| figure | median | spread | bar | holds | note | noise | again with |",
            "|---|---|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def _word(holds: bool | None) -> str:
    return {None: "", True: "yes", False: "**no**"}[holds]


if __name__ == "__main__":
    main()
