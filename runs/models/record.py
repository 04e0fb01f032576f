"""The record: made from events and notes by `record/fold.py`, one *epoch* at a time; remade by `manage.py rebuild`."""

from __future__ import annotations

from django.db import models
from django.db.models import Case, Value, When
from django.db.models.functions import Concat

from runs.models.came_in import Stream
from runs.models.people import Project
from runs.rules.vocabulary import Ending


class RecordRow(models.Model):
    """Base of every row the fold makes. `project` and `epoch` say whose, and which making of it.

    A deleted run and its answers wait in the epoch `LEAVING + epoch` until all that hangs on them is cleared.
    """

    id = models.BigAutoField(primary_key=True)  # project.id << 40 | row number
    project = models.ForeignKey(
        Project, models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )
    epoch = models.PositiveIntegerField()

    class Meta:
        abstract = True


class StreamMemory(RecordRow):
    """What the fold remembers of a stream: holes seen, numbered or not, the last run of each agent."""

    stream = models.ForeignKey(Stream, models.CASCADE, db_index=False, db_constraint=False, related_name="+")
    gap = models.BooleanField(default=False)
    unnumbered = models.BooleanField(default=False)
    unmatched = models.BigIntegerField(default=0)
    last_runs = models.TextField(default="{}")  # JSON: agent id ("" unrecorded) -> id of its latest Run row

    class Meta:
        constraints = [models.UniqueConstraint(fields=["stream", "epoch"], name="one_memory_a_stream")]


class Waiting(RecordRow):
    """What waits for a later event: a pause that fits several calls, a decision for a call not yet found."""

    stream = models.ForeignKey(Stream, models.CASCADE, db_constraint=False, related_name="+")
    kind = models.CharField(max_length=10)  # pause, decision
    run = models.CharField(max_length=256, blank=True)
    path = models.CharField(max_length=500, blank=True)
    call_id = models.CharField(max_length=256, null=True)
    tool = models.CharField(max_length=256, null=True)
    not_run = models.BooleanField(default=False)
    position = models.BigIntegerField()


FACETS = {"f": "failed_calls", "i": "incomplete", "m": "missed", "v": "violations"}
"""A run's facets are ``ending|letters|skipped``: a letter for each of these columns that is not 0."""


class Run(RecordRow):
    """One `run()` of an agent on one stream."""

    stream = models.ForeignKey(Stream, models.CASCADE, db_index=False, db_constraint=False, related_name="+")
    name = models.CharField(max_length=256)  # the runId as sent
    slug = models.CharField(max_length=26)  # keyed hash, for URLs
    session = models.CharField(max_length=256, blank=True)
    session_slug = models.CharField(max_length=26, blank=True)
    agent = models.CharField(max_length=256, blank=True)
    provider = models.CharField(max_length=256, blank=True)
    model = models.CharField(max_length=256, blank=True)
    principal = models.CharField(max_length=256, blank=True)
    tenant = models.CharField(max_length=256, blank=True)
    trace = models.CharField(max_length=256, blank=True)
    composition = models.CharField(
        max_length=300, blank=True
    )  # "Sequence:pipeline" of the outermost, operators only
    begun = models.CharField(
        max_length=8, blank=True
    )  # "", models, turn, leg, unseen: what its first word was
    finished = models.BooleanField(default=False)
    gap = models.BooleanField(default=False)
    llm_seen = models.BigIntegerField(default=0)
    late = models.BigIntegerField(default=0)
    leg_of = models.BigIntegerField(null=True)  # Answer row this run continues
    previous = models.BigIntegerField(null=True)  # Run row before it of the same (or an unrecorded) agent
    retry_of = models.BigIntegerField(null=True)
    ending = models.CharField(max_length=16, default=Ending.RUNNING.value)  # of its latest answer
    answers = models.BigIntegerField(default=0)
    calls = models.BigIntegerField(default=0)
    failed_calls = models.BigIntegerField(default=0)
    incomplete = models.BigIntegerField(default=0)  # answers that are ended and incomplete
    missed = models.BigIntegerField(default=0)
    violations = models.BigIntegerField(default=0)
    skipped = models.CharField(max_length=60, blank=True)  # narrowing reasons seen, comma separated, sorted
    first_position = models.BigIntegerField()
    version = models.BigIntegerField()  # position of the last event or note that changed it
    opened_ms = models.BigIntegerField()
    last_ms = models.BigIntegerField()
    ended_ms = models.BigIntegerField(null=True)
    opened_clock_ms = models.BigIntegerField(null=True)
    last_clock_ms = models.BigIntegerField(null=True)
    # Made by the database: everything yes-or-no that a list is narrowed by, in one word (store/run_search.py).
    facets = models.GeneratedField(
        expression=Concat(
            "ending",
            Value("|"),
            *(
                Case(When(**{f"{column}__gt": 0}, then=Value(letter)), default=Value(""))
                for letter, column in FACETS.items()
            ),
            Value("|"),
            "skipped",
        ),
        output_field=models.CharField(max_length=100),
        db_persist=True,
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["stream", "name", "epoch"], name="one_run_a_stream_and_name"),
            models.UniqueConstraint(fields=["project", "slug", "epoch"], name="one_run_a_slug"),
        ]
        # What each is for: docs/decisions/011-reading-at-a-million.md. A leg has no line in the list.
        indexes = [
            models.Index(
                fields=["project", "epoch", "-first_position"],
                name="run_list",
                condition=models.Q(leg_of=None),
            ),
            models.Index(
                fields=["project", "epoch", "facets", "-first_position"],
                name="run_facets",
                condition=models.Q(leg_of=None),
            ),
            models.Index(
                fields=["project", "epoch", "session_slug", "-first_position"],
                name="run_session",
                condition=models.Q(leg_of=None),
            ),
            models.Index(fields=["project", "epoch", "opened_ms", "first_position"], name="run_opened"),
            # a deletion's: who points at what goes
            models.Index(fields=["previous"], name="run_after", condition=models.Q(previous__isnull=False)),
            models.Index(fields=["retry_of"], name="run_retry", condition=models.Q(retry_of__isnull=False)),
        ]


