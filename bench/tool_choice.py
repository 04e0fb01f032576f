"""`python -m bench.tool_choice`: what a lexical pick costs an agent, and the Tool choice page over a million calls.

The calls are written into a database of their own: a menu of 40 tools, answers of ten model calls, readings right in
two of three. Nothing is kept from question to question, as when something has just come in.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections.abc import Callable
from typing import Any

from bench import harness
from bench.harness import Bar, Figure, Samples

CALLS, CALLS_QUICK = 1_000_000, 50_000
TOOLS = 50
PICKS = 200
WORDS = (
    "order",
    "parcel",
    "refund",
    "money",
    "customer",
    "address",
    "store",
    "price",
    "colour",
    "size",
    "stock",
    "chart",
)


def measure(options: argparse.Namespace) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="footprint-bench-") as folder:
        os.environ["FOOTPRINT_DATA"] = folder
        harness.set_up_django()
        calls = CALLS_QUICK if options.quick else CALLS
        picks = Samples(tuple(_pick_ms() for _ in range(options.repeats)))
        project = _fill(calls)
        page, what_if = _page(project), _what_if(project)
        repeats = range(options.repeats)
        over = f"over {calls:,} model calls"
        bar = None if options.quick else Bar(most=2)
        pages = Samples(tuple(_seconds(page) for _ in repeats))
        answers = Samples(tuple(_seconds(what_if) for _ in repeats))
    return [
        Figure(
            f"tool choice: a lexical pick over {TOOLS} tools",
            picks.median,
            "ms",
            Bar(most=2),
            "known menu",
            picks.spread,
        ),
        Figure("tool choice: what if, every N", answers.median, "s", bar, over, answers.spread),
        Figure("tool choice: everything the page counts", pages.median, "s", None, over, pages.spread),
    ]


def _pick_ms() -> float:
    from runs.classifiers.lexical import Lexical
    from runs.rules.tool_choice import ToolCandidate, pick_tools

    chance = random.Random(1)
    tools = [ToolCandidate(f"tool_{n}", " ".join(chance.choices(WORDS, k=12))) for n in range(TOOLS)]
    lexical = Lexical()

    async def picks() -> float:
        took = []
        for _ in range(PICKS):
            message = " ".join(chance.choices(WORDS, k=15))
            began = time.perf_counter()
            await pick_tools(lexical, user_message=message, candidates=tools, clock=time.monotonic)
            took.append((time.perf_counter() - began) * 1000)
        return Samples(tuple(took)).median

    return asyncio.run(picks())


def _fill(calls: int) -> Any:
    from django.core.management import call_command
    from django.db import connection, transaction

    from runs.models import ID_BITS, Project
    from runs.rules.choice_replay import read_shape, shape_of, shape_word

    call_command("migrate", verbosity=0)
    project = Project.objects.create(name="Bench", position=1)
    chance = random.Random(2)
    tools = [f"tool_{n}" for n in range(40)]
    columns = (
        "id, project_id, epoch, answer_id, run_id, number, iteration, at_ms, reading, reading_from, reply_from, "
        "chosen, called, calls, agrees, confidence, narrowed, skipped, missed, latency_ms, input_tokens, "
        "output_tokens, shape, misses_to, sure, menu"
    )
    rows: list[tuple[Any, ...]] = []
    before = None
    base = project.pk << ID_BITS
    with transaction.atomic(), connection.cursor() as cursor:
        for n in range(1, calls + 1):
            iteration, confidence = n % 10 + 1, chance.random()
            rank = 0 if chance.random() < 0.66 else min(39, int(chance.expovariate(0.3)))
            shape = shape_of(
                wire=tools, doors=(), ranked=tools, confidence=confidence, called=[tools[rank]],
                before=before if iteration > 1 else None,
            )  # fmt: skip
            word = shape_word(shape)
            before = read_shape(word)
            rows.append(
                (
                    base + n, project.pk, project.epoch, base + n // 10, base + n // 100, n, iteration,
                    1_790_000_000_000 + n * 2_000, "pick", "row", "row", tools[n % 40], tools[(n + rank) % 40], 1,
                    rank == 0, confidence, False, "", False, chance.randint(1, 400), 400, 3, word,
                    shape.misses_to, shape.sure, "",
                )
            )  # fmt: skip
            if len(rows) == 10_000 or n == calls:
                marks = ", ".join(["%s"] * len(rows[0]))
                cursor.executemany(f"INSERT INTO runs_choicecall ({columns}) VALUES ({marks})", rows)
                rows.clear()
    return project


def _page(project: Any) -> Callable[[], object]:
    from runs.store import reads_tool_choice as reads

    return lambda: reads._counted.__wrapped__(project.pk, project.epoch, reads.ChoiceFilter(), 1)


def _what_if(project: Any) -> Callable[[], object]:
    from runs.rules.choice_replay import what_if
    from runs.store import reads_tool_choice as reads

    def replay() -> object:
        shapes = reads.shapes(project.pk, project.epoch, reads.ChoiceFilter())
        tops = list(range(1, 40))
        return what_if(shapes, tops), reads.affected_answers(
            project.pk, project.epoch, reads.ChoiceFilter(), tops, 0
        )

    return replay


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    harness.run(measure)
