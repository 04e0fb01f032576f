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


def test_violations_are_grouped_by_what_and_why(people, sample):
    first = m.Violation.objects.get()
    said = {field.attname: getattr(first, field.attname) for field in first._meta.concrete_fields}
    for n in (1, 2):
        again = {"id": first.pk + 1_000 * n, "received_ms": first.received_ms + n, "answer_id": None}
        m.Violation.objects.create(**said | again)
    m.Violation.objects.create(**said | {"id": first.pk + 5_000, "reason": "undeclared_origin"})
    page = people.browser("omar").get(address(people)).content.decode()
    assert "3 times, in 1 answer" in page and "1 time, in 1 answer" in page
    assert "It fits no answer on record." in page


class TestWhatIf:
    def address(self, people, tool=DELEGATE):
        return f"{address(people)}what-if/?tool={tool}"

    def judge(self, people, roster, status=200):
        text = roster if isinstance(roster, str) else json.dumps(roster)
        got = people.browser("omar").post(self.address(people), {"roster": text})
        assert got.status_code == status
        return got.content.decode()

    def test_it_begins_with_the_roster_that_stands(self, people, sample):
        page = people.browser("omar").get(self.address(people)).content.decode()
        assert "1 of 1" in page
        assert "delegate_zz injected a tool that answers to web_zz; no entry carries that name" in page

    def test_a_proposal_is_judged_and_nothing_is_changed(self, people, sample):
        before = m.Roster.objects.get().entries
        page = self.judge(people, [{"name": "notes_zz"}, {"name": "web_zz"}, {"name": "spare_zz"}])
        assert "none of 1" in page and "<code>spare_zz</code>" in page
        assert "1 of 1" in self.judge(people, [])
        assert m.Roster.objects.get().entries == before

    def test_the_tight_one_covers_what_was_seen(self, people, sample):
        page = people.browser("omar").get(self.address(people)).content.decode()
        tight = page.split('aria-label="The tightest roster">')[1].split("</pre>")[0].replace("&quot;", '"')
        assert json.loads(tight) == [
            {"name": "notes_zz", "contentOrigin": "internal"},
            {"name": "web_zz", "contentOrigin": "external"},
        ]
        assert "none of 1" in self.judge(people, tight)

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("", "this is not JSON"),
            ("[" * 100_000, "at most 65536 characters"),
            ("[" * 9_000, "this is not JSON"),
            ("7", "must be a list"),
            ('[{"name": "a"}, {"name": "a"}]', "Entry 2 of the roster carries a spelling"),
            ('[{"name": "<script>alert(1)</script>", "contentOrigin": 7}]', "entry 1 of the roster"),
        ],
    )
    def test_what_is_no_roster_is_said_in_a_sentence(self, people, sample, text, says):
        page = self.judge(people, text, status=422)
        assert says in page.replace("&#x27;", "'")
        assert "<script>alert" not in page

    def test_a_tool_that_is_not_on_record_is_not_there(self, people, sample):
        assert people.browser("omar").get(self.address(people, "nobody")).status_code == 404
        assert people.browser("rhea").get(self.address(people)).status_code == 404
