"""Rosters: declared, injected, never used, and what nobody had declared."""

from __future__ import annotations

import json

import pytest

from runs import models as m
from tests.sample import DELEGATE


def address(people):
    return f"/p/{people.northwind.key}/rosters/"


def roster(people, sample, **said):
    m.Roster.objects.filter(project=people.northwind).update(**said)


def test_a_delegation_tool_and_its_violation(people, sample):
    page = people.browser("omar").get(address(people)).content.decode()
    assert "At most these tools may be injected." in page
    assert "notes_zz" in page
    assert "not declared" in page
    assert "delegate_zz injected web_zz; its roster declares notes_zz." in page
    assert f"/p/{people.northwind.key}/answers/{sample['choices'].answer.slug}/" in page
    assert "1 violation on record." in page


@pytest.mark.parametrize("name", ["rhea", "sam"])
def test_readers_and_strangers_get_404(people, sample, name):
    assert people.browser(name).get(address(people)).status_code == 404


def test_what_was_declared_and_never_used(people, sample):
    roster(
        people,
        sample,
        entries=json.dumps([{"name": "notes_zz"}, {"name": "spare_zz", "aliases": ["extra_zz"]}]),
    )
    page = people.browser("omar").get(address(people)).content.decode()
    assert "never used" in page
    assert "or extra_zz" in page


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ({"entries": None}, "declared no roster, so its spawns cannot be checked"),
        ({"entries": None}, "cannot be known beforehand"),
        ({"entries": "[]"}, "Its roster is empty"),
        ({"entries": None, "has_factory": False}, "It has no factory"),
        ({"entries": None, "sentence": "Entry 3 of the roster must be an object."}, "is not a roster"),
        ({"static_pool": None, "inherited": '[{"name":"inherited_zz"}]'}, "the tools it inherited"),
        ({"static_pool": '[{"name":"own_zz"}]'}, "own_zz"),
        ({"static_pool": None, "inherited": None, "entries": "[]"}, "Its pool is not recorded."),
    ],
)
def test_how_a_roster_stands_in_words(people, sample, said, says):
    roster(people, sample, **said)
    assert says in people.browser("omar").get(address(people)).content.decode()


def test_the_hosts_own_refusals(people, sample):
    spawn = m.Spawn.objects.get()
    spawn.pk += 5_000
    spawn.refused, spawn.refused_reason, spawn.violations, spawn.products = True, "shape", 0, "[]"
    spawn.save(force_insert=True)
    page = people.browser("omar").get(address(people)).content.decode()
    assert "Refused by the host itself" in page
    assert "not a roster" in page


def test_spawns_of_a_tool_that_declared_nothing(people, sample):
    m.Roster.objects.all().delete()
    page = people.browser("omar").get(address(people)).content.decode()
    assert DELEGATE in page
    assert "It never declared what it may inject" in page


def test_an_empty_project_says_what_comes_here(people):
    assert "No roster is on record yet" in people.browser("omar").get(address(people)).content.decode()
