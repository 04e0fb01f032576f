"""Ingest health: every event is accounted for, every refusal can be found, and what is missing is named."""

from __future__ import annotations

import json
import re
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs import models as m
from tests import recordings
from tests.wire import Wire, make_token, run


def address(people, part="", **query):
    return f"/p/{people.northwind.key}/ingest/{part}" + (f"?{urlencode(query)}" if query else "")


def text_of(response) -> str:
    """What the page says, tags left out."""
    assert response.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


@pytest.mark.django_db(transaction=True)
def test_ada_finds_what_was_refused_and_what_never_came(people):
    """One sender with a refused event in a run, a hole nobody explains and one it had to make; and another one."""
    token = make_token(people.northwind)
    lines = recordings.lines("sequential_tools.jsonl")
    bad = '{"type":"agentfootprint.stream.tool_end","payload":{"toolCallId":7},"meta":{"runId":"%s"}}'
    run_id = m_run(lines)

    async def story():
        async with Wire(token, stream="shop-1") as wire:
            await wire.hello()
            await wire.events(1, lines[:10])
            await wire.events(11, [bad % run_id])
            await wire.events(14, lines[10:20])
            await wire.say('{"type":"lost","from":24,"to":30}')
            await wire.events(31, lines[20:])
            await wire.events(1, lines[:3])
            await wire.bye(30 + len(lines[20:]))
        async with Wire(token, stream="shop-2") as wire:
            await wire.hello()
            await wire.events(1, ["not json", '{"type":"weather"}'])
            await wire.until_acked(2)

    run(story)
    ada = people.browser("ada")
    page = ada.get(address(people))
    said = text_of(page)
    came = len(lines) + 1
    stream = m.Stream.objects.get(name="shop-1")
    assert stream.kept + stream.dropped + stream.refused == came
    assert f"shop-1 tests/1 ended {came} {stream.kept} 1 3 9 12–13, 24–30" in said
    assert "shop-2 tests/1 not ended 2 0 1 0 0" in said
    assert "Refused 2 Dropped by the list" in said
    assert "Of types nobody knows 1" in said
    assert "12–13 2 events shop-1 not known" in said
    assert "24–30 7 events shop-1 not known" in said

    # Every refusal: which event, why, and its run.
    found = m.Run.objects.get()
    href = f"/p/{people.northwind.key}/runs/{found.slug}/"
    everything = text_of(ada.get(address(people, "notes/")))
    assert " 11 payload.toolCallId: expected string, got number shape shop-1 Its run" in everything
    assert (
        " 1 event: expected one JSON object, got text that is not JSON not-json shop-2 not known"
        in everything
    )
    assert href in ada.get(address(people, "notes/")).content.decode()
    of_one = text_of(ada.get(address(people, "notes/", stream="shop-2")))
    assert "not-json shop-2 not known" in of_one
    assert "Its run" not in of_one
    of_code = text_of(ada.get(address(people, "notes/", code="shape")))
    assert "Its run" in of_code
    assert "not-json" not in of_code.split("Its run")[-1]
    lost = text_of(ada.get(address(people, "notes/", kind="lost", stream="shop-1")))
    assert "24–30 7 events shop-1" in lost

    # The stream alone, with every place that is missing.
    alone = text_of(ada.get(address(people, "stream/", name="shop-1")))
    assert "What is missing 12–13, 24–30. What comes after all narrows these places." in alone
    assert "No number of this stream is missing." in text_of(
        ada.get(address(people, "stream/", name="shop-2"))
    )


def m_run(lines):
    return json.loads(lines[0])["meta"]["runId"]


def test_before_anything_has_come(people):
    assert "Nothing has come in yet" in text_of(people.browser("ada").get(address(people)))
    assert "There is none" in text_of(people.browser("ada").get(address(people, "notes/")))


@pytest.mark.parametrize("part", ["", "notes/", "stream/?name=s0"])
@pytest.mark.parametrize("name", ["omar", "rhea", "sam"])
def test_only_admins(people, sample, name, part):
    assert people.browser(name).get(address(people, part)).status_code == 404


