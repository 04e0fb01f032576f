"""Tools: the most needed name first, tried before it is saved, and read by every page at once."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from django.utils.html import escape

from runs import models as m
from runs.store.words import read_words
from tests.sample import DELEGATE, LOOK_UP, REFUND, SECRET

HX = {"HX-Request": "true"}


def address(people, part="", **query):
    return f"/p/{people.northwind.key}/tools/{part}" + (f"?{urlencode(query)}" if query else "")


def counted(project, **calls):
    for tool, n in calls.items():
        m.SeenName.objects.filter(project=project, name=tool).update(calls=n)


@pytest.fixture
def rings(monkeypatch):
    heard = []
    monkeypatch.setattr("runs.pages.tools.ring_from_sync", heard.append)
    return heard


def test_the_most_needed_come_first(people, sample):
    counted(people.northwind, **{LOOK_UP: 90, REFUND: 3, SECRET: 5, DELEGATE: 40})
    page = people.browser("omar").get(address(people)).content.decode()
    places = [page.index(f">{tool}</a>") for tool in (DELEGATE, SECRET, LOOK_UP, REFUND)]
    assert places == sorted(places)
    assert "2 of 4 tools have no words: 45 calls could only be counted." in page
    assert "Looking up the order" in page
    assert "declared by the app" in page


def test_operators_read_and_admins_edit(people, sample, rings):
    omar, ada = people.browser("omar"), people.browser("ada")
    assert "Name it" not in omar.get(address(people)).content.decode()
    one = address(people, "one/", tool=SECRET)
    assert '<form class="tool-form"' not in omar.get(one).content.decode()
    assert omar.post(one, {"words": "Clean up"}).status_code == 404
    assert omar.get(address(people, "preview/", tool=SECRET, words="Clean up")).status_code == 404
    assert not rings
    assert "Name it" in ada.get(address(people)).content.decode()


@pytest.mark.parametrize("part", ["", "one/", "preview/"])
def test_a_reader_and_a_stranger_get_404(people, sample, part):
    for name in ("rhea", "sam"):
        response = people.browser(name).get(address(people, part, tool=SECRET, words="x"))
        assert response.status_code == 404
        assert SECRET not in response.content.decode().replace(urlencode({"tool": SECRET}), "")


def test_a_name_is_saved_without_javascript(people, sample, rings):
    before = read_words(people.northwind.pk, 1).version
    ada = people.browser("ada")
    response = ada.post(address(people, "one/", tool=SECRET), {"words": " Cleaning up "}, follow=True)
    page = response.content.decode()
    assert response.redirect_chain
    assert "Cleaning up" in page
    assert "by ada" in page
    assert read_words(people.northwind.pk, 1).version == before + 1
    assert [(ring.project_id, ring.words) for ring in rings] == [(people.northwind.pk, True)]


def test_a_name_is_saved_in_place(people, sample, rings):
    ada = people.browser("ada")
    form = ada.get(address(people, "one/", tool=SECRET), headers=HX).content.decode()
    assert form.lstrip().startswith("<tr")
    assert "hx-post" in form
    row = ada.post(
        address(people, "one/", tool=SECRET), {"words": "Cleaning up"}, headers=HX
    ).content.decode()
    assert "Cleaning up" in row
    assert "<html" not in row
    assert 'id="tools-tally" hx-swap-oob="true"' in row
    assert len(rings) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("a\u202eb", "U+202E"),
        ("a\x00b", "U+0000"),
        ("a" * 61, "at most 60 characters, and it has 61"),
        (REFUND, "the registered name of a tool"),
    ],
)
@pytest.mark.parametrize("headers", [{}, HX])
def test_a_refused_name_says_why_and_rings_nobody(people, sample, rings, words, says, headers):
    response = people.browser("ada").post(
        address(people, "one/", tool=SECRET), {"words": words}, headers=headers
    )
    assert response.status_code == (200 if headers else 422)
    assert says in response.content.decode()
    assert not rings
    assert not m.DisplayName.objects.exists()


def test_clearing_falls_back_to_the_declared_words(people, sample, rings):
    ada = people.browser("ada")
    one = address(people, "one/", tool=LOOK_UP)
    ada.post(one, {"words": "Finding your order"})
    page = ada.get(one).content.decode()
    assert "Left empty, the words the app declared are used: “Looking up the order”" in page
    ada.post(one, {"words": ""})
    assert read_words(people.northwind.pk, 1).display_name_of(LOOK_UP) == "Looking up the order"
    assert "cleared" in ada.get(one).content.decode()


def test_a_preview_shows_the_sentences_and_saves_nothing(people, sample):
    ada = people.browser("ada")
    page = ada.get(address(people, "preview/", tool=SECRET, words="Cleaning up")).content.decode()
    assert "Cleaning up" in page
    assert f"/p/{people.northwind.key}/answers/{sample['failed'].answer.slug}/" in page
    assert "<html" not in page
    assert SECRET not in page
    assert not m.DisplayName.objects.exists()
    refused = ada.get(address(people, "preview/", tool=SECRET, words=REFUND)).content.decode()
    assert "registered name of a tool" in refused
    assert REFUND not in refused
    whole = ada.get(address(people, "one/", tool=SECRET, words="Cleaning up")).content.decode()
    assert "Cleaning up" in whole
    assert "<html" in whole


def test_two_tools_that_read_the_same_are_warned_of(people, sample, rings):
    ada = people.browser("ada")
    row = ada.post(address(people, "one/", tool=SECRET), {"words": "Looking up the order"}, headers=HX)
    assert (
        row.content.decode().count("a sentence cannot tell them apart") == 2
    )  # this row, and the other's beside it
    assert "<template>" in row.content.decode()
    page = ada.get(address(people)).content.decode()
    assert page.count("a sentence cannot tell them apart") == 2


HOSTILE = [
    "<script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "{{7*7}}",
    '<div hx-get="/x" hx-trigger="load" hx-swap-oob="true">',
    "a/b?c#d&e=%2F",
    "../x",
    "__proto__",
    "None",
    "'\"\\u0027",
    "w" * 256,
]


@pytest.mark.parametrize("tool", HOSTILE)
def test_any_registered_name_is_shown_as_text_and_can_be_named(people, sample, rings, tool):
    m.SeenName.objects.create(
        id=people.northwind.pk << m.ID_BITS | 9_999, project=people.northwind, epoch=1, name=tool, tool=True,
        first_position=1, last_ms=0,
    )  # fmt: skip
    ada = people.browser("ada")
    for page in (ada.get(address(people)), ada.get(address(people, "one/", tool=tool))):
        text = page.content.decode()
        assert escape(tool) in text
        assert "<script>alert" not in text
        assert "<svg onload" not in text
        assert '<div hx-get="/x"' not in text
    words = "<b>Do & it</b> {{7*7}}"
    saved = ada.post(address(people, "one/", tool=tool), {"words": words}, headers=HX).content.decode()
    assert escape(words) in saved
    assert "<b>Do" not in saved
    assert read_words(people.northwind.pk, 1).display_name_of(tool) == words


def test_an_unknown_tool_is_404(people, sample):
    assert people.browser("ada").get(address(people, "one/", tool="nothing")).status_code == 404
    assert people.browser("ada").get(address(people, "one/")).status_code == 404


def test_an_empty_project_says_what_comes_here(people):
    assert "No tool is on record yet" in people.browser("omar").get(address(people)).content.decode()


def test_a_project_with_many_tools_has_them_on_several_screens(people, sample):
    for n in range(250):
        m.SeenName.objects.create(
            id=people.northwind.pk << m.ID_BITS | 5_000 + n, project=people.northwind, epoch=1, name=f"tool_{n:03}",
            tool=True, calls=1_000 - n, first_position=1, last_ms=0,
        )  # fmt: skip
    omar = people.browser("omar")
    first = omar.get(address(people)).content.decode()
    assert "252 of 254 tools have no words" in first
    assert "tool_000" in first and "tool_249" not in first
    href = re.search(r'href="([^"]+)" rel="next"', first)[1]
    second = omar.get(href).content.decode()
    assert "tool_249" in second and "tool_000" not in second
    assert "252 of 254 tools have no words" in second
    assert 'rel="next"' not in second
    assert omar.get(address(people) + "?after=nothing").content.decode().count("<tr") == first.count("<tr")
