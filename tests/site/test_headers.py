"""What every kind of answer tells the browser: pages, forms, redirects, files, and each kind of error."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import include, path

from footprint_site import urls
from tests.people import *  # noqa: F403
from tests.people import People

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def broken(request: Any) -> None:
    raise RuntimeError("something went wrong")


urlpatterns = [path("broken/", broken), path("", include(urls))]


def answer(kind: str, people: People) -> Any:
    ada, nobody = people.browser("ada"), Client()
    key = people.northwind.key
    strict = Client(enforce_csrf_checks=True)
    quiet = Client(raise_request_exception=False)
    kinds = {
        "a page": lambda: ada.get(f"/p/{key}/runs/"),
        "a part": lambda: ada.get(f"/p/{key}/runs/new/"),
        "the projects": lambda: ada.get("/"),
        "the log-in": lambda: nobody.get("/log-in/"),
        "a wrong log-in": lambda: nobody.post("/log-in/", {"username": "ada", "password": "no"}),
        "sent to the log-in": lambda: nobody.get(f"/p/{key}/runs/"),
        "a form with a problem": lambda: ada.post(f"/p/{key}/settings/", {"name": ""}),
        "not found": lambda: ada.get("/nowhere/"),
        "not theirs": lambda: people.browser("sam").get(f"/p/{key}/runs/"),
        "a form from elsewhere": lambda: strict.post("/log-in/", {"username": "ada"}),
        "a wrong method": lambda: ada.get("/theme/"),
        "a wrong host": lambda: nobody.get("/log-in/", headers={"host": "evil.example"}),
        "an error": lambda: quiet.get("/broken/"),
        "the admin": lambda: people.browser("root").get("/admin/"),
        "the icon": lambda: nobody.get("/favicon.ico"),
        "a file": lambda: nobody.get("/static/css/base.css"),
        "no such file": lambda: nobody.get("/static/css/none.css"),
    }
    return kinds[kind]()


STATUS = {
    "a page": 200,
    "a part": 204,  # nothing new
    "the projects": 302,
    "the log-in": 200,
    "a wrong log-in": 200,
    "sent to the log-in": 302,
    "a form with a problem": 422,
    "not found": 404,
    "not theirs": 404,
    "a form from elsewhere": 403,
    "a wrong method": 405,
    "a wrong host": 400,
    "an error": 500,
    "the admin": 200,
    "the icon": 302,
    "a file": 200,
    "no such file": 404,
}


@pytest.mark.urls("tests.site.test_headers")
@pytest.mark.parametrize("kind", STATUS)
def test_every_kind_of_answer_is_guarded(kind: str, people: People) -> None:
    found = answer(kind, people)
    assert found.status_code == STATUS[kind]
    for name, value in ALWAYS.items():
        assert found.headers.get(name) == value, name
    assert "default-src 'none'" in found.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in found.headers["Content-Security-Policy"]
    assert "camera=()" in found.headers["Permissions-Policy"]
    assert "Access-Control-Allow-Origin" not in found.headers
    kept = found.headers["Cache-Control"]
    if kind == "a file":
        assert "public" in kept
    else:
        assert "no-store" in kept
        assert "private" in kept


def test_a_page_depends_on_who_is_logged_in(people: People) -> None:
    assert "Cookie" in people.browser("ada").get(f"/p/{people.northwind.key}/runs/").headers["Vary"]


def test_cookies_are_for_this_site_and_not_for_scripts(people: People) -> None:
    client = Client()
    client.get("/log-in/")
    client.post("/log-in/", {"username": "ada", "password": "ada-walks-here"})
    assert {"sessionid", "csrftoken"} <= set(client.cookies)
    for name in ("sessionid", "csrftoken"):
        assert client.cookies[name]["httponly"], name
        assert client.cookies[name]["samesite"] == "Lax", name


def test_the_permissions_are_well_formed() -> None:
    from footprint_site.what_browsers_keep import PERMISSIONS_POLICY

    assert re.fullmatch(r"[a-z-]+=\(\)(, [a-z-]+=\(\))*", PERMISSIONS_POLICY)
