"""The one shape in which every classifier answers (`rules.tool_choice.Classifier`), and how it reads its question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs.rules.tool_choice import TOOL_CHOICE_QUESTION, ChoiceQuestion, ClassifyRequest


def question_of(request: ClassifyRequest) -> ChoiceQuestion:
    return request.questions[TOOL_CHOICE_QUESTION]


def reply_of(
    model: str,
    choice: str | None,
    confidence: float | None,
    probabilities: Mapping[str, float],
    usage: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Decoded JSON. Without a confidence the reading is no usable one, and the caller says so: nothing is made up."""
    answer = {
        "type": "choice",
        "choice": choice,
        "confidence": confidence,
        "probabilities": dict(probabilities),
    }
    reply: dict[str, Any] = {"model": model, "answers": {TOOL_CHOICE_QUESTION: answer}}
    if usage is not None:
        reply["usage"] = dict(usage)
    return reply
