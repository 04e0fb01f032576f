"""Workload W: 2,000 agent runs, each one turn with 3 model calls and 6 tool calls: 34 kept events, from 4 senders.

The events are those the shipped sender would send (`runs.sender`), with names, ids, texts and numbers of a usual size.
The same seed makes the same bytes. Everything is made before a clock starts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

from runs.rules.tool_choice import ClassifierId, PickRow, TokenUsage, ToolChoiceScore, outcome_row_for
from runs.sender import Run
from runs.sender.listed import line_of

RUNS = 2_000
SENDERS = 4
A_FRAME = 100  # events
MODEL_CALLS, TOOL_CALLS = 3, 6
EVENTS_A_RUN = 2 + 6 * MODEL_CALLS + 2 * TOOL_CALLS + 2
BEGAN_MS = 1_796_000_000_000
PATTERNS = 97
PATTERN_RUN, PATTERN_MARK = "run-of-the-pattern", "markmark"

TOOLS = (
    ("lookup_order", "Find one order by its number."),
    ("track_shipment", "Ask the carrier where a shipment is."),
    ("check_stock", "How many of one article are in which warehouse."),
    ("search_catalog", "Find articles by words."),
    ("get_policy", "Read a support policy by topic."),
    ("customer_history", "Earlier orders of one customer."),
    ("quote_price", "Today's price with discounts."),
    ("issue_refund", "Pay money back for an order."),
)
NAMES = tuple(name for name, _ in TOOLS)
OFFERED = [{"name": name, "description": description} for name, description in TOOLS]
AGENTS = (("support", "demo-large"), ("returns", "demo-small"), ("counter", "demo-small"))
QUESTION = "Where is my order NW-{order}, and what can you do about the delay? I am in {town} until Friday."
ANSWER = (
    "Order NW-{order} left the hub in {town} on 27 November and is 6 days late. You can choose free express "
    "re-shipping, which arrives on Thursday, or a full refund of {money}. I have held both for you until tomorrow."
)
TOWNS = ("Bergen", "Lyon", "Graz", "Leeds", "Gdansk", "Porto")


@dataclass(frozen=True)
class Frame:
    """A frame as it is sent: events `first` to `last` of its stream."""

    first: int
    last: int
    text: str


@dataclass(frozen=True)
class Stream:
    """What one sender has to say, ready to be sent."""

    name: str
    frames: tuple[Frame, ...]

    @property
    def last(self) -> int:
        return self.frames[-1].last if self.frames else 0


def workload(
    runs: int = RUNS,
    *,
    senders: int = SENDERS,
    a_frame: int = A_FRAME,
    at_once: int = 1,
    seed: int = 0,
) -> list[Stream]:
    """The streams of W, or of as many runs as are asked for. `at_once`: runs of one sender that go on side by side."""
    shares = [range(sender, runs, senders) for sender in range(senders)]
    return [
        stream(f"desk-{seed}-{sender}", numbered_lines(share, seed, at_once), a_frame)
        for sender, share in enumerate(shares)
    ]


def stream(name: str, lines: Iterator[bytes], a_frame: int = A_FRAME) -> Stream:
    """These lines as frames of one stream, numbered from 1."""
    texts = [line.decode() for line in lines]
    frames = []
    for first in range(0, len(texts), a_frame):
        some = texts[first : first + a_frame]
        head = json.dumps({"type": "events", "first": first + 1})
        frames.append(Frame(first + 1, first + len(some), "\n".join([head, *some])))
    return Stream(name, tuple(frames))


def numbered_lines(numbers: range, seed: int, at_once: int) -> Iterator[bytes]:
    """Run after run; with more than one at once, an event of each in turn."""
    waiting = [run_lines(number, seed) for number in numbers]
    for place in range(0, len(waiting), at_once):
        some = waiting[place : place + at_once]
        for together in zip(*some, strict=True):
            yield from together


def run_lines(number: int, seed: int = 0) -> list[bytes]:
    """The 34 events of one run, as lines of the wire: one of a few patterns under ids of its own."""
    own_run = f"run-{BEGAN_MS + seed * 1_000_000_000 + number * 1_700}-{number}".encode()
    pattern = _pattern(number % PATTERNS).replace(PATTERN_RUN.encode(), own_run)
    return pattern.replace(PATTERN_MARK.encode(), f"{seed % 256:02x}{number % 2**24:06x}".encode()).split(
        b"\n"
    )


@cache
def _pattern(number: int) -> bytes:
    """One run's lines. Its ids hold marks that are replaced: making each event through the sender takes too long."""
    lines: list[bytes] = []
    chance = Random(number)
    seconds = BEGAN_MS / 1000 + number * 1.7

    def clock() -> float:
        nonlocal seconds
        seconds += chance.uniform(0.001, 0.02)
        return seconds

    def emit(event: object) -> None:
        line = line_of(event)
        assert line is not None
        assert line.data is not None
        lines.append(line.data)

    agent, model = AGENTS[number % len(AGENTS)]
    facts = {
        "order": chance.randrange(1000, 9999),
        "town": chance.choice(TOWNS),
        "money": f"{chance.randrange(990, 38_000) / 100:.2f}",
    }
    run = Run(
        emit,
        run_id=PATTERN_RUN,
        agent_id=agent,
        session_id=f"session-{chance.getrandbits(16):04x}{PATTERN_MARK}",
        provider="northwind-models",
        model=model,
        clock=clock,
    )
    run.turn_start(QUESTION.format_map(facts))
    left = TOOL_CALLS
    for iteration in range(1, MODEL_CALLS + 1):
        wanted = chance.sample(NAMES, _share(left, MODEL_CALLS - iteration))
        left -= len(wanted)
        pick = _pick(chance, iteration, wanted)
        run.tool_choice_row(pick, top=3, wire=NAMES)
        run.llm_start(OFFERED)
        run.llm_end(
            len(wanted), input_tokens=chance.randrange(300, 4000), output_tokens=chance.randrange(10, 400)
        )
        run.tool_choice_row(outcome_row_for(pick, wanted, iteration))
        for name in wanted:
            call = run.tool_start(name, f"call_{chance.getrandbits(64):016x}{PATTERN_MARK}")
            run.tool_end(call, error=chance.random() < 0.04)
    run.turn_end(ANSWER.format_map(facts))
    run.finish()
    assert len(lines) == EVENTS_A_RUN, len(lines)
    return b"\n".join(lines)


def _share(left: int, rounds: int) -> int:
    """How many calls this model call asks for: the last one answers."""
    return -(-left // rounds) if rounds else 0


def _pick(chance: Random, iteration: int, wanted: list[str]) -> PickRow:
    """A classifier's reading of all tools, mostly right."""
    weights = {name: chance.random() + (4 if name in wanted else 0) for name in NAMES}
    total = sum(weights.values())
    ranked = sorted(
        (ToolChoiceScore(name, round(weight / total, 4)) for name, weight in weights.items()),
        key=lambda score: -score.score,
    )
    return PickRow(
        iteration=iteration,
        source="classifier",
        classifier=ClassifierId("northwind-router", "router-2"),
        offered=NAMES,
        ranked=tuple(ranked),
        chosen=ranked[0].name,
        confidence=round(ranked[0].score + 0.2, 3),
        usage=TokenUsage(chance.randrange(200, 900), chance.randrange(1, 20)),
        latency_ms=chance.randrange(30, 220),
        served=NAMES,
        narrowed=False,
        narrowed_skipped="too-few" if iteration == MODEL_CALLS else None,
    )
