"""What came in: streams, their events as kept, and what was heard beside them. Appended, never folded away.

Rows of these tables are made under their project's lock, beside parents that the same transaction read or made, and
are deleted with them (store/forget.py). So the database need not look each parent up once more: PostgreSQL takes in
nearly twice as many events without those constraints (docs/decisions/012-the-write-path.md). What looks instead:
tests/orphans.py.
"""

from __future__ import annotations

from django.db import models

from runs.models.people import Project


class Stream(models.Model):
    """One sender's numbered sequence of events. Never deleted before its project: `acked` is a promise."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="streams")
    name = models.CharField(max_length=64)
    instance = models.CharField(max_length=64)
    sender = models.CharField(max_length=120, blank=True)
    bare = models.BooleanField(default=False)
    epoch = models.BigIntegerField(
        default=0
    )  # of the connection: a hello raises it, the writer drops what is older
    acked = models.BigIntegerField(default=0)
    ended = models.BooleanField(default=False)
    kept = models.BigIntegerField(default=0)
    dropped = models.BigIntegerField(default=0)
    refused = models.BigIntegerField(default=0)
    repeated = models.BigIntegerField(default=0)
    missing = models.BigIntegerField(default=0)
    opened_ms = models.BigIntegerField(default=0)
    last_ms = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_stream_a_project_and_name")
        ]
        indexes = [models.Index(fields=["project", "-id"], name="stream_newest")]

    def __str__(self) -> str:
        return self.name


class Hole(models.Model):
    """Seqs of a stream that never came, both ends included; an event that comes after all narrows it."""

    stream = models.ForeignKey(Stream, models.CASCADE, related_name="holes")
    first = models.BigIntegerField()
    last = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["stream", "first"], name="one_hole_a_place")]


class KeptEvent(models.Model):
    """One event as kept, at its position. `body` is JSON text: never jsonb, so that big integers keep every digit."""

    id = models.BigAutoField(primary_key=True)  # project.id << 40 | position
    project = models.ForeignKey(
        Project, models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )
    stream = models.ForeignKey(Stream, models.CASCADE, db_index=False, db_constraint=False, related_name="+")
    seq = models.BigIntegerField()
    type = models.CharField(max_length=64)
    run = models.CharField(max_length=256, blank=True)  # the runId as sent; empty: the event names no run
    received_ms = models.BigIntegerField()
    body = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["stream", "seq"], name="one_event_a_seq")]
        indexes = [models.Index(fields=["stream", "run", "id"], name="kept_event_run")]


class Note(models.Model):
    """A fact that is no event (gap, lost, refused, unnumbered, silent, deleted), at its position, folded like one."""

    id = models.BigAutoField(primary_key=True)  # project.id << 40 | position
    project = models.ForeignKey(
        Project, models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )
    stream = models.ForeignKey(
        Stream, models.CASCADE, null=True, db_index=False, db_constraint=False, related_name="+"
    )
    kind = models.CharField(max_length=16)
    first = models.BigIntegerField(default=0)
    last = models.BigIntegerField(default=0)
    run = models.CharField(max_length=256, blank=True)
    code = models.CharField(max_length=32, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    limit_s = models.BigIntegerField(default=0)
    received_ms = models.BigIntegerField()

    class Meta:
        indexes = [
            # Ingest health: newest first, of the project or a stream, of every code or one
            models.Index(fields=["project", "kind", "-id"], name="note_kind"),
            models.Index(fields=["project", "kind", "code", "-id"], name="note_code"),
            models.Index(fields=["stream", "kind", "-id"], name="note_of_stream"),
            models.Index(fields=["stream", "run"], name="note_of_run"),
        ]


class Text(models.Model):
    """What was said, as it was said. The record never needs it; forgetting deletes rows here and nothing else."""

    project = models.ForeignKey(
        Project, models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )
    position = models.BigIntegerField()  # of the event that carried it
    kind = models.CharField(max_length=10)  # question, answer, classifier
    text = models.TextField()
    cut = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "position", "kind"], name="one_text_a_place")
        ]


class Tombstone(models.Model):
    """A deleted run: later events of it are dropped."""

    stream = models.ForeignKey(Stream, models.CASCADE, related_name="+")
    run = models.CharField(max_length=256)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["stream", "run"], name="one_tombstone_a_run")]
