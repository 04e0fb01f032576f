"""The answer page as Rhea reads it, and as Omar does."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs import models
from tests.people import People
from tests.sample import MODELS_SIDE, NAMES, Drawn, Pen, make, pen_for


def address(people: People, slug: str, tail: str = "") -> str:
    return f"/p/{people.northwind.key}/answers/{slug}/{tail}"


def read(people: People, who: str, slug: str, tail: str = "", **headers: str) -> str:
    response = people.browser(who).get(address(people, slug, tail), **headers)
    assert response.status_code == 200
    return without_token(response.content.decode())


def told(people: People, who: str, slug: str, tail: str = "") -> str:
    """What somebody is told who finds nothing, without the token that every page has anew."""
    response = people.browser(who).get(address(people, slug, tail))
    assert response.status_code == 404
    return without_token(response.content.decode()).replace(address(people, slug, tail), "")


def without_token(page: str) -> str:
    """The token against forged forms is new on every page, and may hold any letters."""
    return re.sub(r"\b[A-Za-z0-9]{64}\b", "", page)


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_rhea_reads_what_the_answer_rests_on(people: People, sample: Drawn) -> None:
    page = text_of(read(people, "rhea", sample["named"].answer.slug))
    assert "Where is my order NW-77?" in page
    assert "It left the warehouse this morning." in page
    assert "It rests on Looking up the order, which worked." in page
    assert "Refunding the customer was tried and did not work." in page
    assert "1 call was asked for and never ran." in page
    assert "a call without a name" in page
    assert "Complete: every call of this answer is listed." in page


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("asked", "The assistant asked a person a question and waits."),
        ("stopped", "it had used all the steps it was allowed"),
        ("silent", "No word since 16:17."),
        ("failed", "Something failed and the turn ended without an answer."),
        ("running", "There is no answer yet."),
        ("retry", "The record began after the assistant did"),
    ],
)
def test_how_it_stands_and_what_is_not_known(people: People, sample: Drawn, name: str, says: str) -> None:
    assert says in text_of(read(people, "rhea", sample[name].answer.slug))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "bare"])
def test_the_models_words_never_reach_a_reader(people: People, sample: Drawn, name: str) -> None:
    for story in sample[name].answers:
        for tail in ("", "?words=then", "?only=ok", "calls/", "calls/?after=1"):
            assert MODELS_SIDE not in read(people, "rhea", story.slug, tail)
        assert MODELS_SIDE not in read(people, "rhea", story.slug, "calls/", HTTP_HX_REQUEST="true")


def test_omar_sees_the_names_beside_the_words(people: People, sample: Drawn) -> None:
    page = read(people, "omar", sample["named"].answer.slug)
    assert "<code>lookup_order_zz</code>" in page
    assert "call-1_zz" in page
    assert "Looking up the order" in page


def test_omar_sees_the_choice_around_each_model_call(people: People, sample: Drawn) -> None:
    page = text_of(read(people, "omar", sample["choices"].answer.slug))
    assert "Narrowed: served 2 of 3 tools." in page
    assert "Asked for, and not shown: purge_zz" in page
    assert "The model had just asked for a tool it was not shown" in page
    assert "The reading failed (status 503)" in page
    assert "2 served, 1 left out" in page
    assert "delegate_zz injected web_zz" in page


def test_rhea_sees_the_effect_in_plain_words(people: People, sample: Drawn) -> None:
    page = text_of(read(people, "rhea", sample["choices"].answer.slug))
    assert "The assistant was shown the 2 most fitting of its 3 tools." in page
    assert "The assistant was shown all of its tools again." in page
    assert "The assistant sent out 1 helper with tools of its own." in page
    assert "A helper was given 1 tool its owner had not declared." in page


def test_every_sentence_leads_to_the_rows_it_was_made_from(people: People, sample: Drawn) -> None:
    page = read(people, "rhea", sample["named"].answer.slug)
    for outcome, rows in (("ok", 2), ("error", 1), ("not-run", 1)):
        assert f'href="#why-{outcome}"' in page
        assert f'id="why-{outcome}"' in page
        assert page.count(f'data-outcome="{outcome}"') == rows


def test_in_a_long_list_the_sentence_leads_to_a_page_of_its_rows(people: People) -> None:
    pen, answer = long_answer(people, 450)
    models.ToolCall.objects.filter(answer=answer, number=440).update(outcome="error")
    page = read(people, "rhea", answer.slug)
    assert 'href="?only=error#why-error"' in page
    only = read(people, "rhea", answer.slug, "?only=error")
    assert 'id="call-440"' in only
    assert only.count('data-outcome="error"') == 1
    assert "show all calls" in only
    assert pen.position > 450


def test_a_long_list_is_shown_a_screen_at_a_time(people: People) -> None:
    _, answer = long_answer(people, 450)
    places: list[int] = []
    tail, headers = "", {}
    for _ in range(5):
        page = read(people, "rhea", answer.slug, tail, **headers)
        places += [int(place) for place in re.findall(r'id="call-(\d+)"', page)]
        more = re.search(r'href="[^"]*/(calls/\?after=\d+)"', page)
        tail, headers = (more.group(1) if more else ""), {"HTTP_HX_REQUEST": "true"}
    assert places == list(range(1, 451))
    assert not tail


def test_repeated_calls_fold_and_open_without_javascript(people: People, sample: Drawn) -> None:
    _, answer = long_answer(people, 5, tool="lookup_order_zz")
    page = read(people, "rhea", answer.slug)
    assert "<strong>5 times</strong>" in page
    assert page.count('<details class="fold" id="fold-1"') == 1


def test_a_text_that_is_not_kept_or_was_forgotten_is_told(people: People, sample: Drawn) -> None:
    models.Text.objects.all().delete()
    slug = sample["named"].answer.slug
    assert "it has been forgotten, or was never kept" in read(people, "rhea", slug)
    models.Project.objects.filter(id=people.northwind.id).update(keep_text=False)
    assert "This project does not keep what was asked and answered." in read(people, "rhea", slug)


def test_the_words_as_they_were_when_the_answer_was_given(people: People, sample: Drawn) -> None:
    project = people.northwind
    models.DisplayName.objects.create(
        project=project, tool="lookup_order_zz", text="Finding your parcel", position=project.position
    )
    slug = sample["named"].answer.slug
    assert "Finding your parcel" in read(people, "rhea", slug)
    then = read(people, "rhea", slug, "?words=then")
    assert "Looking up the order" in then
    assert "Finding your parcel" not in then
    assert "words as they were then" in then


def test_strangers_and_readers_are_told_nothing(people: People, sample: Drawn) -> None:
    slug = sample["named"].answer.slug
    for tail in ("", "calls/", "events/"):
        assert told(people, "sam", slug, tail) == told(people, "sam", "a-slug-of-nothing", tail)
        assert people.browser(None).get(address(people, slug, tail)).status_code == 302
    assert told(people, "rhea", slug, "events/") == told(people, "rhea", "a-slug-of-nothing")
    assert people.browser("omar").get(address(people, slug, "events/")).status_code == 200


def test_an_answer_of_another_epoch_is_not_there(people: People, sample: Drawn) -> None:
    models.Project.objects.filter(id=people.northwind.id).update(epoch=2)
    assert people.browser("rhea").get(address(people, sample["named"].answer.slug)).status_code == 404


@pytest.mark.parametrize("who", ["rhea", "omar"])
def test_a_page_asks_as_often_for_four_calls_as_for_four_hundred(
    people: People, sample: Drawn, who: str
) -> None:
    _, long = long_answer(people, 400)
    counts = []
    for slug in (sample["named"].answer.slug, long.slug, sample["choices"].answer.slug):
        browser = people.browser(who)
        browser.get(address(people, slug))  # the app's words are read once a process
        with CaptureQueriesContext(connection) as asked:
            browser.get(address(people, slug))
        counts.append(len(asked))
    assert counts[0] == counts[1], counts
    assert counts[2] <= {"rhea": 16, "omar": 22}[who], counts  # with spawns, their rosters and child runs


def test_omar_reads_the_model_calls_of_a_long_answer_screen_by_screen(people: People) -> None:
    pen = pen_for_more(people)
    answer = pen.answer(pen.run("long"), "Count everything.", "Counted.")
    for step in range(1, 24):
        pen.choice(answer, "pick", step, {"offered": ["a_zz"], "served": ["a_zz"]})
        pen.choice(answer, "outcome", step, {"called": ["a_zz"]})
    pen.done()
    omar = people.browser("omar")
    page = BeautifulSoup(omar.get(address(people, answer.slug)).content, "html.parser")
    screens, href = [len(page.select(".model-call"))], page.select_one("#model-calls-left a")["href"]
    while href:
        page = BeautifulSoup(omar.get(href).content, "html.parser")
        part = omar.get(href, headers={"HX-Request": "true"}).content.decode()
        screens.append(len(page.select(".model-call")))
        assert part.count('class="model-call"') == screens[-1]
        assert 'hx-swap-oob="beforeend:#model-calls"' in part
        link = page.select_one("#model-calls-left a")
        href = link["href"] if link else ""
    assert screens == [10, 10, 3]
    models.Answer.objects.filter(id=answer.id).update(ending="running")  # it grows at its end: no screens
    page = BeautifulSoup(omar.get(address(people, answer.slug)).content, "html.parser")
    assert len(page.select(".model-call")) == 23
    assert page.select_one("#model-calls-left a") is None


def test_hostile_words_are_text(people: People) -> None:
    make(people.elsewhere)
    pen = pen_for(people.northwind)
    hostile = "<img src=x onerror=alert(1)>\"'><svg onload=x>{{7*7}}"
    pen.declares("t", hostile[:60])
    answer = pen.answer(pen.run("hostile", agent=hostile), hostile, hostile)
    pen.call(answer, "t", call_id=hostile)
    pen.call(answer, hostile, "error")
    pen.done()
    page = read(people, "omar", answer.slug)
    assert "<img src=x" not in page
    assert "<svg onload" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page


def long_answer(people: People, calls: int, tool: str | None = None) -> tuple[Pen, models.Answer]:
    pen = pen_for_more(people)
    answer = pen.answer(pen.run("long"), "Count everything.", "Counted.")
    first = pen.call(answer, tool or "tool_0_zz")
    rows = []
    for number in range(2, calls + 1):
        row = models.ToolCall(**{f.attname: getattr(first, f.attname) for f in models.ToolCall._meta.fields})
        row.id = pen.row()["id"]
        row.number, row.tool = number, tool or f"tool_{number % 2}_zz"
        row.call_id, row.version = f"c{number}-zz", pen.at()
        rows.append(row)
    models.ToolCall.objects.bulk_create(rows)
    models.Answer.objects.filter(id=answer.id).update(calls=calls, worked=calls)
    pen.done()
    return pen, answer


def pen_for_more(people: People) -> Pen:
    """A pen that goes on after the sample, where there is one."""
    people.northwind.refresh_from_db()
    stream = models.Stream.objects.create(
        project=people.northwind, name="more-zz", instance="more", opened_ms=0, last_ms=0
    )
    pen = Pen(people.northwind, stream)
    pen.position, pen.number = people.northwind.position, people.northwind.row_number
    return pen


def test_three_names_are_said_and_every_further_call_is_counted(people: People) -> None:
    pen = pen_for_more(people)
    for letter in "abcde":
        pen.declares(f"tool_{letter}_zz", f"Doing {letter}")
    answer = pen.answer(pen.run("many"), "Do it all.", "Done.")
    for letter in "abcdeabcdeabcde":
        pen.call(answer, f"tool_{letter}_zz")
    pen.call(answer, "nameless_zz")
    pen.done()
    page = text_of(read(people, "rhea", answer.slug))
    assert "It rests on Doing a, Doing b, Doing c and 7 other calls, which worked." in page
