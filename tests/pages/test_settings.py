"""Settings, and what cannot be undone: each asks for the project's name, typed."""

from __future__ import annotations

import pytest

from runs import models as m
from runs.intake.writer import now_ms
from runs.rules.today import DAY_MS

GOOD = {"name": "Northwind desk", "keep_text": "on", "silent_after_s": "60", "time_zone": "Europe/Paris"}


def address(people, part="settings/"):
    return f"/p/{people.northwind.key}/{part}"


@pytest.fixture
def rings(monkeypatch):
    heard = []
    monkeypatch.setattr("runs.pages.settings.ring_from_sync", heard.append)
    return heard


def test_settings_are_saved_and_pages_read_again(people, rings):
    before = people.northwind.words_version
    posted = GOOD | {"allowed_origins": "HTTPS://App.Example:443/\r\nhttp://localhost:5173\r\n"}
    del posted["keep_text"]
    page = people.browser("ada").post(address(people), posted, follow=True).content.decode()
    assert "Saved." in page
    project = m.Project.objects.get(pk=people.northwind.pk)
    assert (project.name, project.keep_text, project.silent_after_s, project.time_zone) == (
        "Northwind desk",
        False,
        60,
        "Europe/Paris",
    )
    assert project.allowed_origins == "http://localhost:5173\nhttps://app.example"
    assert project.words_version == before + 1
    assert len(rings) == 1


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("name", " ", "The name must not be empty."),
        ("name", "a\u202eb", "U+202E"),
        ("name", "a" * 121, "at most 120"),
        ("silent_after_s", "soon", "whole number of seconds"),
        ("silent_after_s", "1", "from 5 to"),
        ("silent_after_s", "9" * 30, "whole number of seconds"),
        ("keep_days", "0", "The number of days must be from 1 to 36,500"),
        ("keep_days", "a week", "The number of days must be a whole number, or empty"),
        ("keep_runs", "-1", "The number of runs must be a whole number, or empty"),
        ("keep_runs", "1000001", "The number of runs must be from 1 to 1,000,000"),
        ("time_zone", "../etc/passwd", "The time zone must be one of the list"),
        ("allowed_origins", "https://good.example\nnot an origin", "Line 2 of the allowed origins"),
        ("allowed_origins", "https://*.example", "Line 1 of the allowed origins"),
    ],
)
def test_an_odd_value_is_refused_in_a_sentence(people, rings, field, value, says):
    response = people.browser("ada").post(address(people), GOOD | {field: value})
    assert response.status_code == 422
    assert says in response.content.decode()
    assert m.Project.objects.get(pk=people.northwind.pk).name == "Northwind"
    assert not rings


def test_retention_says_what_will_happen_and_waits_for_the_name_where_runs_would_go(people, sample, rings):
    """Ada keeps the newest run: the page counts what goes, and nothing is saved before she typed the name."""
    ada = people.browser("ada")
    assert "Every run is kept." in ada.get(address(people)).content.decode()
    tight = GOOD | {"name": "Northwind", "keep_runs": "1", "keep_days": "36500"}
    for confirm in ({}, {"confirm": "Elsewhere"}):
        response = ada.post(address(people), tight | confirm)
        page = response.content.decode()
        assert response.status_code == 422
        listed = m.Run.objects.filter(leg_of=None).count()
        assert f"Saving this deletes {listed - 1} runs within minutes, and that cannot be undone." in page
        assert "Until now: Every run is kept." in page
        assert m.Project.objects.get(pk=people.northwind.pk).keep_runs is None
    page = ada.post(address(people), tight | {"confirm": "Northwind"}, follow=True).content.decode()
    assert "more than 36,500 days old or once a newer one has begun" in page
    project = m.Project.objects.get(pk=people.northwind.pk)
    assert (project.keep_days, project.keep_runs) == (36_500, 1)

    # Keeping more deletes nothing, so it asks for nothing.
    assert ada.post(address(people), tight | {"keep_runs": "", "keep_days": ""}).status_code == 302
    assert m.Project.objects.get(pk=people.northwind.pk).keep_runs is None


@pytest.mark.parametrize("typed", ["", "northwind", "Elsewhere"])
def test_nothing_is_forgotten_without_the_name(people, sample, rings, typed):
    ada = people.browser("ada")
    before = (m.Text.objects.count(), m.Run.objects.count(), m.Project.objects.count())
    run = sample["named"].run.slug
    for part in ("settings/forget-texts/", "settings/delete/", f"runs/{run}/delete/"):
        page = ada.post(address(people, part), {"confirm": typed}, follow=True).content.decode()
        assert "so nothing was done" in page
    assert (m.Text.objects.count(), m.Run.objects.count(), m.Project.objects.count()) == before
    assert not rings


def test_texts_are_forgotten(people, sample, rings):
    page = people.browser("ada").post(
        address(people, "settings/forget-texts/"), {"confirm": "Northwind"}, follow=True
    )
    assert "texts are forgotten." in page.content.decode()
    assert not m.Text.objects.exists()
    assert rings[0].people


def test_a_run_is_deleted_with_its_chain(people, sample, rings):
    run = sample["named"].run
    ada = people.browser("ada")
    part = f"runs/{run.slug}/delete/"
    assert "Type “Northwind” to confirm" in ada.get(address(people, part)).content.decode()
    assert ada.post(address(people, part), {"confirm": "Northwind"}).status_code == 302
    assert not m.Run.objects.filter(pk=run.pk).exists()
    assert m.Tombstone.objects.get().run == run.name
    ring = rings[0]
    assert (ring.runs, ring.people) == ((run.slug,), True)
    assert ring.position == m.Project.objects.get(pk=people.northwind.pk).position
    assert ada.get(address(people, part)).status_code == 404


def test_a_project_is_deleted(people, sample, rings):
    response = people.browser("ada").post(address(people, "settings/delete/"), {"confirm": "Northwind"})
    assert response.status_code == 302
    assert list(m.Project.objects.values_list("name", flat=True)) == ["Elsewhere"]
    assert not m.Stream.objects.exists()


def test_a_day_may_be_bounded_and_a_full_one_is_said(people, rings):
    ada, here = people.browser("ada"), address(people)
    assert ada.post(here, {**GOOD, "events_per_day": "1000"}).status_code == 302
    m.Project.objects.filter(pk=people.northwind.pk).update(day=now_ms() // DAY_MS, day_events=400)
    assert "400 of them kept today" in ada.get(here).content.decode()
    m.Project.objects.filter(pk=people.northwind.pk).update(day_events=1003)
    page = ada.get(here).content.decode()
    assert "Today’s events are all taken. Senders keep what they have and try again" in page
    assert ada.post(here, {**GOOD, "events_per_day": ""}).status_code == 302
    assert "all taken" not in ada.get(here).content.decode()


@pytest.mark.parametrize("typed", ["0", "-1", "many", "1e3", "9" * 30, "²"])
def test_a_bound_that_is_none_is_refused_in_a_sentence(people, rings, typed):
    ada, here = people.browser("ada"), address(people)
    answer = ada.post(here, {**GOOD, "events_per_day": typed})
    assert answer.status_code == 422
    assert "The most events a day must be" in answer.content.decode()
    assert m.Project.objects.get(pk=people.northwind.pk).events_per_day is None
