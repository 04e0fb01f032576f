"""What the Connect page asks while it waits: has anything come since the token was made, and was something refused?"""

from __future__ import annotations

from dataclasses import dataclass

from runs.models import ID_BITS, KeptEvent, Note, Project, Run, Token

REFUSED = "refused"  # the note's kind


@dataclass(frozen=True, slots=True)
class Arrived:
    """What came after a position. `run`: the slug of the first run; `refused`: why the latest refused event was."""

    run: str | None
    events: bool
    refused: str | None
    connected: bool  # a sender has come with the token


def position_now(project_id: int) -> int:
    return Project.objects.values_list("position", flat=True).get(pk=project_id)


def arrived_since(project_id: int, epoch: int, position: int, token_id: int) -> Arrived:
    """Four small queries on keys: this is asked once a second."""
    after = project_id << ID_BITS | position
    end = (project_id + 1) << ID_BITS
    runs = Run.objects.filter(project_id=project_id, epoch=epoch, first_position__gt=position)
    refusals = Note.objects.filter(pk__gt=after, pk__lt=end, kind=REFUSED)
    return Arrived(
        run=runs.order_by("first_position").values_list("slug", flat=True).first(),
        events=KeptEvent.objects.filter(pk__gt=after, pk__lt=end).exists(),
        refused=refusals.order_by("-pk").values_list("reason", flat=True).first(),
        connected=Token.objects.filter(
            project_id=project_id, pk=token_id, last_used_at__isnull=False
        ).exists(),
    )


def is_run(project_id: int, epoch: int, slug: str) -> bool:
    return Run.objects.filter(project_id=project_id, epoch=epoch, slug=slug).exists()
