"""What an admin sets of a project, and the doors that cannot be opened again: forgetting and deleting.

Each of those asks for the project's name, typed; so does a retention that would delete runs at once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
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
from runs.pages.run_filters import Option
from runs.rules import retention
from runs.rules.display_name import ecma_trim
from runs.rules.retention import Limits
from runs.rules.second_reading import READERS
from runs.store import forget
from runs.store.project_settings import ProjectSettings, problems_of, read_settings, save_settings
from runs.store.reads_connect import is_run
from runs.store.retention import going_now

NOT_THE_NAME = "That is not the project’s name, so nothing was done."
NUMBERS = {  # fields of whole numbers, and the sentence for what is none
    "silent_after_s": "The silent limit must be a whole number of seconds.",
    "events_per_day": "The most events a day must be a whole number, or empty.",
    "keep_days": "The number of days must be a whole number, or empty to keep everything.",
    "keep_runs": "The number of runs must be a whole number, or empty to keep everything.",
}
MOST_COUNTED = 10_001


@dataclass(frozen=True, slots=True)
class SettingsPage:
    settings: ProjectSettings
    name: str  # as it is now: what is typed to confirm
    problems: dict[str, str]
    numbers: dict[str, str]  # as typed
    retention: str  # what happens under the limits that are saved
    warning: str  # what saving would delete at once: it waits for the name
    zones: tuple[str, ...]
    readers: tuple[Option, ...]
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
        return _show(request, visit, now, now)
    typed, problems = _typed(request, now)
    problems |= problems_of(typed) if not problems else {}
    if problems:
        return _show(request, visit, now, typed, problems=problems)
    if typed.limits.tighten(now.limits) and not _confirmed(request, visit):
        project, now_ms = visit.project, time.time_ns() // 1_000_000
        going = going_now(project.id, project.epoch, typed.limits, now_ms, MOST_COUNTED)
        if going:
            return _show(request, visit, now, typed, warning=retention.warning(going, MOST_COUNTED))
    save_settings(visit.project.id, typed)
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
    """What was typed; a field that is no number keeps what it was, and has a problem."""
    post = request.POST
    numbers: dict[str, int | None] = {
        "silent_after_s": now.silent_after_s,
        "events_per_day": now.events_per_day,
        "keep_days": now.limits.days,
        "keep_runs": now.limits.runs,
    }
    problems = {}
    for field, problem in NUMBERS.items():
        text = ecma_trim(post.get(field, ""))
        if text.isascii() and text.isdigit() and len(text) < 16:
            numbers[field] = int(text)
        elif not text and field != "silent_after_s":
            numbers[field] = None
        else:
            problems[field] = problem
    typed = ProjectSettings(
        name=post.get("name", ""),
        keep_text="keep_text" in post,
        silent_after_s=numbers["silent_after_s"] or 0,
        time_zone=post.get("time_zone", ""),
        allowed_origins=post.get("allowed_origins", "").replace("\r\n", "\n"),
        limits=Limits(numbers["keep_days"], numbers["keep_runs"]),
        events_per_day=numbers["events_per_day"],
        second_reader=post.get("second_reader", ""),
        events_today=now.events_today,
    )
    return typed, problems


def _show(
    request: HttpRequest,
    visit: Visit,
    now: ProjectSettings,
    shown: ProjectSettings,
    *,
    problems: dict[str, str] | None = None,
    warning: str = "",
) -> HttpResponse:
    key = visit.project.key
    saved = {
        "silent_after_s": shown.silent_after_s,
        "events_per_day": shown.events_per_day,
        "keep_days": shown.limits.days,
        "keep_runs": shown.limits.runs,
    }
    page = SettingsPage(
        settings=shown,
        name=visit.project.name,
        problems=problems or {},
        numbers={
            name: request.POST.get(name, "" if value is None else str(value)) for name, value in saved.items()
        },
        retention=retention.sentence(now.limits),
        warning=warning,
        zones=tuple(sorted(available_timezones())),
        readers=tuple(
            Option(name, words, name == shown.second_reader) for name, words in {"": "Off", **READERS}.items()
        ),
        back_href=reverse("connect", args=[key]),
        forget_href=reverse("forget-texts", args=[key]),
        delete_href=reverse("delete-project", args=[key]),
    )
    status = 422 if page.problems or warning else 200
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
