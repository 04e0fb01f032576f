"""What an admin sets of a project, and the doors that cannot be opened again: forgetting and deleting.

Each of those asks for the project's name, typed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from zoneinfo import available_timezones

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods, require_POST

from runs.announce import Changed, ring_from_sync
from runs.pages.access import Audience, Visit, project_page
from runs.pages.addresses import run_href
from runs.pages.frame import show
from runs.rules.display_name import ecma_trim
from runs.store import forget
from runs.store.project_settings import ProjectSettings, read_settings, save_settings
from runs.store.reads_connect import is_run

NOT_THE_NAME = "That is not the project’s name, so nothing was done."


@dataclass(frozen=True, slots=True)
class SettingsPage:
    settings: ProjectSettings
    name: str  # as it is now: what is typed to confirm
    problems: dict[str, str]
    zones: tuple[str, ...]
    back_href: str
    forget_href: str
    delete_href: str


@dataclass(frozen=True, slots=True)
class DeleteRunPage:
    name: str
    problem: str | None
    back_href: str


@require_http_methods(["GET", "POST"])
@project_page(at_least=Audience.ADMIN)
def settings(request: HttpRequest, visit: Visit) -> HttpResponse:
    now = read_settings(visit.project.id)
    if request.method != "POST":
        return _show(request, visit, now, {})
    typed, problems = _typed(request, now)
    problems = problems or save_settings(visit.project.id, typed)
    if problems:
        return _show(request, visit, typed, problems, status=422)
    _ring(visit)
    messages.success(request, "Saved.")
    return redirect("project-settings", key=visit.project.key)


@require_POST
@project_page(at_least=Audience.ADMIN)
def forget_texts(request: HttpRequest, visit: Visit) -> HttpResponse:
    if not _confirmed(request, visit):
        messages.error(request, NOT_THE_NAME)
        return redirect("project-settings", key=visit.project.key)
    count = forget.forget_texts(visit.project.id)
    _ring(visit)
    messages.success(request, f"{count} texts are forgotten." if count != 1 else "1 text is forgotten.")
    return redirect("project-settings", key=visit.project.key)


@require_POST
@project_page(at_least=Audience.ADMIN)
def delete_project(request: HttpRequest, visit: Visit) -> HttpResponse:
    if not _confirmed(request, visit):
        messages.error(request, NOT_THE_NAME)
        return redirect("project-settings", key=visit.project.key)
    forget.delete_project(visit.project.id)
    _ring(visit)
    messages.success(request, "The project and everything of it is deleted.")
    return redirect("home")


@require_http_methods(["GET", "POST"])
@project_page(at_least=Audience.ADMIN)
def delete_run(request: HttpRequest, visit: Visit, slug: str) -> HttpResponse:
    """Asks, and deletes the run with every run that shares an answer with it."""
    project = visit.project
    if not is_run(project.id, project.epoch, slug):
        raise Http404
    confirmed = request.method == "POST" and _confirmed(request, visit)
    if not confirmed:
        problem = NOT_THE_NAME if request.method == "POST" else None
        page = DeleteRunPage(project.name, problem, run_href(project.key, slug))
        return show(
            request,
            visit,
            "settings/delete_run.html",
            page,
            here="runs",
            status=200 if problem is None else 422,
        )
    deleted = forget.delete_run(project.id, slug)
    if deleted is None:
        raise Http404
    ring_from_sync(
        Changed(
            project.id,
            project.epoch,
            deleted.position,
            runs=deleted.runs,
            answers=deleted.answers,
            people=True,
        )
    )
    gone = "The run is" if len(deleted.runs) == 1 else f"{len(deleted.runs)} runs of one chain are"
    messages.success(request, f"{gone} deleted. What still comes of it is dropped.")
    return redirect("runs", key=project.key)


def _typed(request: HttpRequest, now: ProjectSettings) -> tuple[ProjectSettings, dict[str, str]]:
    post = request.POST
    seconds = ecma_trim(post.get("silent_after_s", ""))
    a_day = ecma_trim(post.get("events_per_day", ""))
    typed = ProjectSettings(
        name=post.get("name", ""),
        keep_text="keep_text" in post,
        silent_after_s=now.silent_after_s,
        time_zone=post.get("time_zone", ""),
        allowed_origins=post.get("allowed_origins", "").replace("\r\n", "\n"),
        events_per_day=now.events_per_day,
        events_today=now.events_today,
    )
    problems = {}
    if _is_whole(seconds):
        typed = replace(typed, silent_after_s=int(seconds))
    else:
        problems["silent_after_s"] = "The silent limit must be a whole number of seconds."
    if not a_day:
        typed = replace(typed, events_per_day=None)
    elif _is_whole(a_day):
        typed = replace(typed, events_per_day=int(a_day))
    else:
        problems["events_per_day"] = "The most events a day must be a whole number, or empty."
    return typed, problems


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16


def _show(
    request: HttpRequest, visit: Visit, shown: ProjectSettings, problems: dict[str, str], status: int = 200
) -> HttpResponse:
    key = visit.project.key
    page = SettingsPage(
        settings=shown,
        name=visit.project.name,
        problems=problems,
        zones=tuple(sorted(available_timezones())),
        back_href=reverse("connect", args=[key]),
        forget_href=reverse("forget-texts", args=[key]),
        delete_href=reverse("delete-project", args=[key]),
    )
    return show(request, visit, "settings/settings.html", page, here="connect", status=status)


def _confirmed(request: HttpRequest, visit: Visit) -> bool:
    return ecma_trim(request.POST.get("confirm", "")) == ecma_trim(visit.project.name)


def _ring(visit: Visit) -> None:
    ring_from_sync(Changed(visit.project.id, visit.project.epoch, 0, words=True, people=True))


urlpatterns = [
    path("settings/", settings, name="project-settings"),
    path("settings/forget-texts/", forget_texts, name="forget-texts"),
    path("settings/delete/", delete_project, name="delete-project"),
    path("runs/<str:slug>/delete/", delete_run, name="run-delete"),
]
