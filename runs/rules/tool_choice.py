"""Which tool: a classifier's reading beside the model's own call, and what the call was served because of it.

Three kinds of row stand on record, append-only, one flat list a run: a `PickRow` or a `PickErrorRow` before each model
call, an `OutcomeRow` after its reply. Their JSON is camelCase, absent where a field has nothing to say.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import ClassVar, Literal, Protocol

from msgspec import Struct

from .vocabulary import NarrowSkip

TOOL_CHOICE_QUESTION = "tool"
"""The id of the one question that is asked."""

ALWAYS_SERVED_TOOLS = ("read_skill", "list_skills", "skip_step", "present")
"""The framework's doors: never candidates, never narrowed away."""

_INSTRUCTIONS = "Which of these tools fits the next step of the work best?"

Number = int | float


class ToolCandidate(Struct, frozen=True):
    """One offered tool as the classifier reads it; an empty description stays empty."""

    name: str
    description: str = ""


class ToolChoiceScore(Struct, frozen=True):
    """A candidate's score as the provider gave it, never renormalised."""

    name: str
    score: Number


class TokenUsage(Struct, frozen=True, rename="camel"):
    """What the reading cost, where the provider said so."""

    input_tokens: int
    output_tokens: int


class ClassifierId(Struct, frozen=True, omit_defaults=True):
    """Who read: the adapter's name and, when it answered, the provider's model for this answer."""

    name: str
    model: str | None = None


