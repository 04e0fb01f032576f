"""A small record, written straight as rows: what every page's story reads until a story brings its own events.

    sample = make(people)            every kind of answer in Northwind, oldest first
    sample["named"].answer           see NAMES

Registered names, ids and other words of the model's side hold the marker ``_zz``, so that a test can look for it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db.models import F

from runs import models
from runs.models import ID_BITS, Project

__all__ = ["NAMES", "Drawn", "Pen", "Story", "make", "sample"]

BEGAN_MS = 1_790_000_000_000  # 21 September 2026, 14:13:20 UTC
MODELS_SIDE = "_zz"  # ends every registered name, id, agent, model and provider; no random token has a "_"

NAMES = (
    "named",  # answered; one named call worked twice, one named failed, one without a name never ran
    "asked",  # asked a person and waits, with a paused call
    "stopped",  # stopped early; calls were asked for and never sent out
    "silent",  # no word since, with an open call
    "failed",  # failed, then:
    "retry",  # a retry of it, which began unseen
    "parts",  # a composition of two answers
    "bare",  # a run without turns
    "choices",  # tool choice: narrowed, too few, after a miss, no ranking; one spawn with a violation
    "running",  # at work, with an open call and an open model call
)
LOOK_UP, REFUND, SECRET, DELEGATE = "lookup_order_zz", "refund_zz", "purge_zz", "delegate_zz"


@dataclass(frozen=True, slots=True)
class Story:
    run: models.Run
    answers: tuple[models.Answer, ...]

    @property
    def answer(self) -> models.Answer:
        return self.answers[0]


Drawn = dict[str, Story]


@dataclass
class Pen:
    """Writes rows of one project, giving positions, row numbers and times as the writer would."""

    project: Project
    stream: models.Stream
    now_ms: int = BEGAN_MS
    position: int = 0
    number: int = 0
    counts: dict[int, int] = field(default_factory=dict)

    def at(self) -> int:
        self.position += 1
        return self.position

    def row(self) -> dict[str, Any]:
        self.number += 1
        return {
            "id": self.project.id << ID_BITS | self.number,
            "project": self.project,
            "epoch": self.project.epoch,
        }

    def next_number(self, answer: models.Answer) -> int:
        self.counts[answer.id] = self.counts.get(answer.id, 0) + 1
        return self.counts[answer.id]

    def run(self, name: str, **more: Any) -> models.Run:
        self.now_ms += 60_000
        at = self.at()
        values = {
            "stream": self.stream,
            "name": f"run-{name}-{self.number}_zz",
            "slug": f"r{self.number:04d}{name}"[:26],
            "session": "session_zz",
            "session_slug": "s0001desk",
            "agent": "agent_zz",
            "provider": "provider_zz",
            "model": "model_zz",
            "begun": "turn",
            "finished": True,
            "first_position": at,
            "version": at,
            "opened_ms": self.now_ms,
            "last_ms": self.now_ms + 4_200,
            "opened_clock_ms": self.now_ms,
            "last_clock_ms": self.now_ms + 4_200,
        }
        return models.Run.objects.create(**self.row(), **(values | more))

    def answer(self, run: models.Run, question: str | None, text: str | None, **more: Any) -> models.Answer:
        number = run.answers + 1
        at = self.at()
        ended = more.get("ending", "answered") not in ("running", "silent", "asked")
        values = {
            "run": run,
            "stream": run.stream,
            "number": number,
            "ordinal": number - 1,
            "slug": f"a{run.slug}-{number}"[:26],
            "session": run.session,
            "ending": "answered",
            "current_run": run.id,
            "question_at": self.say("question", question),
            "answer_at": self.say("answer", text),
            "complete": ended and not more.get("reasons"),
            "opened_position": at,
            "version": at,
            "opened_ms": run.opened_ms + 1_000 * number,
            "last_ms": run.last_ms,
            "ended_ms": run.last_ms if ended else None,
            "opened_clock_ms": run.opened_ms + 1_000 * number,
            "ended_clock_ms": run.last_ms if ended else None,
            "duration_ms": run.last_ms - run.opened_ms - 1_000 * number if ended else None,
            "iteration": 2,
            "llm_calls": 2,
            "input_tokens": 1_840,
            "output_tokens": 212,
        }
        answer = models.Answer.objects.create(**self.row(), **(values | more))
        models.Leg.objects.create(**self.row(), answer=answer, run=run, number=1)
        run.answers = number
        run.ending = answer.ending
        run.incomplete += bool(ended and not answer.complete)
        run.save()
        return answer

    def say(self, kind: str, text: str | None) -> int | None:
        if text is None:
            return None
        at = self.at()
        models.Text.objects.create(project=self.project, position=at, kind=kind, text=text)
        return at

    def call(
        self, answer: models.Answer, tool: str | None, outcome: str = "ok", **more: Any
    ) -> models.ToolCall:
        number = self.next_number(answer)
        opened = answer.opened_ms + 300 * number
        at = self.at()
        is_open = outcome == "open"
        values = {
            "answer": answer,
            "run_id": answer.current_run,
            "run_position": answer.run.first_position,
            "number": number,
            "tool": tool,
            "call_id": f"call-{number}_zz",
            "state": "open" if is_open else "closed",
            "outcome": outcome,
            "not_run": outcome == "not-run",
            "iteration": 1,
            "opened_position": at,
            "closed_position": None if is_open else self.at(),
            "version": at,
            "opened_ms": opened,
            "closed_ms": None if is_open else opened + 240,
            "opened_clock_ms": opened,
            "duration_ms": None if is_open or outcome == "not-run" else 240,
        }
        call = models.ToolCall.objects.create(**self.row(), **(values | more))
        counter = {"ok": "worked", "error": "failed", "not-run": "never_ran", "open": "open"}[outcome]
        setattr(answer, counter, getattr(answer, counter) + 1)
        answer.calls += 1
        answer.started += 1
        answer.save()
        run = models.Run.objects.get(id=answer.run_id)
        run.calls += 1
        run.failed_calls += outcome == "error"
        run.save()
        return call

    def choice(
        self, answer: models.Answer, kind: str, iteration: int, body: dict[str, Any], **more: Any
    ) -> None:
        number = answer.choice_rows + 1
        body = {"kind": kind, "iteration": iteration} | body
        models.ChoiceRow.objects.create(
            **self.row(),
            answer=answer,
            run_id=answer.current_run,
            number=number,
            kind=kind,
            origin="row",
            iteration=iteration,
            position=self.at(),
            body=json.dumps(body),
            **more,
        )
        answer.choice_rows = number
        answer.save()

    def counted(self, answer: models.Answer, iteration: int, **said: Any) -> None:
        """The same call as it is counted."""
        models.ChoiceCall.objects.create(
            **self.row(),
            answer=answer,
            run_id=answer.current_run,
            number=2 * iteration - 1,
            iteration=iteration,
            at_ms=answer.opened_ms + 100 * iteration,
            **said,
        )

    def sees(self, *tools: str) -> None:
        for tool in tools:
            models.SeenName.objects.create(
                **self.row(), name=tool, tool=True, calls=1, first_position=self.at(), last_ms=self.now_ms
            )
        self.bump_words()

    def declares(self, tool: str, words: str) -> None:
        models.DeclaredName.objects.create(
            **self.row(), stream=self.stream, tool=tool, text=words, position=self.at()
        )
        self.bump_words()

    def bump_words(self) -> None:
        Project.objects.filter(id=self.project.id).update(words_version=F("words_version") + 1)

    def done(self) -> None:
        Project.objects.filter(id=self.project.id).update(position=self.position, row_number=self.number)
        self.project.refresh_from_db()


def pen_for(project: Project) -> Pen:
    stream = models.Stream.objects.create(
        project=project, name=f"desk-{project.key}_zz", instance="one", opened_ms=BEGAN_MS, last_ms=BEGAN_MS
    )
    return Pen(project, stream)


def make(project: Project) -> Drawn:
    """Writes the sample into the project."""
    pen = pen_for(project)
    pen.sees(LOOK_UP, REFUND, SECRET, DELEGATE)
    pen.declares(LOOK_UP, "Looking up the order")
    pen.declares(REFUND, "Refunding the customer")
    drawn: Drawn = {}

    run = pen.run("named")
    answer = pen.answer(run, "Where is my order NW-77?\nI am waiting.", "It left the warehouse this morning.")
    pen.call(answer, LOOK_UP)
    pen.call(answer, LOOK_UP)
    pen.call(answer, REFUND, "error")
    pen.call(answer, SECRET, "not-run")
    drawn["named"] = Story(run, (answer,))

    run = pen.run("asked", finished=False)
    answer = pen.answer(
        run, "Refund order NW-78, please.", None, ending="asked", reasons="not-ended,still-open"
    )
    pen.call(answer, REFUND, "open", state="paused")
    drawn["asked"] = Story(run, (answer,))

    run = pen.run("stopped")
    answer = pen.answer(
        run, "Compare all our suppliers.", "I could compare two of them.", ending="stopped-early",
        reasons="undispatched", stop_reason="max-iterations", stop_iteration=5, undispatched=2, requested=3,
    )  # fmt: skip
    pen.call(answer, LOOK_UP)
    drawn["stopped"] = Story(run, (answer,))

    run = pen.run("silent", finished=False)
    answer = pen.answer(
        run, "How many chairs are left?", None, ending="silent", reasons="not-ended,still-open"
    )
    pen.call(answer, LOOK_UP, "open")
    drawn["silent"] = Story(run, (answer,))

    run = pen.run("failed")
    answer = pen.answer(run, "Cancel my subscription.", None, ending="failed")
    pen.call(answer, SECRET, "error")
    drawn["failed"] = Story(run, (answer,))

    failed = run
    run = pen.run("retry", retry_of=failed.id, previous=failed.id, begun="unseen")
    answer = pen.answer(
        run, "Cancel my subscription.", "Your subscription ends today.", reasons="not-observed"
    )
    pen.call(answer, SECRET)
    drawn["retry"] = Story(run, (answer,))

    run = pen.run("parts", composition="Sequence:pipeline_zz")
    first = pen.answer(run, "Summarise the three returns.", "Three chairs came back.", path="first_zz")
    second = pen.answer(run, "Three chairs came back.", "We owe three refunds.", path="second_zz")
    pen.call(first, LOOK_UP)
    drawn["parts"] = Story(run, (first, second))

    drawn["bare"] = Story(pen.run("bare", begun="models", session="", session_slug=""), ())

    drawn["choices"] = _choices(pen)

    run = pen.run("running", finished=False, session="session-two_zz", session_slug="s0002web")
    answer = pen.answer(
        run, "Is the red chair in stock?", None, ending="running", reasons="not-ended,still-open", open_llm=1
    )
    pen.call(answer, LOOK_UP)
    pen.call(answer, REFUND, "open")
    drawn["running"] = Story(run, (answer,))

    pen.done()
    return drawn


def _choices(pen: Pen) -> Story:
    run = pen.run("choices", skipped="after-miss,too-few,unavailable", missed=1, violations=1, llm_seen=4)
    answer = pen.answer(
        run, "Find the cheapest oak table.", "The oak table from Lindholm is the cheapest.",
        narrowed=1, missed=1, skipped="after-miss,too-few,unavailable", spawns=1, violations=1, llm_calls=4,
        iteration=4,
    )  # fmt: skip
    offered = [LOOK_UP, REFUND, SECRET]
    pick = {
        "source": "classifier",
        "classifier": {"name": "classifier_zz", "model": "small_zz"},
        "offered": offered,
        "ranked": [
            {"name": LOOK_UP, "score": 0.81},
            {"name": REFUND, "score": 0.12},
            {"name": SECRET, "score": 0.04},
        ],
        "chosen": LOOK_UP,
        "confidence": 0.81,
        "latencyMs": 38,
        "served": [LOOK_UP, REFUND],
        "narrowed": True,
        "top": 2,
    }
    pen.choice(answer, "pick", 1, pick, narrowed=True)
    miss = {"called": [SECRET], "firstAgrees": False, "miss": {"wanted": [SECRET]}}
    pen.choice(answer, "outcome", 1, miss, missed=True, agrees=False)
    full = pick | {"served": offered, "narrowed": False}
    pen.choice(answer, "pick", 2, full | {"narrowedSkipped": "after-miss"}, skipped="after-miss")
    pen.choice(answer, "outcome", 2, {"called": [LOOK_UP], "firstAgrees": True}, agrees=True)
    pen.choice(answer, "pick", 3, full | {"narrowedSkipped": "too-few"}, skipped="too-few")
    pen.choice(answer, "outcome", 3, {"called": []})
    error = {
        "source": "classifier", "classifier": {"name": "classifier_zz"}, "status": 503, "latencyMs": 2_000,
        "served": offered, "narrowedSkipped": "unavailable",
    }  # fmt: skip
    pen.choice(answer, "pick-error", 4, error, skipped="unavailable")
    read = {"reading": "pick", "reading_from": "row", "chosen": LOOK_UP, "confidence": 0.81, "latency_ms": 38}
    told = read | {"reply_from": "row", "sure": 16}
    pen.counted(
        answer,
        1,
        **told,
        called=SECRET,
        calls=1,
        agrees=False,
        narrowed=True,
        missed=True,
        shape="3.3.3.16",
        misses_to=2,
    )
    pen.counted(
        answer, 2, **told, called=LOOK_UP, calls=1, agrees=True, skipped="after-miss", shape="3.3.1.16/2.16"
    )
    pen.counted(answer, 3, **told, skipped="too-few", shape="3.3.0.16")
    pen.counted(answer, 4, reading="pick-error", reading_from="row", latency_ms=2_000, skipped="unavailable")
    pen.call(answer, LOOK_UP)
    pen.call(answer, DELEGATE)

    roster = models.Roster.objects.create(
        **pen.row(), stream=pen.stream, run=run, tool=DELEGATE, position=pen.at(), has_factory=True,
        entries=json.dumps([{"name": "notes_zz", "contentOrigin": "workspace"}]), static_pool="[]", inherited="[]",
    )  # fmt: skip
    spawn = models.Spawn.objects.create(
        **pen.row(), stream=pen.stream, run=run, answer=answer, roster=roster.id, tool=DELEGATE,
        call_id="call-2_zz", child_run="child_zz", position=pen.at(), received_ms=answer.opened_ms + 900,
        products=json.dumps([{"name": "notes_zz", "contentOrigin": "internal"}, {"name": "web_zz"}]), violations=1,
    )  # fmt: skip
    models.Violation.objects.create(
        **pen.row(), stream=pen.stream, run=run, answer=answer, spawn=spawn, tool=DELEGATE, reason="undeclared_name",
        offender="web_zz", sentence="delegate_zz injected web_zz; its roster declares notes_zz.", position=pen.at(),
        received_ms=answer.opened_ms + 900,
    )  # fmt: skip
    run.refresh_from_db()
    return Story(run, (answer,))


@pytest.fixture
def sample(people: Any) -> Drawn:
    return make(people.northwind)
