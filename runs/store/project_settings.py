"""What an admin may set of a project."""

from __future__ import annotations

import time
from dataclasses import dataclass
from zoneinfo import available_timezones

from django.db import transaction
from django.db.models import F, Q

from runs.models import Project
from runs.rules.display_name import ecma_trim
from runs.rules.origin import origins_problem, read_origins
from runs.rules.plain_line import plain_line_problem
from runs.rules.retention import MOST_DAYS, MOST_RUNS, NO_LIMITS, Limits, problem_of
from runs.rules.second_reading import reader_problem
from runs.rules.today import Today

MAX_NAME_CHARS = 120
SHORTEST_SILENCE_S = 5
LONGEST_SILENCE_S = 7 * 24 * 3600
MOST_A_DAY = 10**12


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    name: str
    keep_text: bool
    silent_after_s: int
    time_zone: str
    allowed_origins: str  # one a line
    limits: Limits = NO_LIMITS  # what is kept of its runs
    events_per_day: int | None = None  # None: as many as come
    second_reader: str = ""  # empty: no second readings
    events_today: int = 0  # kept of this day, counted under a limit only

    @property
    def is_full(self) -> bool:
        return self.events_per_day is not None and self.events_today >= self.events_per_day


@dataclass(frozen=True, slots=True)
class Found:
    id: int
    key: str
    name: str


def read_settings(project_id: int) -> ProjectSettings:
    project = Project.objects.get(pk=project_id)
    return ProjectSettings(
        name=project.name,
        keep_text=project.keep_text,
        silent_after_s=project.silent_after_s,
        time_zone=project.time_zone,
        allowed_origins=project.allowed_origins,
        limits=Limits(project.keep_days, project.keep_runs),
        events_per_day=project.events_per_day,
        second_reader=project.second_reader,
        events_today=Today(project.events_per_day, project.day, project.day_events).kept(
            time.time_ns() // 1_000_000
        ),
    )


def name_problem(name: str) -> str | None:
    """Why `name` cannot be a project's name, or None."""
    name = ecma_trim(name)
    if not name:
        return "The name must not be empty."
    if len(name) > MAX_NAME_CHARS:
        return f"The name must be at most {MAX_NAME_CHARS} characters, and it has {len(name)}."
    return plain_line_problem("The name", name)


def problems_of(settings: ProjectSettings) -> dict[str, str]:
    """Field -> why it cannot be saved; empty when all can."""
    problems = {
        "name": name_problem(settings.name),
        "allowed_origins": origins_problem(settings.allowed_origins),
        "silent_after_s": None
        if SHORTEST_SILENCE_S <= settings.silent_after_s <= LONGEST_SILENCE_S
        else f"The silent limit must be from {SHORTEST_SILENCE_S} to {LONGEST_SILENCE_S} seconds.",
        "events_per_day": None
        if settings.events_per_day is None or 1 <= settings.events_per_day <= MOST_A_DAY
        else f"The most events a day must be from 1 to {MOST_A_DAY}, or empty.",
        "second_reader": reader_problem(settings.second_reader),
        "time_zone": None
        if settings.time_zone in available_timezones()
        else "The time zone must be one of the list, such as Europe/Berlin.",
        "keep_days": problem_of(settings.limits.days, MOST_DAYS, "days"),
        "keep_runs": problem_of(settings.limits.runs, MOST_RUNS, "runs"),
    }
    return {field: problem for field, problem in problems.items() if problem is not None}


@transaction.atomic
def save_settings(project_id: int, settings: ProjectSettings) -> dict[str, str]:
    """Saves under the project's lock, or says why not. What pages say may change, so they read again."""
    problems = problems_of(settings)
    if problems:
        return problems
    project = Project.objects.select_for_update().get(pk=project_id)
    if settings.second_reader != project.second_reader:
        project.second_read_to = 0  # another reader reads from the first answer on
    Project.objects.filter(pk=project_id).update(
        second_reader=settings.second_reader,
        second_read_to=project.second_read_to,
        name=ecma_trim(settings.name),
        keep_text=settings.keep_text,
        silent_after_s=settings.silent_after_s,
        time_zone=settings.time_zone,
        events_per_day=settings.events_per_day,
        allowed_origins="\n".join(sorted(read_origins(settings.allowed_origins))),
        keep_days=settings.limits.days,
        keep_runs=settings.limits.runs,
        words_version=F("words_version") + 1,
    )
    return {}


def find_projects(name_or_key: str) -> list[Found]:
    """The projects with this key or name."""
    found = Project.objects.filter(Q(key=name_or_key) | Q(name=name_or_key)).order_by("pk")
    return [Found(*row) for row in found.values_list("pk", "key", "name")]


def project_names() -> list[str]:
    return list(Project.objects.order_by("name").values_list("name", flat=True))


def read_again(project_id: int) -> None:
    """What pages say beside the record has changed: no rendering made before is used again."""
    Project.objects.filter(pk=project_id).update(words_version=F("words_version") + 1)
