"""Retention: what a project no longer keeps leaves, a few runs a transaction, oldest first.

Nothing here opens a transaction: the server takes these steps on the writer's thread, in turn with what senders bring,
and `manage.py retain` beside a server. Several processes may look at once; each step reads again under the lock.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from runs.models import LEAVING, Project, Run
from runs.rules.retention import Border, Limits, RunAge, may_go
from runs.rules.vocabulary import Ending
from runs.store.chains import Chain, chains_of
from runs.store.leaving import Deleted, clear_some, leave

RUNS_A_STEP = 50
ROWS_A_STEP = 2_000
WAITS = (Ending.RUNNING.value, Ending.ASKED.value)


@dataclass(frozen=True, slots=True)
class Due:
    """A project that has limits, or deleted runs that are not cleared yet, and where what it keeps begins."""

    project_id: int
    limits: Limits
    border: Border


@dataclass(frozen=True, slots=True)
class Step:
    """What one step did. `after`: the position to go on from; `done`: there is nothing more."""

    after: int
    done: bool = False
    epoch: int = 0
    deleted: Deleted | None = None
    cleared: int = 0


def projects_due(now_ms: int, project_id: int | None = None) -> list[Due]:
    """Each project that has something to look for, or the one. Reads only: for any thread."""
    leaving = Exists(Run.objects.filter(project=OuterRef("pk"), epoch__gte=LEAVING))
    wanted = Q(keep_days__isnull=False) | Q(keep_runs__isnull=False) | leaving
    projects = Project.objects.filter(wanted).order_by("pk")
    if project_id is not None:
        projects = projects.filter(pk=project_id)
    due = []
    for pk, epoch, days, runs in projects.values_list("pk", "epoch", "keep_days", "keep_runs"):
        limits = Limits(days, runs)
        due.append(Due(pk, limits, border_of(pk, epoch, limits, now_ms)))
    return due


def border_of(project_id: int, epoch: int, limits: Limits, now_ms: int) -> Border:
    """Where what is kept begins. Counting the newest runs walks an index: not for the writer's thread."""
    position = 0
    if limits.runs is not None:
        listed = Run.objects.filter(project=project_id, epoch=epoch, leg_of=None).order_by("-first_position")
        last = listed.values_list("first_position", flat=True)[limits.runs - 1 : limits.runs]
        position = next(iter(last), 0)
    return Border(limits.before_ms(now_ms), position)


def going_now(project_id: int, epoch: int, limits: Limits, now_ms: int, most: int) -> int:
    """How many runs are behind the border these limits would have now, counted up to `most`."""
    if not limits.any:
        return 0
    border = border_of(project_id, epoch, limits, now_ms)
    behind = Q(last_ms__lt=border.before_ms) | Q(first_position__lt=border.position)
    return Run.objects.filter(behind, project=project_id, epoch=epoch, leg_of=None).order_by()[:most].count()


def retain_some(due: Due, after: int, now_ms: int) -> Step:
    """One step, bounded in rows: clear what left before, else let the next runs leave. The caller commits it."""
    project = Project.objects.select_for_update().filter(pk=due.project_id).first()
    if project is None:
        return Step(after, done=True)
    if cleared := clear_some(project.pk, ROWS_A_STEP):
        return Step(after, epoch=project.epoch, cleared=cleared)
    if not due.limits.any or due.limits != Limits(project.keep_days, project.keep_runs):
        return Step(after, done=True)  # they were changed meanwhile: the next look begins anew
    looked_at = list(
        Run.objects.filter(project=project, epoch=project.epoch, first_position__gt=after)
        .order_by("first_position")
        .values_list("pk", "first_position", "opened_ms", "last_ms")[:RUNS_A_STEP]
    )
    near = [run for run in looked_at if due.border.may_be_behind(run[1], run[2])]
    behind = [pk for pk, position, _, last_ms in near if due.border.is_behind(position, last_ms)]
    quiet_since_ms = now_ms - project.silent_after_s * 1000
    going = [
        run
        for chain in chains_of(behind)
        if may_go(_ages(chain), due.border, quiet_since_ms)
        for run in chain.runs
    ]
    deleted = leave(project, going) if going else None
    done = deleted is None and (len(looked_at) < RUNS_A_STEP or len(near) < len(looked_at))
    return Step(looked_at[-1][1] if looked_at else after, done, project.epoch, deleted)


def _ages(chain: Chain) -> list[RunAge]:
    waiting = {answer.current_run for answer in chain.answers if answer.ending in WAITS}
    waiting |= {answer.run_id for answer in chain.answers if answer.ending in WAITS}
    return [RunAge(run.first_position, run.last_ms, run.finished, run.pk in waiting) for run in chain.runs]
