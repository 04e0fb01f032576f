"""The list of runs: what each role sees, what each filter leaves, and paging while runs come in."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import combinations

import pytest
from django.test import Client

from runs import models
from runs.pages import runs as page_runs
from tests.people import People
from tests.sample import BEGAN_MS, MODELS_SIDE, Drawn, pen_for

"""Whatever the number of rows. An operator's page reads the tools and their words besides."""

NEWEST_FIRST = [
    "running",
    "choices",
    "bare",
    "parts",
    "retry",
    "failed",
    "silent",
    "stopped",
    "asked",
    "named",
]


def listed(browser: Client, people: People, query: str = "") -> list[str]:
    """The names of the sample's runs on the page of this address, in order."""
    response = browser.get(f"/p/{people.northwind.key}/runs/{query}")
    assert response.status_code == 200
    return re.findall(r'id="run-r\d{4}(\w+)"', response.content.decode())


def test_newest_first(people: People, sample: Drawn) -> None:
    assert listed(people.browser("rhea"), people) == NEWEST_FIRST


def test_a_row_tells_the_question_how_it_ended_and_what_became_of_the_calls(
    people: People, sample: Drawn
) -> None:
    page = people.browser("rhea").get(f"/p/{people.northwind.key}/runs/").content.decode()
    row = page[page.index(f'id="run-{sample["named"].run.slug}"') :]
    row = " ".join(re.sub("<[^>]+>", " ", row[: row.index("</tr>")]).split())
    assert row.endswith("Where is my order NW-77? ✓ answered complete ✓ 2 ✕ 1 ⊘ 1 21 Sep 2026, 16:14 4.2 s")
    assert "I am waiting" not in row  # only the first line


def test_a_run_without_a_question_and_one_whose_text_was_forgotten_say_so(
    people: People, sample: Drawn
) -> None:
    models.Text.objects.filter(position=sample["named"].answer.question_at).delete()
    page = people.browser("rhea").get(f"/p/{people.northwind.key}/runs/").content.decode()
    assert page.count("No question on record") == 1
    assert page.count("The text was not kept") == 1


def test_readers_meet_no_word_of_the_models_side(people: People, sample: Drawn) -> None:
    rhea, omar = people.browser("rhea"), people.browser("omar")
    address = f"/p/{people.northwind.key}/runs/"
    assert MODELS_SIDE not in rhea.get(address).content.decode()
    assert "agent_zz" in omar.get(address).content.decode()


FILTERS = {
    "ending=answered": ["choices", "parts", "retry", "named"],
    "ending=asked": ["asked"],
    "ending=silent": ["silent"],
    "failed=1": ["failed", "named"],
    "incomplete=1": ["retry", "stopped"],
    "session=s0002web": ["running"],
    "missed=1": ["choices"],
    "violation=1": ["choices"],
    "skipped=too-few": ["choices"],
    "skipped=wrap-up": [],
    "tool=purge_zz": ["retry", "failed", "named"],
    "since=2026-09-21T16:22": ["running", "choices"],
    "until=2026-09-21T16:16": ["asked", "named"],
}
OPERATORS = ("missed", "violation", "skipped", "tool")


@pytest.mark.parametrize("query", FILTERS)
def test_each_filter(people: People, sample: Drawn, query: str) -> None:
    assert listed(people.browser("omar"), people, f"?{query}") == FILTERS[query]


def test_filters_combine_in_pairs(people: People, sample: Drawn) -> None:
    omar = people.browser("omar")
    for one, other in combinations(FILTERS, 2):
        if one.partition("=")[0] == other.partition("=")[0]:
            continue
        both = [name for name in FILTERS[one] if name in FILTERS[other]]
        assert listed(omar, people, f"?{one}&{other}") == both, (one, other)


@pytest.mark.parametrize("query", [query for query in FILTERS if query.startswith(OPERATORS)])
def test_an_operators_filter_is_an_unknown_one_to_readers(people: People, sample: Drawn, query: str) -> None:
    rhea = people.browser("rhea")
    page = rhea.get(f"/p/{people.northwind.key}/runs/?{query}")
    assert listed(rhea, people, f"?{query}") == NEWEST_FIRST
    assert MODELS_SIDE not in page.content.decode()
    assert "too-few" not in page.content.decode()


UNREADABLE = """ending=nonsense ending= failed=yes since=yesterday until=99999-01-01 since=0001-01-01T00:00
before=zzz before=ffffffffffffffffffff after=-1 skipped=a,b tool=%00 session=%00 x=1"""


@pytest.mark.parametrize("query", UNREADABLE.split())
def test_what_is_unknown_or_unreadable_says_nothing(people: People, sample: Drawn, query: str) -> None:
    assert listed(people.browser("omar"), people, f"?{query}") == NEWEST_FIRST


