"""Whatever is lost, doubled or swapped, the record is right, or it says that it is not whole.

Every single event of the recordings below, kept or not, is dropped, doubled and swapped with its neighbour, after
numbering (in transit) and before (in the agent). What is compared, and what the verdicts mean: tests/record/disturb.py.
`python -m bench.honesty` prints the rates.
"""

from functools import cache

import pytest

from runs.rules.kept import Kept
from tests.record.disturb import NAMES, UNNOTICEABLE, Disturbance, Recording, Verdict, Where, judge
from tests.record.memory import SECRET, STREAM, MemoryRecord, rows_in_database
from tests.wire import Wire, make_project, make_token, run

IN_THE_AGENT = [Where.AGENT, Where.SENT]


@cache
def recording(name: str) -> tuple[Recording, MemoryRecord]:
    read = Recording.read(name)
    return read, read.record()


@cache
def judged(name: str, where: Where) -> list[tuple[Disturbance, Verdict]]:
    read, whole = recording(name)
    return [(d, judge(whole, read.record(d), where)) for d in read.disturbances(where)]


def test_at_least_twenty_recordings_are_disturbed() -> None:
    assert len(set(NAMES)) >= 20


@pytest.mark.parametrize("name", NAMES)
def test_in_transit_the_record_is_the_same_or_what_differs_says_gap(name: str) -> None:
    allowed = {Verdict.SAME, Verdict.GAP, Verdict.NEEDLESS}
    assert [f"{d}: {verdict}" for d, verdict in judged(name, Where.TRANSIT) if verdict not in allowed] == []


@pytest.mark.parametrize("name", NAMES)
def test_in_transit_a_doubled_event_changes_nothing(name: str) -> None:
    doubled = [(d, v) for d, v in judged(name, Where.TRANSIT) if d.how == "doubled"]
    assert [str(d) for d, verdict in doubled if verdict is not Verdict.SAME] == []


@pytest.mark.parametrize("where", IN_THE_AGENT)
@pytest.mark.parametrize("name", NAMES)
def test_in_the_agent_the_record_is_right_or_incomplete(name: str, where: Where) -> None:
    read, _ = recording(name)
    false = [d for d, verdict in judged(name, where) if verdict is Verdict.FALSE]
    noticeable = [d for d in false if not (d.how == "dropped" and read.kind(d) in UNNOTICEABLE)]
    assert [f"{d} ({read.kind(d)})" for d in noticeable] == []


def test_needless_doubt_stays_rare() -> None:
    """In the agent, as the shipped senders send: all facts there and yet incomplete. Mostly a model call half seen."""
    verdicts = [verdict for name in NAMES for _, verdict in judged(name, Where.SENT)]
    assert verdicts.count(Verdict.NEEDLESS) / len(verdicts) < 0.16


def test_a_verdict_is_not_blind() -> None:
    """The judge itself: a call's end lost is seen as such, and a record that hid it would be called false."""
    read, whole = recording("parallel_tools.jsonl")
    ends = [
        i
        for i, event in enumerate(read.events)
        if isinstance(event, Kept) and event.type == "stream.tool_end"
    ]
    lost = read.record(Disturbance(read.name, Where.AGENT, "dropped", ends[0]))
    assert judge(whole, lost, Where.AGENT) is Verdict.INCOMPLETE
    for answer in lost.answers:
        answer.complete, answer.reasons = True, ""
    assert judge(whole, lost, Where.AGENT) is Verdict.FALSE
    assert judge(whole, lost, Where.TRANSIT) is Verdict.FALSE


# -- the driver in memory is the real thing --------------------------------------------------------


def sample() -> list[Disturbance]:
    """Every 47th disturbance of each kind of place: some two hundred over all recordings."""
    every = [d for name in NAMES for where in Where for d in recording(name)[0].disturbances(where)]
    return every[::47]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", NAMES)
def test_the_real_socket_and_database_give_the_rows_of_the_driver(name: str) -> None:
    read, _ = recording(name)
    mine: list[Disturbance | None] = [None, *(d for d in sample() if d.recording == name)]
    projects = [make_project(secret=SECRET) for _ in mine]
    tokens = [make_token(project) for project in projects]

    async def story() -> None:
        for disturbance, token in zip(mine, tokens, strict=True):
            frames, last = read.frames(disturbance)
            async with Wire(token, stream=STREAM) as wire:
                await wire.hello(last=last)
                for first, lines in frames:
                    await wire.events(first, lines)
                await wire.bye(last)

    run(story)
    for disturbance, project in zip(mine, projects, strict=True):
        rows = rows_in_database(project)
        assert rows["runs_answer"]
        assert rows == read.record(disturbance).rows(), str(disturbance)