def test_another_projects_stream_is_nothing(people, sample):
    m.Stream.objects.create(project=people.elsewhere, name="theirs", instance="i", refused=1)
    ada = people.browser("ada")
    assert ada.get(address(people, "stream/", name="theirs")).status_code == 404
    assert "There is no stream of this name" in text_of(ada.get(address(people, "notes/", stream="theirs")))
    assert "theirs" not in text_of(ada.get(address(people)))


def filled(people, streams: int, notes: int, holes: int = 0) -> None:
    """Streams with refusals and holes, as many as are asked for."""
    project = people.northwind
    m.Stream.objects.bulk_create(
        m.Stream(project=project, name=f"s{number}", instance="i", refused=number % 2, last_ms=number)
        for number in range(streams)
    )
    first = m.Stream.objects.filter(project=project).order_by("pk")[0]
    m.Hole.objects.bulk_create(m.Hole(stream=first, first=n * 3, last=n * 3) for n in range(1, holes + 1))
    m.Note.objects.bulk_create(
        m.Note(
            id=project.pk << m.ID_BITS | position,
            project=project,
            stream=first,
            kind="refused",
            first=position,
            last=position,
            run=f"run-{position}",
            code="shape" if position % 10 else "too-large",
            reason=f"reason {position}",
            received_ms=position,
        )
        for position in range(1, notes + 1)
    )


def every_page(browser, href, link="Older"):
    """The page and every older one."""
    pages = []
    while href:
        page = browser.get(href).content.decode()
        pages.append(page)
        found = re.search(rf'<a class="button" href="([^"]+)" rel="next">{link}</a>', page)
        href = found.group(1).replace("&amp;", "&") if found else ""
    return pages


def test_every_stream_and_every_refusal_can_be_reached(people):
    filled(people, streams=60, notes=130, holes=5)
    ada = people.browser("ada")
    pages = every_page(ada, address(people))
    assert [re.findall(r"\?name=(s\d+)\"", page.split('id="streams"')[1]) for page in pages] == [
        [f"s{number}" for number in numbers]
        for numbers in (range(59, 34, -1), range(34, 9, -1), range(9, -1, -1))
    ]
    assert "3, 6, 9, …" in pages[-1]
    troubled = every_page(ada, address(people, troubled="1"))
    names = [
        name for page in troubled for name in re.findall(r"\?name=(s\d+)\"", page.split('id="streams"')[1])
    ]
    assert names == [f"s{number}" for number in range(59, 0, -2)]

    notes = every_page(ada, address(people, "notes/"))
    assert [int(n) for page in notes for n in re.findall(r"reason (\d+)", page)] == list(range(130, 0, -1))
    large = every_page(ada, address(people, "notes/", code="too-large", stream="s0"))
    assert [int(n) for page in large for n in re.findall(r"reason (\d+)", page)] == list(range(130, 0, -10))


def test_what_is_no_filter_says_nothing(people):
    filled(people, streams=1, notes=2)
    ada = people.browser("ada")
    for query in (
        {"kind": "nonsense"},
        {"code": "'"},
        {"before": "zz"},
        {"kind": "refused", "code": "made-up"},
    ):
        assert "reason 2" in text_of(ada.get(address(people, "notes/", **query)))
    for name in ("\x00", "a" * 65, ""):
        assert ada.get(address(people, "stream/", name=name)).status_code == 404


@pytest.mark.parametrize("part", ["", "notes/", "notes/?stream=s0&code=shape", "stream/?name=s0"])
def test_the_number_of_queries_does_not_grow(people, part):
    ada = people.browser("ada")

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert ada.get(address(people, part)).status_code == 200
        return len(asked)

    filled(people, streams=2, notes=1, holes=1)
    few = queries()
    m.Stream.objects.filter(project=people.northwind).delete()
    filled(people, streams=40, notes=200, holes=40)
    assert queries() == few <= 13


def test_what_a_sender_calls_itself_is_text(people):
    hostile = '<script>alert("x")</script>'
    m.Stream.objects.create(project=people.northwind, name=hostile, instance="i", sender=hostile, kept=1)
    ada = people.browser("ada")
    for part in (address(people), address(people, "stream/", name=hostile)):
        page = ada.get(part).content.decode()
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page