class Pick(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The classifier's answer for one call. `chosen` is its own word, absent when it named nothing that was offered."""

    ok: ClassVar[Literal[True]] = True
    classifier: ClassifierId
    ranked: tuple[ToolChoiceScore, ...]
    chosen: str | None = None
    confidence: Number
    usage: TokenUsage | None = None
    latency_ms: Number


class PickFailed(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """No usable answer. `status` is the provider's HTTP-like number; `message` is for operators alone."""

    ok: ClassVar[Literal[False]] = False
    classifier: ClassifierId
    status: int | None = None
    message: str
    latency_ms: Number


PickResult = Pick | PickFailed


class PickRow(
    Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind", tag="pick"
):
    """A reading that worked, with what the call was then served."""

    iteration: int
    source: Literal["classifier"]
    classifier: ClassifierId
    offered: tuple[str, ...]
    ranked: tuple[ToolChoiceScore, ...]
    chosen: str | None = None
    confidence: Number
    usage: TokenUsage | None = None
    latency_ms: Number
    served: tuple[str, ...]
    narrowed: bool
    narrowed_skipped: NarrowSkip | None = None


class PickErrorRow(
    Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind", tag="pick-error"
):
    """A reading that failed; the call was served every tool."""

    iteration: int
    source: Literal["classifier"]
    classifier: ClassifierId
    status: int | None = None
    message: str
    latency_ms: Number
    served: tuple[str, ...]
    narrowed_skipped: NarrowSkip | None = None


class Miss(Struct, frozen=True):
    """What the model called although the call was not served it."""

    wanted: tuple[str, ...]


class OutcomeRow(
    Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind", tag="outcome"
):
    """What the model called in its reply, in order; empty when it answered."""

    iteration: int
    called: tuple[str, ...]
    first_agrees: bool | None = None
    miss: Miss | None = None


ToolChoiceRow = PickRow | PickErrorRow | OutcomeRow


class Narrowing(Struct, frozen=True):
    """What one call is served, in the wire's order, and why it was not narrowed (None when nobody asked for it)."""

    served: tuple[str, ...]
    narrowed: bool
    narrowed_skipped: NarrowSkip | None = None


class ChoiceQuestion(Struct, frozen=True):
    """Pick one of the options that `criteria` describes by name, in offered order."""

    type: Literal["choice"]
    instructions: str
    criteria: dict[str, str]


class ClassifyRequest(Struct, frozen=True):
    """What a classifier is asked: the state to read, and the questions by id."""

    state: dict[str, str]
    questions: dict[str, ChoiceQuestion]


class Classifier(Protocol):
    """A provider. `classify` answers with decoded JSON:
    ``{model, answers: {tool: {type: "choice", choice, confidence, probabilities: {name: score}}}, usage?, latencyMs?}``
    and fails by raising, with the provider's number on the error's `status` where there was one.
    """

    @property
    def name(self) -> str: ...

    async def classify(self, request: ClassifyRequest, /) -> object: ...


def always_served_names(extra: Iterable[str] = ()) -> frozenset[str]:
    """The doors: every name that is served whatever the ranking says, the framework's and the app's own."""
    return frozenset((*ALWAYS_SERVED_TOOLS, *extra))


def tool_choice_question(
    user_message: str, current_skill_id: str | None, candidates: Iterable[ToolCandidate]
) -> ClassifyRequest:
    """The one question for one call: the state holds the message and, when one is active, the skill's id."""
    state = {"userMessage": user_message}
    if current_skill_id is not None:
        state["currentSkillId"] = current_skill_id
    criteria = {candidate.name: candidate.description for candidate in candidates}
    return ClassifyRequest(state, {TOOL_CHOICE_QUESTION: ChoiceQuestion("choice", _INSTRUCTIONS, criteria)})


async def pick_tools(
    classifier: Classifier,
    *,
    user_message: str,
    candidates: Sequence[ToolCandidate],
    current_skill_id: str | None = None,
    clock: Callable[[], float],
) -> PickResult:
    """Ask the classifier once. The pick is advice: its absence must never cost the run its answer.

    Never raises for the provider: what it raises (a cancellation of its own making too) or answers amiss comes back
    as `PickFailed`, with the latency spent. A cancellation of the caller's own task propagates, whatever the provider
    makes of it. `clock` gives seconds from any fixed moment, such as `time.monotonic`.
    """
    request = tool_choice_question(user_message, current_skill_id, candidates)
    started = clock()
    # A task of its own tells the two cancellations apart: one that reaches us here was meant for the caller, one that
    # the provider made ends its task alone.
    asking = asyncio.create_task(_ask(classifier, request))
    try:
        await asyncio.wait((asking,))
    except asyncio.CancelledError:
        asking.cancel()
        asking.add_done_callback(_look_away)
        raise
    latency_ms = (clock() - started) * 1000
    name = _name_of(classifier)
    if asking.cancelled():
        return _failed(name, "The classifier's own call was cancelled.", latency_ms)
    error = asking.exception()
    if error is None:
        return read_pick(candidates, asking.result(), classifier_name=name, latency_ms=latency_ms)
    if not isinstance(error, Exception):  # The process is told to stop; that is nobody's pick.
        raise error
    return _failed(name, _message_of(error), latency_ms, _status_of(error))


async def _ask(classifier: Classifier, request: ClassifyRequest) -> object:
    return await classifier.classify(request)


def _look_away(asking: asyncio.Task[object]) -> None:
    """Take what an abandoned call ended in, so that the loop does not report it as lost."""
    if not asking.cancelled():
        asking.exception()


def _name_of(classifier: object) -> str:
    try:
        name = getattr(classifier, "name", None)
    except Exception:
        return ""
    return name if isinstance(name, str) else ""


def _message_of(error: BaseException) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def _status_of(error: BaseException) -> int | None:
    try:
        status = getattr(error, "status", None)
    except Exception:
        return None
    return status if isinstance(status, int) and not isinstance(status, bool) else None


def read_pick(
    candidates: Iterable[ToolCandidate],
    reply: object,
    *,
    classifier_name: str = "",
    latency_ms: Number = 0,
) -> PickResult:
    """A provider's reply (decoded JSON) as a pick; pure, and never an error.

    `ranked` is the provider's distribution over what was offered, highest first, ties in offered order. A candidate
    without a finite score is absent, never 0; a score for something not offered is dropped. `chosen` is the
    provider's own, never an argmax taken here. `latency_ms` is what the caller measured; the reply's own
    `latencyMs`, taken closer to the call, wins when it is there.
    """
    said: Mapping[object, object] = reply if isinstance(reply, Mapping) else {}
    answer = _choice_answer(said)
    if answer is None:
        return _failed(classifier_name, "The reply held no answer to the choice that was asked.", latency_ms)
    confidence = _finite(answer.get("confidence"))
    if confidence is None:
        return _failed(classifier_name, "The reply's choice had no number as its confidence.", latency_ms)
    offered = tuple(dict.fromkeys(candidate.name for candidate in candidates))
    chosen = answer.get("choice")
    model = said.get("model")
    own_latency = _finite(said.get("latencyMs"))
    return Pick(
        classifier=ClassifierId(classifier_name, model if isinstance(model, str) else ""),
        ranked=_ranking(offered, answer.get("probabilities")),
        chosen=chosen if isinstance(chosen, str) and chosen in offered else None,
        confidence=confidence,
        usage=_usage(said.get("usage")),
        latency_ms=latency_ms if own_latency is None or own_latency < 0 else own_latency,
    )


def _choice_answer(reply: Mapping[object, object]) -> Mapping[object, object] | None:
    answers = reply.get("answers")
    answer = answers.get(TOOL_CHOICE_QUESTION) if isinstance(answers, Mapping) else None
    return answer if isinstance(answer, Mapping) and answer.get("type") == "choice" else None


def _ranking(offered: tuple[str, ...], probabilities: object) -> tuple[ToolChoiceScore, ...]:
    if not isinstance(probabilities, Mapping):
        return ()
    scores = ((name, _finite(probabilities.get(name))) for name in offered)
    scored = [ToolChoiceScore(name, score) for name, score in scores if score is not None]
    return tuple(sorted(scored, key=lambda one: -one.score))  # Sorting is stable: ties stay in offered order.


def _usage(value: object) -> TokenUsage | None:
    if not isinstance(value, Mapping):
        return None
    tokens_in, tokens_out = value.get("inputTokens"), value.get("outputTokens")
    return TokenUsage(tokens_in, tokens_out) if type(tokens_in) is int and type(tokens_out) is int else None


def _finite(value: object) -> Number | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # An integer beyond every float.
        return None


def _failed(name: str, message: str, latency_ms: Number, status: int | None = None) -> PickFailed:
    return PickFailed(classifier=ClassifierId(name), status=status, message=message, latency_ms=latency_ms)


def narrow_served(
    *,
    wire: Sequence[str],
    doors: Collection[str],
    pick: PickResult,
    top: int | None,
    iteration: int,
    prior: Iterable[ToolChoiceRow],
    wrap_up_asked: bool,
    tools_off: bool = False,
) -> Narrowing:
    """What one call is served. `wire` is the merged list's names in order, `top` how many to keep beside the doors.

    Without `top` nobody asked to narrow. Whenever there is doubt the whole wire is served, with the reason.
    """
    everything = tuple(wire)
    if top is None:
        return Narrowing(everything, narrowed=False)
    if wrap_up_asked or tools_off:
        return Narrowing(everything, narrowed=False, narrowed_skipped=NarrowSkip.WRAP_UP)
    if _missed_just_before(prior, iteration):
        return Narrowing(everything, narrowed=False, narrowed_skipped=NarrowSkip.AFTER_MISS)
    if sum(name not in doors for name in wire) <= top:
        return Narrowing(everything, narrowed=False, narrowed_skipped=NarrowSkip.TOO_FEW)
    if isinstance(pick, PickFailed) or len(pick.ranked) < top:
        return Narrowing(everything, narrowed=False, narrowed_skipped=NarrowSkip.UNAVAILABLE)
    fitting = {one.name for one in pick.ranked[:top]}
    served = tuple(name for name in wire if name in fitting or name in doors)
    return Narrowing(served, narrowed=True)


def _missed_just_before(prior: Iterable[ToolChoiceRow], iteration: int) -> bool:
    """Whether the call right before this one missed; an older miss is forgiven."""
    return any(
        isinstance(row, OutcomeRow) and row.iteration == iteration - 1 and row.miss is not None
        for row in prior
    )


def pick_row(pick: Pick, *, iteration: int, offered: Iterable[str], narrowing: Narrowing) -> PickRow:
    """The row of a reading that worked, filed before its model call."""
    return PickRow(
        iteration=iteration,
        source="classifier",
        classifier=pick.classifier,
        offered=tuple(offered),
        ranked=pick.ranked,
        chosen=pick.chosen,
        confidence=pick.confidence,
        usage=pick.usage,
        latency_ms=pick.latency_ms,
        served=narrowing.served,
        narrowed=narrowing.narrowed,
        narrowed_skipped=narrowing.narrowed_skipped,
    )


def pick_error_row(pick: PickFailed, *, iteration: int, narrowing: Narrowing) -> PickErrorRow:
    """The row of a reading that failed, filed before its model call."""
    return PickErrorRow(
        iteration=iteration,
        source="classifier",
        classifier=pick.classifier,
        status=pick.status,
        message=pick.message,
        latency_ms=pick.latency_ms,
        served=narrowing.served,
        narrowed_skipped=narrowing.narrowed_skipped,
    )


def outcome_row_for(pick: PickRow | PickErrorRow | None, called: Iterable[str], iteration: int) -> OutcomeRow:
    """The row after a model's reply, from the pick before it (None when there was none) and what the model called.

    `first_agrees` only when the pick chose and the model called; `miss` only when the call was narrowed: every called
    name outside `served` was wanted, a door or a name that was never offered too.
    """
    names = tuple(called)
    if not isinstance(pick, PickRow):
        return OutcomeRow(iteration=iteration, called=names)
    agrees = names[0] == pick.chosen if names and pick.chosen is not None else None
    wanted = tuple(name for name in names if name not in pick.served) if pick.narrowed else ()
    return OutcomeRow(
        iteration=iteration, called=names, first_agrees=agrees, miss=Miss(wanted) if wanted else None
    )
