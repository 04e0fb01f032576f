"""The agent of these stories, told through the shipped sender. Its vocabulary is recognised by one mark everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runs.sender import Sender

INTERNAL = "internal_"
"""Begins every name of the model's vocabulary here; readers never meet it."""

LOOK_UP, REFUND, DELEGATE, MAIL = (INTERNAL + name for name in ("lookup_order", "refund", "delegate", "mail"))
WIRE = (LOOK_UP, REFUND, DELEGATE, MAIL)
WORDS = {LOOK_UP: "looking up the order", DELEGATE: "asking a specialist", MAIL: "writing to the customer"}
# REFUND has no words, so its calls are only counted.


class Turn:
    """One run with one question, step by step."""

    def __init__(self, sender: Sender, question: str, **about: Any) -> None:
        self.run = sender.run(
            agent_id=INTERNAL + "desk",
            session_id=INTERNAL + "session",
            provider=INTERNAL + "provider",
            model=INTERNAL + "model",
            **about,
        )
        self.run.tools_declared(WORDS)
        self.run.delegation_declared(DELEGATE, extra_tool_names=[{"name": LOOK_UP}])
        self.run.turn_start(question)

    def pick(self, *wanted: str, score: float = 0.7) -> None:
        """The classifier reads which tool, and the model is served the two it ranked highest."""
        ranked = [*wanted, *(name for name in WIRE if name not in wanted)]
        scores = [score, *((1 - score) * part for part in (0.6, 0.3, 0.1))]
        row = {
            "kind": "pick",
            "iteration": self.run.iteration + 1,
            "source": "classifier",
            "classifier": {"name": INTERNAL + "router", "model": INTERNAL + "router-2"},
            "offered": list(WIRE),
            "ranked": [{"name": n, "score": round(s, 3)} for n, s in zip(ranked, scores, strict=True)],
            "chosen": ranked[0],
            "confidence": score,
            "latencyMs": 41,
            "served": [name for name in WIRE if name in ranked[:2]],
            "narrowed": True,
        }
        self.run.tool_choice_row(row, top=2, wire=WIRE)
        self.run.llm_start(row["served"])

    def reply(self, *called: str) -> None:
        self.run.llm_end(len(called), input_tokens=900, output_tokens=60)
        row = {
            "kind": "outcome",
            "iteration": self.run.iteration,
            "called": list(called),
            "firstAgrees": True,
        }
        self.run.tool_choice_row(row if called else {**row, "firstAgrees": None})

    def call(self, tool: str = LOOK_UP, **how: Any) -> None:
        self.run.tool_end(self.run.tool_start(tool), **how)

    def step(self, tool: str = LOOK_UP, **how: Any) -> None:
        """A whole model call with its one tool call."""
        self.pick(tool)
        self.reply(tool)
        self.call(tool, **how)

    def delegate(self, products: Sequence[str]) -> None:
        """A helper is started with these tools; the roster covers LOOK_UP alone."""
        call = self.run.tool_start(DELEGATE)
        self.run.delegation_spawned(DELEGATE, [{"name": name} for name in products], call_id=call)
        self.run.tool_end(call)

    def answer(self, text: str) -> None:
        self.pick(MAIL)
        self.reply()
        self.run.turn_end(text)
        self.run.finish()

    def crash(self) -> None:
        self.run.fail()
