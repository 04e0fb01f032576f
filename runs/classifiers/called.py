"""A function of the app's own as a classifier."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from math import isfinite
from typing import Any

from runs.classifiers.reply import question_of, reply_of
from runs.rules.tool_choice import ClassifyRequest

Scores = Mapping[str, float]


class Called:
    """`function(message, {name: description})` gives a score a tool, 0 to 1, or awaits one; a tool may be left out.

    The highest is the choice, and its score the confidence: the function says so by its scores. What it raises is a
    reading that failed.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[str, Mapping[str, str]], Scores | Awaitable[Scores]],
        model: str = "",
    ) -> None:
        self.name = name
        self.model = model
        self._function = function

    async def classify(self, request: ClassifyRequest, /) -> dict[str, Any]:
        given = self._function(request.state.get("userMessage", ""), question_of(request).criteria)
        said = await given if isawaitable(given) else given
        scores = {name: score for name, score in (said or {}).items() if _is_number(score)}
        if not scores:
            return reply_of(self.model, None, 0.0, {})
        best = max(scores, key=lambda name: scores[name])
        return reply_of(self.model, best, scores[best], scores)


def _is_number(score: object) -> bool:
    return isinstance(score, int | float) and not isinstance(score, bool) and isfinite(score)
