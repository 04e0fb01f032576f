"""Home: the projects of a person, or straight to the only one; and the theme."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from runs.pages.frame import THEME_COOKIE, THEMES
from runs.store import people

A_YEAR_S = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class HomeProject:
    name: str
    role: str
    href: str


@dataclass(frozen=True, slots=True)
class HomePage:
    projects: tuple[HomeProject, ...]
    may_make_one: bool


@never_cache
@login_required
def home(request: HttpRequest) -> HttpResponse:
    places = people.places_of(request.user.pk, request.user.is_superuser)
    if len(places) == 1:
        return redirect("project", key=places[0].key)
    projects = tuple(
        HomeProject(place.name, place.role, reverse("project", args=[place.key])) for place in places
    )
    return render(request, "home/home.html", {"page": HomePage(projects, request.user.is_superuser)})


@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Remembers light or dark in a cookie; anything else forgets it and follows the system again."""
    response = HttpResponseRedirect(_back(request))
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(
            THEME_COOKIE, chosen, max_age=A_YEAR_S, httponly=True, samesite="Lax", secure=request.is_secure()
        )
    else:
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
    return response


def _back(request: HttpRequest) -> str:
    """Where the form was sent from, with its filters where the browser says them; never another site."""
    for place in (request.headers.get("Referer", ""), request.POST.get("next", "")):
        if not url_has_allowed_host_and_scheme(place, allowed_hosts={request.get_host()}):
            continue
        parts = urlsplit(place)
        here = f"{parts.path}?{parts.query}" if parts.query else parts.path
        if url_has_allowed_host_and_scheme(here, allowed_hosts=None):  # not one of a path like //elsewhere
            return here
    return "/"


urlpatterns = [
    path("", home, name="home"),
    path("theme/", choose_theme, name="theme"),
]
