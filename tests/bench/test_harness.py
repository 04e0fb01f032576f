"""A bench as people and machines meet it: a command with a table, one JSON line a figure, and exit code 0."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import _page, benches
from bench.harness import Bar, Figure, Samples, percentile, told

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "bench"

TRIED = """
from bench import harness
from bench.harness import Bar, Figure

def measure(options):
    if {fails}:
        raise ValueError("no disk")
    samples = harness.repeat(options.repeats, iter([4.0, 1.0, 2.0]).__next__)
    return [
        Figure("tried: runs", samples.median, "runs/s", Bar(least=3), "a note", samples.spread),
        Figure("tried: memory", 12.3456, "MB", Bar(most=160)),
        Figure("tried: nothing", None, "ms", Bar(most=1), "nobody was there"),
        Figure("tried: a limit", 1234567.0, "events/s"),
    ]

harness.run(measure)
"""


def tried(tmp_path: Path, *arguments: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
    (tmp_path / "tried.py").write_text(TRIED.format(fails=fails))
    done = subprocess.run(
        [sys.executable, "-m", "tried", *arguments],
        cwd=ROOT,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_last_lines_are_the_figures_for_machines(tmp_path: Path) -> None:
    lines = tried(tmp_path).stdout.splitlines()
    assert [json.loads(line) for line in lines[-4:]] == [
        {"bench": "tried: runs", "figure": 2.0, "unit": "runs/s", "bar": ">= 3", "holds": False},
        {"bench": "tried: memory", "figure": 12.346, "unit": "MB", "bar": "<= 160", "holds": True},
        {"bench": "tried: nothing", "figure": None, "unit": "ms", "bar": "<= 1", "holds": False},
        {"bench": "tried: a limit", "figure": 1234567.0, "unit": "events/s", "bar": None, "holds": None},
    ]


def test_the_table_is_for_people(tmp_path: Path) -> None:
    text = tried(tmp_path).stdout
    assert re.search(r"tried: runs +2 +runs/s +150% +>= 3 +NO +a note", text)
    assert re.search(r"tried: nothing +not measured +ms", text)
    assert re.search(r"tried: a limit +1,234,567 +events/s", text)
    assert "Noise of the machine: drift " in text
    assert "SQLite " in text


def test_a_bench_that_fails_says_so_and_lets_the_others_go_on(tmp_path: Path) -> None:
    done = tried(tmp_path, fails=True)
    assert "ValueError: no disk" in done.stdout
    assert json.loads(done.stdout.splitlines()[-1])["holds"] is False


def test_what_is_written_tells_how_to_measure_again(tmp_path: Path) -> None:
    into = tmp_path / "figures.jsonl"
    tried(tmp_path, "--repeats", "3", "--into", str(into), "--quick")
    figures = [json.loads(line) for line in into.read_text().splitlines()]
    assert {figure["command"] for figure in figures} == {"python -m tried --repeats 3 --quick"}
    page = _page(figures)
    assert "| tried: runs | 2 runs/s | 150% | >= 3 | **no** | a note | drift " in page
    assert "`python -m tried --repeats 3 --quick`" in page


def test_every_bench_is_found_and_told_about() -> None:
    found = benches()
    assert found[0] == "ingest"
    assert {"cold_start", "crash", "memory", "raw_stream", "sender_cost", "single_event"} <= set(found)
    readme = (FOLDER / "README.md").read_text()
    untold = [name for name in found if f"`python -m bench.{name}`" not in readme]
    assert not untold, f"say in bench/README.md what they measure: {untold}"


def test_a_bar_is_a_least_or_a_most() -> None:
    assert Bar(least=700).holds(700)
    assert not Bar(least=700).holds(699.9)
    assert Bar(most=4).holds(4)
    assert not Bar(most=4).holds(None)
    assert Figure("x", 1, "ms").holds is None


def test_medians_and_percentiles() -> None:
    assert Samples((9.0, 1.0, 2.0)).median == 2.0
    assert Samples((9.0, 1.0, 2.0)).spread == 4.0
    hundred = [float(n) for n in range(1, 101)]
    assert (percentile(hundred, 0.5), percentile(hundred, 0.99), percentile(hundred, 1)) == (50, 99, 100)
    assert percentile([3.0], 0.5) == 3.0


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "not measured"), (0.5, "0.50"), (3.14159, "3.14"), (1234.5, "1,234"), (700, "700")],
)
def test_numbers_are_told_with_the_digits_that_count(value: float | None, text: str) -> None:
    assert told(value) == text
