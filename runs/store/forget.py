"""Forgetting: a run with its whole chain, a project's texts, a project. Each under the project's lock.

What a deletion leaves behind is on purpose: the stream and its `acked` (a promise to its sender), the position counter,
what the app declared about itself (names, rosters: facts of the app, kept without the run that carried them), the
registered names (readers must never see one; a rebuild drops those that no event tells any more), and per run a
tombstone that drops what still comes of it, with a note at a position of its own.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from runs.models import (
    Answer,
    ChoiceCall,
    ChoiceRow,
    DeclaredName,
    DisplayName,
    Hole,
    KeptEvent,
    Leg,
    Membership,
    Note,
    Project,
    Roster,
    Run,
    SecondReading,
    SeenName,
    Spawn,
    Stream,
    StreamMemory,
    Text,
    Token,
    Tombstone,
    ToolCall,
    Violation,
    Waiting,
)
from runs.store.chains import chains_of
from runs.store.leaving import Deleted, clear_some, leave

ROWS_A_BITE = 2_000  # what a transaction clears: ingest waits for one at most


def delete_run(project_id: int, slug: str) -> Deleted | None:
    """Deletes a run with its whole chain (`chains.py`). None when the project has no such run.

    It is gone with the first commit; when this returns, what hung on it is cleared too.
    """
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=project_id)
        first = Run.objects.filter(project=project, epoch=project.epoch, slug=slug).first()
        if first is None:
            return None
        deleted = leave(project, [run for chain in chains_of([first.pk]) for run in chain.runs])
    clear_all(project_id)
    return deleted


def clear_all(project_id: int) -> None:
    """Clears what deleted runs left, a bite a transaction."""
    while True:
        with transaction.atomic():
            project = Project.objects.select_for_update().filter(pk=project_id).first()
            if project is None or not clear_some(project_id, ROWS_A_BITE):
                return


@transaction.atomic
def forget_texts(project_id: int) -> int:
    """Forgets every question, answer and classifier message kept so far; how many there were.

    The words version goes up, so that no rendering made with them is used again.
    """
    Project.objects.select_for_update().get(pk=project_id)
    count, _ = Text.objects.filter(project=project_id).delete()
    Project.objects.filter(pk=project_id).update(words_version=F("words_version") + 1)
    return count


# A project's rows, children first, so that each table goes in one statement where the database can.
_RECORD = (Violation, Spawn, Roster, ChoiceCall, ChoiceRow, ToolCall, Leg, Answer, Run, Waiting, StreamMemory)
_NAMES = (SeenName, DeclaredName, DisplayName)
_CAME_IN = (SecondReading, Text, Note, KeptEvent)
_PEOPLES = (Token, Membership)


@transaction.atomic
def delete_project(project_id: int) -> None:
    """Deletes a project and every row of it."""
    project = Project.objects.select_for_update().get(pk=project_id)
    for model in (*_RECORD, *_NAMES, *_CAME_IN, *_PEOPLES):
        model._base_manager.filter(project=project).delete()
    for of_stream in (Hole, Tombstone):
        of_stream.objects.filter(stream__project=project).delete()
    Stream.objects.filter(project=project).delete()
    project.delete()
