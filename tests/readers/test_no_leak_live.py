"""Open pages tell a reader no more than pages that are loaded: every message of their live sockets is looked at.

Rhea keeps the list, every run and every answer open while agents report; she opens each as soon as it exists.
"""

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack

import pytest
from asgiref.sync import sync_to_async

from runs.models import Answer, Project, Run
from runs.rules import words
from runs.rules.vocabulary import Ending
from tests import recordings
from tests.people import People, gather
from tests.readers.conftest import Plant
from tests.readers.look import Look
from tests.readers.markers import Disguise, own_stream
from tests.readers.open_pages import Browser
from tests.wire import Wire, make_token, run

pytestmark = pytest.mark.django_db(transaction=True)

Streams = dict[str, list[str]]  # the lines of each, by its name
AT_ONCE = 16  # so many agents report side by side
A_FRAME = 500  # events; fewer than a sender may have unacknowledged
TURN = '"agentfootprint.agent.turn_start"'


def halves(lines: list[str]) -> tuple[list[str], list[str]]:
    """The stream up to its first turn, and the rest: pages are opened in between."""
    begun = next((number for number, line in enumerate(lines, 1) if TURN in line), 1)
    return lines[:begun], lines[begun:]


def pages_of(project: Project, streams: Iterable[str]) -> tuple[list[str], dict[str, int]]:
    """What these streams told of so far: the slugs of the runs that have a page; of the answers, with their calls."""
    runs = Run.objects.filter(project=project, stream__name__in=streams, leg_of=None)
    answers = Answer.objects.filter(project=project, run__stream__name__in=streams)
    return list(runs.values_list("slug", flat=True)), dict(answers.values_list("slug", "calls"))


def ended(project: Project) -> set[str]:
    """The slugs of the runs and answers that have ended."""
    rows = [
        row
        for model in (Run, Answer)
        for row in model.objects.filter(project=project).values_list("slug", "ending")
    ]
    return {slug for slug, ending in rows if Ending(ending).ended}


async def send(wire: Wire, lines: list[str]) -> None:
    """The next lines of a stream, up to the last ack."""
    for first in range(0, len(lines), A_FRAME):
        chunk = lines[first : first + A_FRAME]
        await wire.events(wire.acked + 1, chunk)
        await wire.until_acked(wire.acked + len(chunk))


async def follow(project: Project, token: str, browser: Browser, streams: Streams) -> None:
    """The streams are sent side by side; the browser opens what has come to be, and hears it to its end."""
    async with AsyncExitStack() as connected:
        wires = {name: await connected.enter_async_context(Wire(token, stream=name)) for name in streams}
        await asyncio.gather(*(wire.hello(last=len(streams[name])) for name, wire in wires.items()))

        async def report(half: int) -> list[str]:
            parts = ((wire, halves(streams[name])[half]) for name, wire in wires.items())
            await asyncio.gather(*(send(wire, lines) for wire, lines in parts))
            runs, answers = await sync_to_async(pages_of)(project, streams)
            await browser.open("run", *runs)
            await browser.open("answer", *answers)
            return runs

        await browser.list_runs(await report(0))
        runs = await report(1)
        assert [refused for wire in wires.values() for refused in wire.refused] == []
    await browser.hear_what_is_new(await sync_to_async(ended)(project))
    await browser.list_runs(runs)
    await browser.reconnect()
    await browser.close()


def followed(people: People, who: str, disguise: Disguise, streams: Streams) -> Browser:
    """All that `who` kept open while these streams were reported to Northwind."""
    token = make_token(people.northwind)
    browser = Browser(people.headers(who), people.northwind, Look(disguise.markers))
    names = list(streams)

    async def story() -> None:
        for first in range(0, len(names), AT_ONCE):
            await follow(
                people.northwind, token, browser, {n: streams[n] for n in names[first : first + AT_ONCE]}
            )

    run(story)
    return browser


def test_a_reader_who_keeps_everything_open_is_told_no_word_of_the_models_side() -> None:
    disguise, people = Disguise(), gather()
    streams = {name: disguise.lines(name) for name in recordings.names()}
    streams["own"] = own_stream(disguise)
    browser = followed(people, "rhea", disguise, streams)
    assert browser.look.leaks == []
    assert browser.look.met, "a question that quotes a tool's name came, so the disguise reached the frames"
    for kind in ("runs", "run", "answer"):
        assert sum(page.by_itself for page in browser.of(kind)), f"no {kind} page was told of anything new"
    listed = {part for page in browser.of("runs") for part in page.shown}
    shown = {(page.kind, page.slug): page.shown for page in browser.pages}
    gone = {page.slug for page in browser.pages if page.gone}
    for name in streams:
        runs, answers = pages_of(people.northwind, [name])
        assert runs, f"{name} made no run"
        assert not gone & {*runs, *answers}, "a run's page ends only where the run went into another"
        for run_slug in runs:
            assert f"run-{run_slug}" in listed, f"the list was told nothing of {name}"
            assert "run-head" in shown["run", run_slug], f"the run's page was told nothing of {name}"
        for slug, calls in answers.items():
            rows = {f"call-{number}" for number in range(1, calls + 1)}
            assert {"answer-head", *rows} <= shown["answer", slug], f"an answer's page missed calls of {name}"


def test_an_operator_is_told_them_and_so_the_look_can_find_them() -> None:
    disguise = Disguise()
    browser = followed(gather(), "omar", disguise, {"own": own_stream(disguise)})
    met = {leak.rpartition(": ")[2] for leak in browser.look.leaks}
    told = ("own tool", "third tool", "call a", "own agent", "classifier words", "stray product")
    assert {disguise.words[word] for word in told} <= met


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("runs", "runs/parts/row.html"),
        ("run", "run/parts/now.html"),
        ("answer", "answer/parts/call.html"),
        ("answer", "answer/parts/head.html"),
    ],
)
def test_a_planted_leak_is_found_in_a_part(kind: str, place: str, plant: Plant) -> None:
    disguise = Disguise()
    lines = own_stream(disguise)
    plant(place, f'<i data-tool="{disguise.words["own tool"]}"></i>')
    browser = followed(gather(), "rhea", disguise, {"own": lines})
    assert {leak.split()[0] for leak in browser.look.leaks} == {kind}


def test_a_planted_leak_is_found_beside_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    disguise = Disguise()
    lines = own_stream(disguise)
    monkeypatch.setattr(words, "caught_up", lambda count: f"Missed {disguise.words['own tool']}.")
    browser = followed(gather(), "rhea", disguise, {"own": lines})
    assert {leak.split()[0] for leak in browser.look.leaks} == {"runs", "run", "answer"}
