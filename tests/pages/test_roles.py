"""Every address of the site against one table: who may open it, and what everybody else gets.

A new address without a row here fails the last test. Django's admin has rows of its own kind: members who are not staff
never come in, and what staff see is told in tests/test_admin.py.
Websockets have their table in test_roles_of_sockets.py.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.urls import get_resolver
from django.urls.resolvers import URLResolver

from runs.models import Token
from tests.people import People
from tests.sample import Drawn

ROLES = ("anonymous", "stranger", "reader", "operator", "admin")
WHO = {"anonymous": None, "stranger": "sam", "reader": "rhea", "operator": "omar", "admin": "ada"}

LOG_IN = "log-in"  # a redirect to the log-in
HIDDEN = 404  # the same as for nothing


@dataclass(frozen=True)
class Row:
    """What each role gets, in the order of ROLES; `post` for addresses that change something."""

    get: tuple[int | str, ...]
    post: tuple[int | str, ...] | None = None
    query: str = ""


def of(least: str, get: int = 200, post: int | None = None, query: str = "") -> Row:
    """A page of a project for `least` and above."""

    def each(status: int) -> tuple[int | str, ...]:
        reached = ROLES.index(least)
        return (LOG_IN, HIDDEN, *(status if ROLES.index(role) >= reached else HIDDEN for role in ROLES[2:]))

    return Row(each(get), None if post is None else each(post), query)


def posted(least: str, post: int) -> Row:
    """An address that only takes a form: a GET is told so, whoever asks and whether or not there is such a project."""
    return Row((405,) * 5, of(least, post).get)


TABLE: dict[str, Row] = {
    "log-in/": Row((200,) * 5),
    "log-out/": Row((405,) * 5),
    "favicon.ico": Row((302,) * 5),
    "metrics": Row((HIDDEN,) * 5),  # by a token or from this machine: tests/site/test_metrics.py
    "": Row((LOG_IN, 302, 302, 302, 302)),
    "patterns/": Row((LOG_IN, HIDDEN, HIDDEN, HIDDEN, HIDDEN)),  # superusers only, which none of these is
    "theme/": Row((405,) * 5, (302,) * 5),
    "p/<str:key>/": of("reader", 302),
    "p/<str:key>/runs/": of("reader"),
    "p/<str:key>/runs/new/": of("reader"),
    "p/<str:key>/runs/<str:slug>/": of("reader"),
    "p/<str:key>/answers/<str:slug>/": of("reader"),
    "p/<str:key>/answers/<str:slug>/calls/": of("reader"),
    "p/<str:key>/answers/<str:slug>/choices/": of("operator"),
    "p/<str:key>/answers/<str:slug>/events/": of("operator"),
    "p/<str:key>/tools/": of("operator"),
    "p/<str:key>/tools/one/": of("operator", query="?tool=lookup_order_zz"),
    "p/<str:key>/tools/preview/": of("admin", query="?tool=lookup_order_zz&text=looking+up"),
    "p/<str:key>/tool-choice/": of("operator"),
    "p/<str:key>/rosters/": of("operator"),
    "p/<str:key>/rosters/what-if/": of("operator", query="?tool=delegate_zz"),
    "p/<str:key>/connect/": of("admin"),
    "p/<str:key>/connect/waiting/": of("admin", query="?after=0&token=1"),
    "p/<str:key>/connect/tokens/<int:token_id>/revoke/": posted("admin", 302),
    "p/<str:key>/ingest/": of("admin"),
    "p/<str:key>/ingest/stream/": of("admin", query="?name=desk-<key>_zz"),
    "p/<str:key>/ingest/notes/": of("admin"),
    "p/<str:key>/settings/": of("admin"),
    "p/<str:key>/settings/forget-texts/": posted("admin", 302),
    "p/<str:key>/settings/delete/": posted("admin", 302),
    "p/<str:key>/runs/<str:slug>/delete/": of("admin"),
}


def every_address() -> Iterator[str]:
    def walk(resolver: URLResolver, before: str) -> Iterator[str]:
        for pattern in resolver.url_patterns:
            here = before + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                yield from walk(pattern, here)
            else:
                yield here

    yield from walk(get_resolver(), "")


def filled(address: str, people: People, sample: Drawn) -> str:
    named = sample["named"]
    token = Token.objects.create(pk=1, project=people.northwind, digest="d" * 64, hint="fp_zz")
    slug = named.answer.slug if "/answers/" in address else named.run.slug
    return "/" + (
        address.replace("<str:key>", people.northwind.key)
        .replace("<str:slug>", slug)
        .replace("<int:token_id>", str(token.pk))
    )


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("address", TABLE)
def test_who_may_open_what(address: str, role: str, people: People, sample: Drawn) -> None:
    row, url = TABLE[address], filled(address, people, sample)
    client = people.browser(WHO[role])
    response = client.get(url + row.query.replace("<key>", people.northwind.key))
    _is(row.get[ROLES.index(role)], response, url)
    if row.post is not None:
        _is(row.post[ROLES.index(role)], client.post(url), url)


@pytest.mark.parametrize("address", [a for a in TABLE if "<str:key>" in a and TABLE[a].get[1] == HIDDEN])
def test_a_stranger_gets_what_nothing_gets(address: str, people: People, sample: Drawn) -> None:
    url = filled(address, people, sample)
    sam = people.browser("sam")
    theirs, nothing = sam.get(url), sam.get(url.replace(people.northwind.key, "0" * 12))
    assert theirs.status_code == nothing.status_code == 404
    assert _without_its_own(theirs) == _without_its_own(nothing)


def test_the_patterns_are_for_superusers(people: People) -> None:
    assert people.browser("root").get("/patterns/").status_code == 200


def test_every_address_has_a_row() -> None:
    own = {address for address in every_address() if not address.startswith("admin/")}
    assert own - set(TABLE) == set(), "say in TABLE who may open these"
    assert set(TABLE) - own == set(), "these addresses are gone"


@pytest.mark.parametrize("role", ["stranger", "reader", "operator"])
def test_djangos_admin_is_closed_to_people_without_the_role(role: str, people: People) -> None:
    client = people.browser(WHO[role])
    for address in ("/admin/", "/admin/runs/project/", "/admin/runs/token/", "/admin/auth/user/"):
        assert client.get(address).status_code in (302, 403, 404), address


def _without_its_own(response) -> str:
    """The page without what differs from one request to the next: its address and the forms' token."""
    return re.sub(r'\b[A-Za-z0-9]{64}\b|name="next" value="[^"]*"', "", response.content.decode())


def _is(expected: int | str, response, url: str) -> None:
    if expected == LOG_IN:
        assert response.status_code == 302, url
        assert response["Location"].startswith("/log-in/"), url
    else:
        assert response.status_code == expected, url
        assert not (response.status_code == 302 and response["Location"].startswith("/log-in/")), url
