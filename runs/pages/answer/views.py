"""The addresses of an answer."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path

from runs.pages.access import Audience, Visit, project_page
from runs.pages.frame import show, show_part
from runs.rules.vocabulary import Outcome

from .build import Asked, build, choices_of, events_of


@project_page
def answer(request: HttpRequest, visit: Visit, slug: str) -> HttpResponse:
    """The page, top to bottom."""
    page = build(visit.project, slug, visit.audience.operates, _asked(request))
    if page is None:
        raise Http404
    return show(request, visit, "answer/answer.html", page, here="runs")


@project_page
def answer_calls(request: HttpRequest, visit: Visit, slug: str) -> HttpResponse:
    """The next calls of a long list: a fragment for htmx, a page of its own without JavaScript."""
    page = build(visit.project, slug, visit.audience.operates, _asked(request), after=_after(request))
    if page is None:
        raise Http404
    return _part_or_page(request, visit, "calls", page)


@project_page(at_least=Audience.OPERATOR)
def answer_choices(request: HttpRequest, visit: Visit, slug: str) -> HttpResponse:
    """The next model calls of a long answer."""
    page = choices_of(visit.project, slug, _after(request))
    if page is None:
        raise Http404
    return _part_or_page(request, visit, "model_calls", page)


@project_page(at_least=Audience.OPERATOR)
def answer_events(request: HttpRequest, visit: Visit, slug: str) -> HttpResponse:
    """The events as kept, paged by position."""
    page = events_of(visit.project, slug, _after(request))
    if page is None:
        raise Http404
    return _part_or_page(request, visit, "events", page)


def _part_or_page(request: HttpRequest, visit: Visit, name: str, page: object) -> HttpResponse:
    if getattr(request, "htmx", False):
        return show_part(request, visit, f"answer/parts/{name}_more.html", page)
    return show(request, visit, f"answer/{name}.html", page, here="runs")


def _asked(request: HttpRequest) -> Asked:
    return Asked(
        only=Outcome.known(request.GET.get("only")),
        words_then=request.GET.get("words") == "then",
    )


def _after(request: HttpRequest) -> int:
    """The place or position to go on from; anything that is not a number is the beginning."""
    wanted: Any = request.GET.get("after", "")
    return int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 19 else 0


urlpatterns = [
    path("answers/<str:slug>/", answer, name="answer"),
    path("answers/<str:slug>/calls/", answer_calls, name="answer-calls"),
    path("answers/<str:slug>/choices/", answer_choices, name="answer-choices"),
    path("answers/<str:slug>/events/", answer_events, name="answer-events"),
]
