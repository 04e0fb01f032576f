"""The frame of every page: who is let in, where the navigation leads, and the theme."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.people import People

NAV = {
    "rhea": ["Runs"],
    "omar": ["Runs", "Tools", "Rosters"],
    "ada": ["Runs", "Tools", "Rosters", "Connect"],
    "root": ["Runs", "Tools", "Rosters", "Connect"],
}


@pytest.mark.parametrize("name", NAV)
def test_the_navigation_follows_the_role(people: People, name: str) -> None:
    page = people.browser(name).get(f"/p/{people.northwind.key}/runs/").content.decode()
    shown = [label for label in ("Runs", "Tools", "Rosters", "Connect") if f">{label}</a></li>" in page]
    assert shown == NAV[name]


def test_a_stranger_gets_the_same_404_as_for_nothing(people: People) -> None:
    sam = people.browser("sam")
    theirs = sam.get(f"/p/{people.northwind.key}/runs/")
    nothing = sam.get("/p/0123456789ab/runs/")
    assert (theirs.status_code, nothing.status_code) == (404, 404)
    assert theirs.content.replace(people.northwind.key.encode(), b"0123456789ab") != b""
    assert "Northwind" not in theirs.content.decode()


def test_nobody_is_sent_to_the_log_in_and_back(people: People) -> None:
    response = Client().get(f"/p/{people.northwind.key}/runs/?failed=1")
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/log-in/?next=")
    assert "failed%3D1" in response.headers["Location"]


def test_a_fragment_asked_for_by_nobody_reloads_the_page(people: People) -> None:
    response = Client().get(f"/p/{people.northwind.key}/runs/new/", headers={"HX-Request": "true"})
    assert response.headers["HX-Refresh"] == "true"


def test_home_goes_straight_to_the_only_project(people: People) -> None:
    response = people.browser("rhea").get("/", follow=True)
    assert response.redirect_chain[-1][0] == f"/p/{people.northwind.key}/runs/"


def test_home_lists_the_projects_of_a_superuser(people: People) -> None:
    page = people.browser("root").get("/").content.decode()
    assert page.index("Elsewhere") < page.index("Northwind")


def test_home_tells_somebody_without_a_project_what_to_do(people: People) -> None:
    people.rhea.membership_set.all().delete()
    assert "Ask an admin" in people.browser("rhea").get("/").content.decode()


def test_the_theme_is_printed_by_the_server_and_taken_back(people: People) -> None:
    rhea = people.browser("rhea")
    here = f"/p/{people.northwind.key}/runs/"
    assert "data-theme" not in rhea.get(here).content.decode()
    chosen = rhea.post("/theme/", {"theme": "dark", "next": here})
    assert chosen.headers["Location"] == here
    assert '<html lang="en" data-theme="dark">' in rhea.get(here).content.decode()
    rhea.post("/theme/", {"theme": "system", "next": here})
    assert "data-theme" not in rhea.get(here).content.decode()


def test_the_theme_leads_back_with_the_filters(people: People) -> None:
    here = f"/p/{people.northwind.key}/runs/?failed=1"
    response = people.browser("rhea").post("/theme/", {}, headers={"Referer": f"http://testserver{here}"})
    assert response.headers["Location"] == here


@pytest.mark.parametrize(
    "away",
    ["https://evil.example/", "//evil.example", "javascript:alert(1)", "http://testserver//evil.example", ""],
)
def test_the_theme_leads_nowhere_else(people: People, away: str) -> None:
    response = people.browser("rhea").post(
        "/theme/", {"theme": "dark", "next": away}, headers={"Referer": away}
    )
    assert response.headers["Location"] == "/"


def test_a_theme_that_is_none_is_not_printed(people: People) -> None:
    rhea = people.browser("rhea")
    rhea.cookies["theme"] = '"><script>'
    assert "data-theme" not in rhea.get(f"/p/{people.northwind.key}/runs/").content.decode()
