"""The few large answers and runs of a filled project: what the pages of one answer and one run are measured on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

ANSWERS: Final = {"ten": 10, "hundreds": 400, "two_thousand": 2_000, "ten_thousand": 10_000}
"""Answers by the number of their calls."""

MANY_ANSWERS: Final = 1_000
MANY_PARTS: Final = 3_000
MOST_STEPS: Final = 600
_MODEL_CALL: Final = (
    ("stream.llm_start", {"iteration": 1}),
    ("stream.llm_end", {"iteration": 1, "toolCallCount": 1, "durationMs": 40}),
)
OUTCOMES: Final = ("ok", "ok", "ok", "error", "ok", "not-run", "ok", "ok")


@dataclass(frozen=True, slots=True)
class Large:
    """Slugs: of the answers by the names of `ANSWERS`, of a run with many answers, of a composition of many turns."""

    answers: Mapping[str, str]
    many_answers: str
    many_parts: str


def write_large(project: Any, stream: Any, row: int, position: int, now_ms: int) -> Large:
    """Writes them after the row number, position and time given."""
    pen = _Pen(project, stream, row, position, now_ms)
    for name, calls in ANSWERS.items():
        run = pen.run(name, calls=calls)
        answer = pen.answer(run, 1, calls=calls)
        pen.steps(answer, min(calls // 3, MOST_STEPS))
        pen.calls(answer, calls)
    many = pen.run("many-answers", answers=MANY_ANSWERS, session="talk", session_slug="talk")
    for number in range(1, MANY_ANSWERS + 1):
        pen.calls(pen.answer(many, number, calls=2), 2)
    parts = pen.run("many-parts", answers=MANY_PARTS, composition="Loop:desk")
    for number in range(1, MANY_PARTS + 1):
        pen.calls(pen.answer(parts, number, calls=2, path=f"part-{number % 7}"), 2)
    pen.write()
    return find_large()


def find_large() -> Large:
    """The slugs as they are always written."""
    return Large({name: f"a-{name}-1" for name in ANSWERS}, "r-many-answers", "r-many-parts")


@dataclass
class _Pen:
    project: Any
    stream: Any
    number: int
    position: int
    now_ms: int
    rows: list[Any] = field(default_factory=list)

    def _of(self) -> dict[str, Any]:
        from runs.models import ID_BITS

        self.number += 1
        return {"id": self.project.pk << ID_BITS | self.number, "project": self.project, "epoch": 1}

    def _at(self) -> int:
        self.position += 1
        return self.position

    def run(self, name: str, **more: Any) -> Any:
        from runs import models

        at = self._at()
        values = {
            "stream": self.stream, "name": name, "slug": f"r-{name}", "agent": "agent-1", "provider": "anthropic",
            "model": "claude", "begun": "turn", "finished": True, "ending": "answered", "answers": 1,
            "first_position": at, "version": at, "opened_ms": self.now_ms, "last_ms": self.now_ms + 60_000,
            "opened_clock_ms": self.now_ms, "last_clock_ms": self.now_ms + 60_000,
        }  # fmt: skip
        run = models.Run(**self._of(), **(values | more))
        self.rows.append(run)
        return run

    def answer(self, run: Any, number: int, calls: int, path: str = "") -> Any:
        from runs import models

        asked = self._at()
        self.rows.append(
            models.Text(project=self.project, position=asked, kind="question", text=f"Question {number}?")
        )
        answered = self._at()
        self.rows.append(
            models.Text(
                project=self.project, position=answered, kind="answer", text="It left this morning. " * 20
            )
        )
        failed = sum(outcome == "error" for outcome in self._outcomes(calls))
        never_ran = sum(outcome == "not-run" for outcome in self._outcomes(calls))
        answer = models.Answer(
            **self._of(), run=run, stream=self.stream, path=path, ordinal=number - 1, number=number,
            slug=f"a-{run.name}-{number}", ending="answered", complete=True, current_run=run.id, question_at=asked,
            answer_at=answered, calls=calls, started=calls, worked=calls - failed - never_ran, failed=failed,
            never_ran=never_ran, opened_position=asked, version=answered + 30_000, opened_ms=self.now_ms,
            last_ms=self.now_ms + 60_000, ended_ms=self.now_ms + 60_000, opened_clock_ms=self.now_ms,
            ended_clock_ms=self.now_ms + 60_000, duration_ms=60_000,
        )  # fmt: skip
        self.rows += [answer, models.Leg(**self._of(), answer=answer, run=run, number=1)]
        return answer

    @staticmethod
    def _outcomes(calls: int) -> list[str]:
        return [OUTCOMES[n % len(OUTCOMES)] for n in range(calls)]

    def calls(self, answer: Any, count: int) -> None:
        from runs import models

        for number, outcome in enumerate(self._outcomes(count), start=1):
            at = self._at()
            self.rows.append(
                models.ToolCall(
                    **self._of(), answer=answer, run=answer.run, run_position=answer.run.first_position, number=number,
                    tool=f"tool_{number % 40}", call_id=f"call-{number}", state="closed", outcome=outcome, version=at,
                    opened_position=at, closed_position=at, opened_ms=self.now_ms + number * 5,
                    closed_ms=self.now_ms + number * 5 + 3, opened_clock_ms=self.now_ms + number * 5, duration_ms=3,
                )
            )  # fmt: skip

    def steps(self, answer: Any, count: int) -> None:
        """Model calls with a reading before and an outcome after each, on a menu of forty tools."""
        from runs import models

        offered = [f"tool_{n}" for n in range(40)]
        pick = {
            "kind": "pick", "source": "classifier", "classifier": {"name": "picker", "model": "small"},
            "offered": offered, "served": offered[:8], "narrowed": True, "top": 8, "chosen": "tool_1",
            "ranked": [{"name": name, "score": round(0.9 - n / 50, 3)} for n, name in enumerate(offered[:20])],
            "confidence": 0.9, "latencyMs": 40,
        }  # fmt: skip
        outcome = {"kind": "outcome", "called": ["tool_1"], "firstAgrees": True}
        for step in range(1, count + 1):
            for kind, body in (("pick", pick), ("outcome", outcome)):
                answer.choice_rows += 1
                self.rows.append(
                    models.ChoiceRow(
                        **self._of(), answer=answer, run=answer.run, number=answer.choice_rows, kind=kind, origin="row",
                        iteration=step, narrowed=kind == "pick", position=self._at(),
                        agrees=None if kind == "pick" else True, body=json.dumps(body | {"iteration": step}),
                    )
                )  # fmt: skip
            self.rows.append(
                models.ChoiceCall(
                    **self._of(), answer=answer, run=answer.run, number=answer.choice_rows - 1, iteration=step,
                    at_ms=self.now_ms + step * 90, reading="pick", reading_from="row", reply_from="row",
                    chosen="tool_1", called="tool_1", calls=1, agrees=True, confidence=0.9, narrowed=True,
                    latency_ms=40, shape="40.20.2.18", misses_to=1, sure=18,
                )
            )  # fmt: skip
            for kind, payload in _MODEL_CALL:
                self._event(answer, kind, payload, self.now_ms + step * 90)
        answer.llm_calls = count

    def _event(self, answer: Any, kind: str, payload: dict[str, Any], clock_ms: int) -> None:
        from runs import models

        at = self._at()
        body = {"m": {"runId": answer.run.name, "wallClockMs": clock_ms}, "p": payload}
        self.rows.append(
            models.KeptEvent(
                id=self.project.pk << models.ID_BITS | at, project=self.project, stream=self.stream, seq=at, type=kind,
                run=answer.run.name, received_ms=clock_ms, body=json.dumps(body),
            )
        )  # fmt: skip

    def write(self) -> None:
        from runs import models

        for model in (
            models.Run, models.Answer, models.Leg, models.ToolCall, models.ChoiceRow, models.ChoiceCall,
            models.KeptEvent, models.Text,
        ):  # fmt: skip
            model.objects.bulk_create([row for row in self.rows if type(row) is model], batch_size=500)
