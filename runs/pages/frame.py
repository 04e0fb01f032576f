"""The frame of every page: project switcher, navigation by role, theme; and the one way a page is shown."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from runs.pages.access import Audience, Visit
from runs.store import people

THEMES = ("light", "dark")
THEME_COOKIE = "theme"

_NAV = (
    ("runs", "Runs", Audience.READER),
    ("tools", "Tools", Audience.OPERATOR),
    ("tool-choice", "Tool choice", Audience.OPERATOR),
    ("rosters", "Rosters", Audience.OPERATOR),
    ("connect", "Connect", Audience.ADMIN),
    ("ingest", "Ingest", Audience.ADMIN),
)


@dataclass(frozen=True, slots=True)
class NavItem:
    label: str
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class OtherProject:
    name: str
    href: str


@dataclass(frozen=True, slots=True)
class Frame:
    project: str
    href: str
    role: str
    zone: str
    nav: tuple[NavItem, ...]
    others: tuple[OtherProject, ...]


def frame_for(visit: Visit, here: str) -> Frame:
    """`here` is the navigation's item this page belongs to: runs, tools, tool-choice, rosters, connect or ingest."""
    places = people.places_of(visit.user.pk, visit.user.is_superuser)
    return Frame(
        project=visit.project.name,
        href=reverse("project", args=[visit.project.key]),
        role=visit.audience.value,
        zone=visit.project.time_zone,
        nav=tuple(
            NavItem(label, reverse(name, args=[visit.project.key]), name == here)
            for name, label, least in _NAV
            if visit.audience.reaches(least)
        ),
        others=tuple(
            OtherProject(place.name, reverse("project", args=[place.key]))
            for place in places
            if place.key != visit.project.key
        ),
    )


def show(
    request: HttpRequest, visit: Visit, template: str, page: object, *, here: str, status: int = 200
) -> HttpResponse:
    """A whole page. The template gets `page` (the page's dataclass), `frame` and `zone`, and nothing else of ours."""
    frame = frame_for(visit, here)
    return render(
        request, template, {"page": page, "frame": frame, "zone": visit.project.time_zone}, status=status
    )


def show_part(
    request: HttpRequest, visit: Visit, template: str, page: object, *, status: int = 200
) -> HttpResponse:
    """A fragment: the same part a whole page includes, with the same `page` and `zone`."""
    return render(request, template, {"page": page, "zone": visit.project.time_zone}, status=status)


def theme(request: HttpRequest) -> dict[str, str]:
    """Context processor: the theme somebody chose, or nothing, which follows the system."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return {"theme": chosen if chosen in THEMES else ""}