def test_the_filter_lives_in_the_address_of_every_page(
    people: People, sample: Drawn, small_pages: None
) -> None:
    omar = people.browser("omar")
    page = omar.get(
        f"/p/{people.northwind.key}/runs/?ending=answered&tool=lookup_order_zz&x=1"
    ).content.decode()
    older = re.search(r'href="([^"]+)" rel="next"', page)
    assert older is not None
    assert "ending=answered&amp;tool=lookup_order_zz&amp;before=" in older[1]
    assert "x=1" not in older[1]


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_runs, "PAGE_SIZE", 2)


def link(page: str, rel: str) -> str:
    found = re.search(rf'href="([^"]+)" rel="{rel}"', page)
    return found[1].replace("&amp;", "&") if found else ""


def test_paging_neither_skips_nor_repeats_while_runs_come_in(
    people: People, sample: Drawn, small_pages: None
) -> None:
    rhea = people.browser("rhea")
    address, seen = f"/p/{people.northwind.key}/runs/", []
    writer = pen_for(people.elsewhere)
    writer.project, writer.number, writer.position = people.northwind, 100_000, 100_000
    for _ in range(20):
        page = rhea.get(address).content.decode()
        seen += re.findall(r'id="run-r\d+(\w+)"', page)
        writer.run("fresh")  # between every two pages, somebody's run begins
        address = link(page, "next")
        if not address:
            break
    assert seen == NEWEST_FIRST


def test_paging_back_meets_the_same_rows_and_then_the_new_ones(
    people: People, sample: Drawn, small_pages: None
) -> None:
    rhea = people.browser("rhea")
    first = rhea.get(f"/p/{people.northwind.key}/runs/").content.decode()
    second = rhea.get(link(first, "next")).content.decode()
    assert re.findall(r'id="run-r\d+(\w+)"', second) == ["bare", "parts"]
    back = rhea.get(link(second, "prev")).content.decode()
    assert re.findall(r'id="run-r\d+(\w+)"', back) == ["running", "choices"]
    assert link(back, "prev") == ""  # this is the newest


def test_new_runs_are_announced_once_and_by_the_same_filter(people: People, sample: Drawn) -> None:
    rhea = people.browser("rhea")
    page = rhea.get(f"/p/{people.northwind.key}/runs/?ending=running").content.decode()
    found = re.search(r'hx-get="([^"]+)"', page)
    assert found is not None
    asked = found[1].replace("&amp;", "&")
    assert "ending=running" in asked
    assert rhea.get(asked).status_code == 204
    writer = pen_for(people.elsewhere)
    writer.project, writer.number, writer.position = people.northwind, 100_000, 100_000
    writer.run("late", ending="answered")
    assert rhea.get(asked).status_code == 204  # it does not fit the filter
    for _ in range(3):
        writer.run("late", ending="running")
    line = rhea.get(asked)
    assert "3 new runs. Show them" in line.content.decode()
    assert rhea.get(asked + "&shown=3").status_code == 204


def test_a_leg_is_no_row(people: People, sample: Drawn) -> None:
    run = sample["named"].run
    models.Run.objects.filter(id=run.id).update(leg_of=sample["asked"].answer.id)
    assert "named" not in listed(people.browser("omar"), people)


def test_rows_of_another_making_and_of_another_project_are_not_listed(people: People, sample: Drawn) -> None:
    models.Project.objects.filter(id=people.northwind.id).update(epoch=2)
    assert listed(people.browser("omar"), people) == []
    assert listed(people.browser("root"), people) == []


@pytest.mark.parametrize(
    ("name", "next_step"),
    [
        ("ada", "Connect an agent</a>"),
        ("omar", "Once an admin of Northwind"),
        ("rhea", "Once an admin of Northwind"),
    ],
)
def test_an_empty_list_tells_the_next_step(people: People, name: str, next_step: str) -> None:
    page = people.browser(name).get(f"/p/{people.northwind.key}/runs/").content.decode()
    assert "No run is on record yet" in page
    assert next_step in page


def test_a_filter_that_fits_nothing_can_be_taken_back(people: People, sample: Drawn) -> None:
    page = people.browser("rhea").get(f"/p/{people.northwind.key}/runs/?ending=halted").content.decode()
    assert "No run fits these filters" in page
    assert f'href="/p/{people.northwind.key}/runs/">Show all runs' in page


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}",
    "<div hx-get=/x hx-trigger=load>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text(people: People, text: str) -> None:
    writer = pen_for(people.northwind)
    writer.sees(text)
    run = writer.run("hostile", agent=text)
    answer = writer.answer(run, text, text)
    writer.call(answer, text)
    models.Project.objects.filter(id=people.northwind.id).update(name=text)
    for name in ("rhea", "ada"):
        page = people.browser(name).get(f"/p/{people.northwind.key}/runs/", {"tool": text, "ending": text})
        assert page.status_code == 200
        body = page.content.decode()
        assert text not in body or text == "{{7*7}}"
        assert "49" not in re.sub("<[^>]+>", "", body)


def test_the_samples_clock() -> None:
    assert datetime.fromtimestamp(BEGAN_MS / 1000, UTC).isoformat() == "2026-09-21T14:13:20+00:00"
