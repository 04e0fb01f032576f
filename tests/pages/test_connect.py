"""Connect: a token shown once, lines to paste, and the wait that becomes a link."""

from __future__ import annotations

import re

import pytest

from runs import models as m
from runs.store.tokens import find_token, list_tokens
from tests.sample import make

PAGES = ["connect/", "connect/waiting/?after=0&token=1", "settings/", "runs/{run}/delete/"]
POSTS = ["connect/", "connect/tokens/{token}/revoke/", "settings/", "settings/forget-texts/", "settings/delete/",
         "runs/{run}/delete/"]  # fmt: skip


def address(people, part="connect/"):
    return f"/p/{people.northwind.key}/{part}"


@pytest.mark.parametrize("name", ["omar", "rhea", "sam"])
def test_only_admins(people, sample, name):
    token = m.Token.objects.create(project=people.northwind, digest="d")
    before = (
        m.Project.objects.count(),
        m.Run.objects.count(),
        m.Text.objects.count(),
        m.Token.objects.count(),
    )
    place = {"run": sample["named"].run.slug, "token": token.pk}
    browser = people.browser(name)
    for part in PAGES:
        assert browser.get(address(people, part.format(**place))).status_code == 404
    for part in POSTS:
        response = browser.post(address(people, part.format(**place)), {"confirm": "Northwind", "label": "x"})
        assert response.status_code == 404
    token.refresh_from_db()
    assert token.revoked_at is None
    assert before == (
        m.Project.objects.count(), m.Run.objects.count(), m.Text.objects.count(), m.Token.objects.count(),
    )  # fmt: skip


def test_a_token_is_shown_once_and_stands_in_the_lines(people):
    ada = people.browser("ada")
    response = ada.post(address(people), {"label": "staging"})
    page = response.content.decode()
    secret = re.search(r'id="secret">(fp_[\w-]{43})<', page).group(1)
    assert find_token(secret).label == "staging"
    assert page.count(secret) == 4  # itself, and three times to paste
    assert "Bearer " + secret in page
    assert "no-store" in response.headers["Cache-Control"]
    again = ada.get(address(people)).content.decode()
    assert secret not in again
    assert secret[:8] in again
    assert "staging" in again


def test_a_label_is_one_plain_line(people):
    response = people.browser("ada").post(address(people), {"label": "a\u202eb"})
    assert response.status_code == 422
    assert "U+202E" in response.content.decode()
    assert not list_tokens(people.northwind.pk)


def wait_line(people, after=0):
    token = m.Token.objects.get()
    return (
        people.browser("ada")
        .get(address(people, f"connect/waiting/?after={after}&token={token.pk}"))
        .content.decode()
    )


def test_the_wait_becomes_a_link(people):
    ada = people.browser("ada")
    page = ada.post(address(people), {"label": ""}).content.decode()
    assert "Waiting for your first event" in page
    assert 'hx-trigger="every 1s"' in page
    m.Token.objects.update(last_used_at="2026-09-21T14:00Z")
    assert "A sender has connected" in wait_line(people)
    drawn = make(people.northwind)
    line = wait_line(people)
    assert f"/p/{people.northwind.key}/runs/{drawn['named'].run.slug}/" in line
    assert "hx-trigger" not in line
    later = wait_line(people, after=m.Project.objects.get(pk=people.northwind.pk).position)
    assert "hx-trigger" in later
    token = m.Token.objects.get().pk
    plain = ada.get(address(people, f"connect/?after=0&token={token}")).content.decode()  # without JavaScript
    assert "The first run is here." in plain


def test_the_wait_says_what_was_refused(people):
    people.browser("ada").post(address(people), {"label": ""})
    m.Note.objects.create(
        id=people.northwind.pk << m.ID_BITS | 5, project=people.northwind, kind="refused", received_ms=0,
        reason="payload.toolCallId: expected str, got int",
    )  # fmt: skip
    assert "Something that came was refused: payload.toolCallId: expected str, got int" in wait_line(people)


@pytest.mark.parametrize(
    "query", ["", "?after=x&token=1", "?after=-1&token=1", "?after=" + "9" * 40 + "&token=1"]
)
def test_an_odd_wait_is_none(people, query):
    ada = people.browser("ada")
    assert ada.get(address(people, f"connect/waiting/{query}")).status_code == 404
    assert ada.get(address(people, f"connect/{query}")).status_code == 200


def test_a_token_is_revoked(people):
    ada = people.browser("ada")
    ada.post(address(people), {"label": "staging"})
    token = m.Token.objects.get()
    page = ada.post(address(people, f"connect/tokens/{token.pk}/revoke/"), follow=True).content.decode()
    assert "revoked" in page
    foreign = m.Token.objects.create(project=people.elsewhere, digest="d")
    assert ada.post(address(people, f"connect/tokens/{foreign.pk}/revoke/")).status_code == 404
