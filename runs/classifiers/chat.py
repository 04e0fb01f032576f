"""Any chat endpoint that speaks OpenAI's protocol, asked one multiple-choice question.

Each tool gets a letter and the model answers with one. Where the endpoint tells log-probabilities, the letters' own are
the scores, and a tool whose letter is not among those told has none. Where it does not, there are no scores; confidence
is then what the model itself says beside its letter, and without that the reading has failed. Nothing is made up.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from math import exp
from string import ascii_letters
from typing import Any, Final

import httpx

from runs.classifiers.reply import question_of, reply_of
from runs.rules.tool_choice import ClassifyRequest

TOP_LOGPROBS: Final = 20  # the most that OpenAI's protocol tells
_ANSWER: Final = re.compile(r"\s*\W?([A-Za-z]{1,2})\b(?:\W{1,3}(\d{1,3})(?:\s*%|\b))?")
_TRY_AGAIN: Final = frozenset([408, 409, 429, 500, 502, 503, 504])

_TASK: Final = (
    "{instructions} Answer with the letter of one tool, a space, and how sure you are in percent, such as: B 80. "
    "Say nothing else.\n\n{tools}"
)


class ProviderFailed(Exception):
    """The endpoint gave no answer. `status`: its HTTP status, None where there was none."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Chat:
    """`base_url` as OpenAI's clients take it, such as ``https://api.openai.com/v1`` or a server of your own.

    `timeout_s` is for the whole reading, tries included; `retries` are made after time-outs of the connection and
    statuses that promise better. Without `logprobs` none are asked for, as some endpoints refuse the request otherwise.
    A `client` of yours is used as it is and never closed.
    """

    name = "chat"

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 10.0,
        retries: int = 0,
        logprobs: bool = True,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self.model = model
        self.timeout_s, self.retries, self.logprobs = timeout_s, retries, logprobs
        self._address = base_url.rstrip("/") + "/chat/completions"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = client

    async def classify(self, request: ClassifyRequest, /) -> dict[str, Any]:
        names = list(question_of(request).criteria)
        if not names:
            return reply_of(self.model, None, 0.0, {})
        asked = self._body(request, dict(zip(labels(len(names)), names, strict=True)))
        try:
            async with asyncio.timeout(self.timeout_s):
                said = await self._ask(asked)
        except TimeoutError:
            raise ProviderFailed(f"No answer within {self.timeout_s:g} s.") from None
        return self._read(said, names)

    def _body(self, request: ClassifyRequest, tools: Mapping[str, str]) -> dict[str, Any]:
        question = question_of(request)
        listed = "\n".join(
            f"{label}. {name}: {question.criteria[name]}" if question.criteria[name] else f"{label}. {name}"
            for label, name in tools.items()
        )
        state = "\n".join(f"{key}: {value}" for key, value in request.state.items())
        body: dict[str, Any] = {
            "model": self.model,
            "temperature": 0,
            "max_tokens": 8,
            "messages": [
                {"role": "system", "content": _TASK.format(instructions=question.instructions, tools=listed)},
                {"role": "user", "content": state},
            ],
        }
        if self.logprobs:
            body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        return body

    async def _ask(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._client is not None:
            return await self._tries(self._client, body)
        async with httpx.AsyncClient(timeout=self.timeout_s) as client:
            return await self._tries(client, body)

    async def _tries(self, client: httpx.AsyncClient, body: Mapping[str, Any]) -> Mapping[str, Any]:
        failed = ProviderFailed("It was not asked.")
        for _ in range(self.retries + 1):
            try:
                response = await client.post(self._address, json=body, headers=self._headers)
            except httpx.HTTPError as error:
                failed = ProviderFailed(f"The endpoint could not be reached ({type(error).__name__}).")
                continue
            if response.is_success:
                return _json_of(response)
            failed = ProviderFailed(f"The endpoint answered {response.status_code}.", response.status_code)
            if response.status_code not in _TRY_AGAIN:
                break
        raise failed

    def _read(self, said: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
        by_label = dict(zip(labels(len(names)), names, strict=True))
        choices = said.get("choices")
        first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        message = first.get("message")
        text = message.get("content") if isinstance(message, dict) else None
        answer = _ANSWER.match(text) if isinstance(text, str) else None
        choice = by_label.get(answer[1]) if answer else None
        scores = _scores(first.get("logprobs"), by_label)
        confidence = scores.get(choice) if choice is not None else None
        if confidence is None and answer is not None and answer[2]:
            confidence = min(100, int(answer[2])) / 100
        model = said.get("model")
        return reply_of(
            model if isinstance(model, str) else self.model, choice, confidence, scores, _usage(said)
        )


def labels(count: int) -> list[str]:
    """One letter a tool while there are enough of them: a letter is one token, and only tokens have probabilities."""
    if count <= len(ascii_letters):
        return list(ascii_letters.upper()[:26] + ascii_letters[:26])[:count]
    return [one + two for one in ascii_letters[26:] for two in ascii_letters[26:]][:count]


def _scores(logprobs: object, by_label: Mapping[str, str]) -> dict[str, float]:
    """The probabilities of the letters in the place of the answer's first token; nothing for labels of two letters."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    first = content[0] if isinstance(content, list) and content else None
    told = first.get("top_logprobs") if isinstance(first, dict) else None
    scores: dict[str, float] = {}
    for one in told if isinstance(told, list) else ():
        token, value = (one.get("token"), one.get("logprob")) if isinstance(one, dict) else (None, None)
        if not isinstance(token, str) or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        name = by_label.get(token.strip())
        if name is not None and len(token.strip()) == 1 and value <= 0:
            scores[name] = scores.get(name, 0.0) + exp(value)  # "B" and " B" are two tokens of one answer
    return scores


def _usage(said: Mapping[str, Any]) -> dict[str, int] | None:
    usage = said.get("usage")
    if not isinstance(usage, dict):
        return None
    asked, answered = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if type(asked) is not int or type(answered) is not int:
        return None
    return {"inputTokens": asked, "outputTokens": answered}


def _json_of(response: httpx.Response) -> Mapping[str, Any]:
    try:
        read = response.json()
    except ValueError:
        raise ProviderFailed("The endpoint's answer is not JSON.", response.status_code) from None
    return read if isinstance(read, dict) else {}
