"""People's own rows: projects, who belongs to them, tokens and display names. Written by forms and admin."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models

ID_BITS = 40
LEAVING = 1 << 30  # no project is rebuilt that often


def new_key() -> str:
    return secrets.token_hex(6)


def new_secret() -> str:
    return secrets.token_hex(32)


class Project(models.Model):
    """An app whose agents report here. Its row is the lock: positions, row numbers and epochs are drawn under it."""

    key = models.CharField(max_length=12, unique=True, default=new_key, editable=False)
    name = models.CharField(max_length=120)
    secret = models.CharField(max_length=64, default=new_secret, editable=False)
    keep_text = models.BooleanField(
        default=True, help_text="Keep what was asked and answered, as it was said. Off: nothing new is kept."
    )
    silent_after_s = models.PositiveIntegerField(
        default=300, help_text="Seconds without a word after which a running answer is called silent."
    )
    ledger_limit = models.PositiveIntegerField(default=10_000, help_text="Most calls an answer lists.")
    allowed_origins = models.TextField(
        blank=True, help_text="Origins that may send from a browser, one a line: https://app.example:8443"
    )
    time_zone = models.CharField(max_length=64, default="UTC")
    events_per_day = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Most events kept of one day (UTC). Empty: as many as come.",
    )
    # Retention (runs/rules/retention.py); null keeps everything.
    keep_days = models.PositiveIntegerField(null=True, blank=True)
    keep_runs = models.PositiveIntegerField(null=True, blank=True)
    # Second readings (runs/rules/second_reading.py): the dashboard's own, for runs that came without one. Empty: off.
    second_reader = models.CharField(max_length=20, blank=True)
    second_read_to = models.BigIntegerField(
        default=0, editable=False
    )  # answers opened up to here are looked at
    created_at = models.DateTimeField(auto_now_add=True)
    # Counters drawn under the lock.
    position = models.BigIntegerField(default=0, editable=False)
    row_number = models.BigIntegerField(default=0, editable=False)
    epoch = models.PositiveIntegerField(default=1, editable=False)
    words_version = models.BigIntegerField(default=1, editable=False)
    # What the allow-list did not keep.
    unknown_events = models.BigIntegerField(default=0, editable=False)
    dropped_events = models.BigIntegerField(default=0, editable=False)
    refused_events = models.BigIntegerField(default=0, editable=False)
    # Events kept of one day (days since 1970, UTC), for `events_per_day`.
    day = models.PositiveIntegerField(default=0, editable=False)
    day_events = models.PositiveBigIntegerField(default=0, editable=False)
    people = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership", related_name="projects")

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    READER = "reader", "reader"
    OPERATOR = "operator", "operator"
    ADMIN = "admin", "admin"


class Membership(models.Model):
    """One person's role in one project. What is not theirs answers 404."""

    project = models.ForeignKey(Project, models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    role = models.CharField(max_length=8, choices=Role.choices, default=Role.READER)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="one_role_a_person_and_project")
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role}"


class Token(models.Model):
    """An ingest token: shown once, kept as a SHA-256, revocable."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="tokens")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=12, editable=False)
    label = models.CharField(max_length=80, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True)
    # Limits of its own, on each server process.
    connections = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Most at once, never above the server’s.",
    )
    events_per_s = models.PositiveIntegerField(
        "events a second",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Never above the server’s limit.",
    )
    bytes_per_s = models.PositiveIntegerField(
        "bytes a second",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Never above the server’s limit.",
    )

    def __str__(self) -> str:
        return f"{self.hint}…"


class DisplayName(models.Model):
    """A tool's display name as an admin set it; append-only, the latest row wins, an empty text falls back."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="display_names")
    tool = models.CharField(max_length=512)
    text = models.CharField(max_length=60, blank=True)
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    set_at = models.DateTimeField(auto_now_add=True)
    # The project's position when it was set: what an answer's own words were "as they were when it was given".
    position = models.BigIntegerField(default=0, editable=False)

    class Meta:
        indexes = [models.Index(fields=["project", "tool", "-id"], name="display_name_latest")]

    def __str__(self) -> str:
        return self.text or "(cleared)"