class Answer(RecordRow):
    """One turn of a run and what it ended in. `reasons` are the incomplete reasons, comma separated, sorted."""

    run = models.ForeignKey(
        Run, models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )  # the first leg's run
    stream = models.ForeignKey(
        Stream, models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )  # of the latest leg
    path = models.CharField(max_length=500, blank=True)
    ordinal = models.PositiveIntegerField(default=0)
    number = models.PositiveIntegerField(default=1)  # its place in the run, from 1
    slug = models.CharField(max_length=26)
    session = models.CharField(max_length=256, blank=True)
    ending = models.CharField(max_length=16)
    stop_reason = models.CharField(max_length=20, blank=True)
    stop_iteration = models.BigIntegerField(null=True)
    reasons = models.CharField(max_length=160, blank=True)
    sticky = models.CharField(max_length=160, blank=True)  # the reasons that were reached and stay
    complete = models.BooleanField(default=False)
    late = models.BooleanField(default=False)
    refused_evidence = models.BooleanField(default=False)
    replaced = models.BooleanField(default=False)  # the text delivered may have been replaced
    legs = models.PositiveIntegerField(default=1)
    current_run = models.BigIntegerField()  # Run row of the latest leg
    question_at = models.BigIntegerField(null=True)  # position whose Text is the question
    answer_at = models.BigIntegerField(null=True)
    iteration = models.BigIntegerField(default=0)
    requested = models.BigIntegerField(default=0)
    started = models.BigIntegerField(default=0)
    undispatched = models.BigIntegerField(default=0)
    llm_calls = models.BigIntegerField(default=0)
    open_llm = models.BigIntegerField(default=0)
    calls = models.BigIntegerField(default=0)
    worked = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0)
    never_ran = models.BigIntegerField(default=0)
    open = models.BigIntegerField(default=0)
    unlisted = models.BigIntegerField(default=0)
    unlisted_open = models.BigIntegerField(default=0)
    choice_rows = models.BigIntegerField(default=0)
    narrowed = models.BigIntegerField(default=0)
    missed = models.BigIntegerField(default=0)
    skipped = models.CharField(max_length=60, blank=True)
    spawns = models.BigIntegerField(default=0)
    violations = models.BigIntegerField(default=0)
    host_check = models.CharField(max_length=8, blank=True)  # "", agrees, differs
    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    duration_ms = models.BigIntegerField(null=True)
    opened_position = models.BigIntegerField()
    version = models.BigIntegerField()
    opened_ms = models.BigIntegerField()
    last_ms = models.BigIntegerField()
    ended_ms = models.BigIntegerField(null=True)
    opened_clock_ms = models.BigIntegerField(null=True)
    ended_clock_ms = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "path", "ordinal"], name="one_answer_a_turn"),
            models.UniqueConstraint(fields=["project", "slug", "epoch"], name="one_answer_a_slug"),
        ]
        indexes = [
            # the writer's and the sweeper's: what is not ended on a stream
            models.Index(
                fields=["stream", "epoch", "last_ms"],
                name="answer_not_ended",
                condition=models.Q(ending__in=["running", "asked", "silent"]),
            ),
            # the turns a run of the same session may go on with, on whatever stream
            models.Index(
                fields=["project", "session"],
                name="answer_session",
                condition=models.Q(ending__in=["running", "asked", "silent"]) & ~models.Q(session=""),
            ),
            models.Index(fields=["project", "epoch", "-opened_position"], name="answer_list"),
        ]


