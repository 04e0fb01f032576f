"""Tools ranked by the words that their names and descriptions share with the message. Nothing is loaded or sent.

Scores are BM25's (library: bm25s). They become a distribution by softmax: ``exp(score / temperature)`` over their sum.
So the shares say how far the words tell the tools apart, not how often the reading is right: the calibration on the
Tool choice page says that. A message of which no word is known ranks nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from math import exp
from typing import Any, Final

import bm25s

from runs.classifiers.reply import question_of, reply_of
from runs.rules.tool_choice import ClassifyRequest

# It sets itself to tell every index that is built, in whatever log an agent keeps.
logging.getLogger("bm25s").setLevel(logging.WARNING)

MOST_MENUS: Final = 16  # a run's menus differ little: each is indexed once
# look_up, lookUp and HTTPServer are words run together.
_WORDS: Final = re.compile(r"[^\W\d_]+?(?=[A-Z][a-z])|[^\W\d_]+?(?<=[a-z])(?=[A-Z])|[^\W\d_]+|\d+")


def words_of(text: str) -> list[str]:
    """Lower-case words; names are taken apart at ``_``, digits and capitals, and a last *s* is left out."""
    found = (word.lower() for word in _WORDS.findall(text))
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
        for word in found
    ]


class Lexical:
    """A classifier that needs only the tools' own words. `temperature`: above 1 shares are more even, below less."""

    name = "lexical"
    model = "bm25"

    def __init__(self, temperature: float = 1.0) -> None:
        if not temperature > 0:
            raise ValueError("The temperature must be above 0.")
        self.temperature = temperature
        self._indexes: dict[tuple[tuple[str, str], ...], tuple[bm25s.BM25, frozenset[str]]] = {}

    async def classify(self, request: ClassifyRequest, /) -> dict[str, Any]:
        criteria = question_of(request).criteria
        scores = self.scores(request.state.get("userMessage", ""), criteria)
        if not scores:
            return reply_of(self.model, None, 0.0, {})
        shares = _shares(scores, self.temperature)
        best = max(shares, key=lambda name: shares[name])  # the first of equals
        return reply_of(self.model, best, shares[best], shares)

    def scores(self, message: str, criteria: Mapping[str, str]) -> dict[str, float]:
        """BM25 of each tool, in offered order; empty where no word of the message stands in any of them."""
        if not criteria:
            return {}
        index, known = self._index(criteria)
        words = [word for word in words_of(message) if word in known]
        if not words:
            return {}
        return dict(zip(criteria, map(float, index.get_scores(words)), strict=True))

    def _index(self, criteria: Mapping[str, str]) -> tuple[bm25s.BM25, frozenset[str]]:
        menu = tuple(criteria.items())
        found = self._indexes.get(menu)
        if found is None:
            texts = [words_of(f"{name} {description}") or [""] for name, description in menu]
            index = bm25s.BM25()
            index.index(texts, show_progress=False)
            found = (index, frozenset(word for text in texts for word in text if word))
            while len(self._indexes) >= MOST_MENUS:
                del self._indexes[next(iter(self._indexes))]
            self._indexes[menu] = found
        return found


def _shares(scores: Mapping[str, float], temperature: float) -> dict[str, float]:
    most = max(scores.values())
    raised = {name: exp((score - most) / temperature) for name, score in scores.items()}
    total = sum(raised.values())
    return {name: value / total for name, value in raised.items()}
