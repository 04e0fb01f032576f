"""Tools ranked by meaning: embeddings of the message and of each tool's words, by a model that lies in its package.

The model is WordLlama's (256 numbers a text, 16 MB, on NumPy); nothing is downloaded when it is used. Scores are
cosines. They become a distribution by softmax: ``exp(cosine / temperature)`` over their sum. The shares say how far
apart the tools are in meaning, not how often the reading is right: the calibration on the Tool choice page says that.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp
from pathlib import Path
from typing import Any, Final

import wordllama
from wordllama import WordLlama

from runs.classifiers.lexical import words_of
from runs.classifiers.reply import question_of, reply_of
from runs.rules.tool_choice import ClassifyRequest

MOST_TEXTS: Final = 2_000  # of tools, kept as they were embedded


class Embedding:
    """A classifier that reads meaning. Loading takes a quarter of a second, once a process."""

    name = "embedding"
    model = "wordllama-l2-supercat-256"

    def __init__(self, temperature: float = 0.05) -> None:
        if not temperature > 0:
            raise ValueError("The temperature must be above 0.")
        self.temperature = temperature

    async def classify(self, request: ClassifyRequest, /) -> dict[str, Any]:
        criteria = question_of(request).criteria
        message = request.state.get("userMessage", "")
        if not criteria or not message.strip():
            return reply_of(self.model, None, 0.0, {})
        asked = _model().embed(message, norm=True)[0]
        cosines = {
            # A name alone is one long word to the model: its parts mean more.
            name: float(asked @ _vector(f"{' '.join(words_of(name))}. {description}"))
            for name, description in criteria.items()
        }
        raised = {name: exp((cosine - 1) / self.temperature) for name, cosine in cosines.items()}
        total = sum(raised.values())
        shares = {name: value / total for name, value in raised.items()}
        best = max(shares, key=lambda name: shares[name])  # the first of equals
        return reply_of(self.model, best, shares[best], shares)


@lru_cache(maxsize=1)
def _model() -> Any:
    """The package looks for its own tokenizer in the wrong folder; told where both files lie, it needs no download."""
    return WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


@lru_cache(maxsize=MOST_TEXTS)
def _vector(text: str) -> Any:
    return _model().embed(text, norm=True)[0]