class Leg(RecordRow):
    """One run's share of an answer; number 1 is the run that opened it."""

    answer = models.ForeignKey(Answer, models.CASCADE, db_index=False, db_constraint=False, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, db_constraint=False, related_name="+")
    number = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["answer", "run"], name="one_leg_a_run")]


class ToolCall(RecordRow):
    """One call, a row of the answer's ledger. `tool` null: an end came and no start (a row without a name)."""

    answer = models.ForeignKey(Answer, models.CASCADE, db_index=False, db_constraint=False, related_name="+")
    run = models.ForeignKey(
        Run, models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )  # the leg it started in
    run_position = models.BigIntegerField(default=0)  # where the run of its answer stands in the list
    number = models.PositiveIntegerField()  # its place in the answer, from 1
    path = models.CharField(max_length=500, blank=True)
    tool = models.CharField(max_length=256, null=True)
    call_id = models.CharField(max_length=256)
    state = models.CharField(max_length=8)  # open, paused, closed
    outcome = models.CharField(max_length=8)  # ok, error, not-run, open
    not_run = models.BooleanField(default=False)  # a decision or the bracket says that it never ran
    erred = models.BooleanField(default=False)  # refused arguments or result
    status = models.CharField(max_length=10, blank=True)  # the tool's own word
    late = models.BooleanField(default=False)
    iteration = models.BigIntegerField(default=0)
    opened_position = models.BigIntegerField(null=True)
    closed_position = models.BigIntegerField(null=True)
    version = models.BigIntegerField()
    opened_ms = models.BigIntegerField(null=True)
    closed_ms = models.BigIntegerField(null=True)
    opened_clock_ms = models.BigIntegerField(null=True)
    duration_ms = models.BigIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["answer", "number"], name="one_call_a_place")]
        indexes = [
            models.Index(fields=["project", "epoch", "tool", "-run_position"], name="call_tool"),
            models.Index(
                fields=["run", "call_id"],
                name="call_not_closed",
                condition=~models.Q(state="closed") | models.Q(tool__isnull=True),
            ),
        ]


class ChoiceRow(RecordRow):
    """One tool-choice row of an answer. `body` is the kept row as JSON; `origin` row (full) or event (counts only)."""

    answer = models.ForeignKey(Answer, models.CASCADE, db_index=False, db_constraint=False, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, db_index=False, db_constraint=False, related_name="+")
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=10)  # pick, pick-error, outcome
    origin = models.CharField(max_length=5)  # row, event
    iteration = models.BigIntegerField()
    narrowed = models.BooleanField(default=False)
    skipped = models.CharField(max_length=12, blank=True)
    missed = models.BooleanField(default=False)
    agrees = models.BooleanField(null=True)
    position = models.BigIntegerField()
    body = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["answer", "number"], name="one_choice_row_a_place")]


class ChoiceCall(RecordRow):
    """One model call as its tool-choice rows tell it: the reading before it, the outcome after it. For counting.

    Narrow on purpose: pages count over a million of these. `number` is the place of its first row among the answer's.
    """

    answer = models.ForeignKey(Answer, models.CASCADE, db_index=False, db_constraint=False, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, db_index=False, db_constraint=False, related_name="+")
    number = models.PositiveIntegerField()
    iteration = models.BigIntegerField()
    at_ms = models.BigIntegerField()  # when its first row was received
    reading = models.CharField(max_length=10, blank=True)  # "", pick, pick-error
    reading_from = models.CharField(max_length=5, blank=True)  # "", row (full), event (counts only)
    reply_from = models.CharField(max_length=5, blank=True)  # the same of its outcome; "": none is on record
    chosen = models.CharField(max_length=256, null=True)
    called = models.CharField(max_length=256, null=True)  # the first that was called
    calls = models.PositiveIntegerField(default=0)
    agrees = models.BooleanField(null=True)
    confidence = models.FloatField(null=True)
    narrowed = models.BooleanField(default=False)
    skipped = models.CharField(max_length=12, blank=True)
    missed = models.BooleanField(default=False)
    latency_ms = models.BigIntegerField(null=True)
    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    shape = models.TextField(blank=True)  # rules/choice_replay.py; "": it cannot be replayed
    misses_to = models.PositiveIntegerField(default=0)  # of the shape
    sure = models.PositiveSmallIntegerField(default=0)  # of the shape
    menu = models.TextField(blank=True)  # until its outcome comes: what the shape is made of, as JSON

    class Meta:
        indexes = [models.Index(fields=["answer", "iteration"], name="choice_call_answer")]


