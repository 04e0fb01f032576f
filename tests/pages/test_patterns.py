"""The page of patterns: every closed word is on it, in both themes; it exists for superusers alone."""

from __future__ import annotations

import pytest
from django.utils.html import escape

from runs.rules.vocabulary import Ending, IncompleteReason, NarrowSkip, Outcome, RosterReason
from tests.people import People


def test_every_closed_word_is_on_the_page_in_both_themes(people: People) -> None:
    page = people.browser("root").get("/patterns/").content.decode()
    _, light, dark = page.split("data-theme=")
    for vocabulary in (Outcome, Ending, NarrowSkip, RosterReason, IncompleteReason):
        for member in vocabulary:
            for theme in (light, dark):
                assert f"</span>{escape(member.word)}</span>" in theme, member


@pytest.mark.parametrize("name", ["ada", "omar", "rhea", "sam"])
def test_to_all_others_it_does_not_exist(people: People, name: str) -> None:
    assert people.browser(name).get("/patterns/").status_code == 404


def test_nobody_is_sent_to_the_log_in(people: People) -> None:
    assert people.browser(None).get("/patterns/").status_code == 302
