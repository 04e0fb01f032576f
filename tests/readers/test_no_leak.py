"""Readers never meet the model's vocabulary: not in a page, an attribute, an address, a header or a fragment."""

import pytest

from runs.models import Answer, Run, ToolCall
from tests import recordings
from tests.people import gather
from tests.readers.conftest import Plant
from tests.readers.crawl import Crawl
from tests.readers.look import Look
from tests.readers.markers import Disguise, own_stream
from tests.wire import Wire, make_token, run, send_all

pytestmark = pytest.mark.django_db(transaction=True)

# Long ones repeat what shorter ones say.
STREAMS = [name for name in recordings.names() if not name.startswith(("long_run", "odd_values"))]


def streamed(disguise: Disguise):
    """Northwind with every recording in disguise and a stream of our own."""
    people = gather()
    token = make_token(people.northwind)

    async def story() -> None:
        for number, name in enumerate(STREAMS):
            async with Wire(token, stream=f"stream-{number}") as wire:
                await send_all(wire, disguise.lines(name))
        async with Wire(token, stream="own") as wire:
            await send_all(wire, own_stream(disguise))
            assert wire.refused == []

    run(story)
    return people


def crawl(people, name: str, markers: frozenset[str]) -> Crawl:
    found = Crawl(people.browser(name), Look(markers))
    found.walk(f"/p/{people.northwind.key}/runs/")
    return found


def test_a_reader_who_opens_everything_meets_no_word_of_the_models_side() -> None:
    disguise = Disguise()
    people = streamed(disguise)
    tools = set(ToolCall.objects.values_list("tool", flat=True))
    assert tools & disguise.markers, "the disguise is on record"
    walked = crawl(people, "rhea", disguise.markers)
    for model, word in ((Answer, "answers"), (Run, "runs")):
        slugs = model.objects.filter(project=people.northwind)
        slugs = slugs.filter(leg_of=None) if model is Run else slugs
        pages = {f"/p/{people.northwind.key}/{word}/{slug}/" for slug in slugs.values_list("slug", flat=True)}
        assert pages <= walked.seen, f"the crawl did not reach {len(pages - walked.seen)} {word}"
    assert {url: s for url, s in walked.statuses.items() if s not in (200, 204, 302)} == {}
    assert walked.look.leaks == []


def test_an_operator_meets_them_and_so_the_crawl_can_find_them() -> None:
    disguise = Disguise()
    people = gather()
    token = make_token(people.northwind)

    async def story() -> None:
        async with Wire(token, stream="own") as wire:
            await send_all(wire, own_stream(disguise))

    run(story)
    walked = crawl(people, "omar", disguise.markers)
    met = {leak.rpartition(": ")[2] for leak in walked.look.leaks}
    words = (
        "own tool",
        "third tool",
        "call a",
        "own agent",
        "classifier words",
        "stray product",
        "declared extra",
    )
    assert {disguise.words[word] for word in words if word in disguise.words} <= met
    assert crawl(people, "rhea", disguise.markers).look.leaks == []


@pytest.mark.parametrize("place", ["answer/parts/head.html", "runs/parts/row.html", "base.html"])
def test_a_planted_leak_is_found(place: str, plant: Plant) -> None:
    """A registered name slipped into a template turns the crawl red, wherever it is slipped in."""
    disguise = Disguise()
    people = gather()
    token = make_token(people.northwind)

    async def story() -> None:
        async with Wire(token, stream="own") as wire:
            await send_all(wire, own_stream(disguise))

    run(story)
    plant(place, f'<i data-tool="{disguise.words["own tool"]}"></i>')
    assert crawl(people, "rhea", disguise.markers).look.leaks