class SecondReading(models.Model):
    """What a classifier of the dashboard's made of one model call, after the fact. Apart from the run's own rows.

    It hangs on what no rebuild changes: the answer's slug and the position of the model call's start.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    answer = models.CharField(max_length=26)  # slug
    position = models.BigIntegerField()
    iteration = models.BigIntegerField()
    reader = models.CharField(max_length=20)
    made_ms = models.BigIntegerField()
    body = models.TextField()  # a pick or pick-error of rules/tool_choice.py as JSON, its source "dashboard"

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "answer", "position", "reader"], name="one_second_reading"
            )
        ]

    def __str__(self) -> str:
        return f"{self.reader} {self.answer}"


class Roster(RecordRow):
    """A delegation tool's declaration: its roster (or why it is not one), its pool's parts."""

    stream = models.ForeignKey(Stream, models.CASCADE, db_index=False, db_constraint=False, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, null=True, db_constraint=False, related_name="+")
    tool = models.CharField(max_length=256)
    position = models.BigIntegerField()
    has_factory = models.BooleanField(default=False)
    entries = models.TextField(null=True)  # JSON [{name, aliases?, contentOrigin?}]; null: no roster declared
    static_pool = models.TextField(null=True)
    inherited = models.TextField(null=True)
    reason = models.CharField(max_length=20, blank=True)  # shape
    sentence = models.CharField(max_length=300, blank=True)

    class Meta:
        indexes = [models.Index(fields=["stream", "epoch", "tool", "position"], name="roster_latest")]


class Spawn(RecordRow):
    """One delegation that injected tools, or the host's own refusal of one (`refused`)."""

    stream = models.ForeignKey(Stream, models.CASCADE, db_index=False, db_constraint=False, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, null=True, db_constraint=False, related_name="+")
    answer = models.ForeignKey(Answer, models.CASCADE, null=True, db_constraint=False, related_name="+")
    roster = models.BigIntegerField(null=True)  # the Roster row it was judged by; null: none was declared
    tool = models.CharField(max_length=256)
    call_id = models.CharField(max_length=256, null=True)
    child_run = models.CharField(max_length=256, null=True)
    products = models.TextField(default="[]")  # JSON [{name, aliases?, contentOrigin?}]
    denied = models.TextField(null=True)  # JSON [name]
    refused = models.BooleanField(default=False)
    refused_reason = models.CharField(max_length=20, blank=True)
    violations = models.PositiveIntegerField(default=0)
    position = models.BigIntegerField()
    received_ms = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["project", "epoch", "tool", "position"], name="spawn_tool")]


class Violation(RecordRow):
    """A product the roster does not cover, or a roster that is not one (`spawn` null)."""

    stream = models.ForeignKey(Stream, models.CASCADE, db_index=False, db_constraint=False, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, null=True, db_constraint=False, related_name="+")
    answer = models.ForeignKey(Answer, models.CASCADE, null=True, db_constraint=False, related_name="+")
    spawn = models.ForeignKey(Spawn, models.CASCADE, null=True, db_constraint=False, related_name="+")
    tool = models.CharField(max_length=256)
    reason = models.CharField(max_length=20)
    offender = models.CharField(max_length=256, blank=True)  # the product's name
    sentence = models.CharField(max_length=1200)
    position = models.BigIntegerField()
    received_ms = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["project", "epoch", "tool", "-position"], name="violation_tool")]


class SeenName(RecordRow):
    """A registered name (or alias) this project's agents use. What readers must never see."""

    name = models.CharField(max_length=256)
    alias = models.BooleanField(default=False)
    tool = models.BooleanField(default=False)  # it was offered, called or declared as a tool of its own
    calls = models.BigIntegerField(default=0)
    first_position = models.BigIntegerField()
    last_ms = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name", "epoch"], name="one_seen_name")]


class DeclaredName(RecordRow):
    """A display name as the app declared it; append-only, the latest wins. A refused one keeps its problem only."""

    stream = models.ForeignKey(Stream, models.CASCADE, db_constraint=False, related_name="+")
    tool = models.CharField(max_length=256)
    text = models.CharField(max_length=60, blank=True)
    problem = models.CharField(max_length=300, blank=True)
    position = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["project", "epoch", "tool", "-position"], name="declared_latest")]
