"""THE allow-list: which fields of which events are kept. A field that is not listed does not exist.

Every way in (websocket, bare mode, replay, and later OTLP and files) and every sender passes :func:`keep`,
which turns one outside event into a :class:`Kept`, or says :class:`Dropped` or :class:`Refused`. The structs
below are the table: msgspec skips whatever they do not name while decoding, so arguments, results, history,
prompts, thinking and error texts never become Python objects, and never reach a log or an exception.

The word beside a field is its kind: how it is read, and what becomes of it where it cannot be (kept_kinds.py,
kept_values.py). How a whole event is read through the table: kept_reading.py. What of `meta` is kept: kept_event.py.

Strings are cleaned on the way: U+0000 becomes U+2400 (no database refuses it), a lone surrogate U+FFFD.
A refusal names the place, what was expected and the TYPE that came, never the value.
Source: the published list of the wire (docs/wire.md), section "What is kept".
"""

from __future__ import annotations

from typing import Final

from runs.rules.kept_event import Dropped as Dropped
from runs.rules.kept_event import EventMeta as EventMeta
from runs.rules.kept_event import Kept as Kept
from runs.rules.kept_event import Refused as Refused
from runs.rules.kept_event import SaidText as SaidText
from runs.rules.kept_kinds import MAX_TEXT_BYTES as MAX_TEXT_BYTES
from runs.rules.kept_kinds import (
    Aliases,
    Count,
    Fields,
    Flag,
    Label,
    Length,
    Millis,
    Name,
    Names,
    OptCount,
    OptName,
    Presence,
    Text,
    Word,
)
from runs.rules.kept_odd import clean as clean
from runs.rules.kept_own import AnswerChecked as AnswerChecked
from runs.rules.kept_own import CheckedCall as CheckedCall
from runs.rules.kept_own import CheckedCalls as CheckedCalls
from runs.rules.kept_own import DeclaredTool as DeclaredTool
from runs.rules.kept_own import DelegationDeclared as DelegationDeclared
from runs.rules.kept_own import DelegationRefused as DelegationRefused
from runs.rules.kept_own import DelegationSpawned as DelegationSpawned
from runs.rules.kept_own import PoolTool as PoolTool
from runs.rules.kept_own import RowClassifier as RowClassifier
from runs.rules.kept_own import RowMiss as RowMiss
from runs.rules.kept_own import RowScore as RowScore
from runs.rules.kept_own import RowUsage as RowUsage
from runs.rules.kept_own import ToolChoiceRow as ToolChoiceRow
from runs.rules.kept_own import ToolsDeclared as ToolsDeclared
from runs.rules.kept_reading import Reader


class Nothing(Fields):
    """An event of which only the presence is kept."""


# -- turn and loop ------------------------------------------------------------------------------


class Llm(Fields):
    provider: OptName = None
    model: OptName = None


class RunConfigured(Fields):
    agent_id: OptName = None
    llm: Llm | None = None


class TurnStart(Fields):
    user_prompt: Text = None


class StoppedEarly(Fields):
    reason: Word = None
    iteration: OptCount = None
    pending_tool_calls: OptCount = None
    wrapped_up: Flag = False


class RefusedBy(Fields):
    by: OptName = None


class TurnEnd(Fields):
    final_content: Text = None
    total_input_tokens: OptCount = None
    total_output_tokens: OptCount = None
    iteration_count: OptCount = None
    duration_ms: Millis = None
    stopped_early: StoppedEarly | None = None
    refused: RefusedBy | None = None


class IterationStart(Fields):
    iter_index: OptCount = None


class IterationEnd(Fields):
    iter_index: OptCount = None
    tool_call_count: OptCount = None


class BudgetExhausted(Fields):
    reason: Word = None
    action: Word = None
    iteration: OptCount = None
    limit: OptCount = None
    pending_tool_calls: OptCount = None


class EvidenceChecked(Fields):
    iteration: OptCount = None
    posture: Word = None
    action: Word = None
    candidates: OptCount = None
    unsupported: Length = None
    after_revision: Flag = False


# -- model and tools ----------------------------------------------------------------------------


class OfferedTool(Fields):
    name: Name
    description: Label = None


class Brain(Fields):
    skill_id: OptName = None


class LlmStart(Fields):
    iteration: OptCount = None
    provider: OptName = None
    model: OptName = None
    messages_count: OptCount = None
    tools_count: OptCount = None
    tools: list[OfferedTool] | None = None
    brain: Brain | None = None


class Usage(Fields):
    input: OptCount = None
    output: OptCount = None
    cache_read: OptCount = None
    cache_write: OptCount = None
    thinking: OptCount = None


class LlmEnd(Fields):
    tool_call_count: Count
    iteration: OptCount = None
    usage: Usage | None = None
    stop_reason: Word = None
    duration_ms: Millis = None


class ToolStart(Fields):
    tool_name: Name
    tool_call_id: Name
    parallel_count: OptCount = None
    not_dispatched: Presence = False


class ToolEnd(Fields):
    tool_call_id: Name
    error: Flag = False
    status: Word = None
    not_executed: Flag = False
    not_dispatched: Presence = False
    duration_ms: Millis = None


class ToolNote(Fields):
    """validation.args_invalid, tools.result_refused, tools.absent, tools.coverage_declared."""

    tool_call_id: Name
    tool_name: OptName = None
    iteration: OptCount = None
    enforced: Flag = False
    issues: Length = None
    size_chars: OptCount = None
    max_chars: OptCount = None
    checked: Length = None
    not_checked: Length = None
    cannot_cover: Length = None


# -- decisions and pauses -----------------------------------------------------------------------


class PermissionCheck(Fields):
    result: Word = None
    capability: Word = None
    target: OptName = None


class PermissionHalt(Fields):
    target: OptName = None
    iteration: OptCount = None


class MiddlewareDecision(Fields):
    moment: Word = None
    outcome: Word = None
    tool_call_id: OptName = None
    tool_name: OptName = None
    iteration: OptCount = None


class CheckinRequest(Fields):
    tool_call_id: Name
    tool_name: OptName = None
    iteration: OptCount = None


class CheckinDecision(Fields):
    tool_call_id: Name
    approved: Flag = False
    tool_name: OptName = None
    iteration: OptCount = None


class PauseQuestion(Fields):
    """What of a pause's `questionPayload` is kept: which call waits, and for what kind of answer."""

    tool_call_id: OptName = None
    tool_name: OptName = None
    check_in: Presence = False
    ask: Presence = False
    authorization: Presence = False


class PauseRequest(Fields):
    question_payload: PauseQuestion | None = None


class PauseResume(Fields):
    paused_duration_ms: Millis = None


class SkillRejected(Fields):
    requested_id: OptName = None


# -- tool choice --------------------------------------------------------------------------------


class ChoicePicked(Fields):
    iteration: OptCount = None
    chosen: OptName = None
    confidence: float | None = None
    offered: OptCount = None
    served: OptCount = None
    narrowed: Flag = False
    narrowed_skipped: Word = None
    latency_ms: Millis = None
    input_tokens: OptCount = None
    output_tokens: OptCount = None


class ChoiceFailed(Fields):
    iteration: OptCount = None
    status: OptCount = None
    latency_ms: Millis = None


class ChoiceOutcome(Fields):
    iteration: OptCount = None
    called: Names = []
    first_agrees: bool | None = None
    missed: Aliases = None


# -- errors, reliability, composition -----------------------------------------------------------


class Trouble(Fields):
    """error.fatal, error.retried, reliability.*: stage, kinds and attempt; never the message."""

    stage: Word = None
    scope: Word = None
    phase: Word = None
    kind: Word = None
    action: Word = None
    error_kind: Word = None
    attempt: OptCount = None
    max_attempts: OptCount = None


class Composition(Fields):
    kind: Word = None
    id: OptName = None
    name: OptName = None
    status: Word = None
    child_count: OptCount = None


class RouteDecided(Fields):
    conditional_id: OptName = None
    chosen: OptName = None


# The table itself: event type (the framework's prefix left out) -> the fields that exist.
KEPT: Final[dict[str, type[Fields]]] = {
    "agent.run_configured": RunConfigured,
    "agent.turn_start": TurnStart,
    "agent.turn_end": TurnEnd,
    "agent.iteration_start": IterationStart,
    "agent.iteration_end": IterationEnd,
    "agent.budget_exhausted": BudgetExhausted,
    "agent.evidence_checked": EvidenceChecked,
    "agent.output_contract_unmet": Nothing,
    "resilience.output_fallback_triggered": Nothing,
    "resilience.output_canned_used": Nothing,
    "stream.llm_start": LlmStart,
    "stream.llm_end": LlmEnd,
    "stream.tool_start": ToolStart,
    "stream.tool_end": ToolEnd,
    "validation.args_invalid": ToolNote,
    "tools.result_refused": ToolNote,
    "tools.absent": ToolNote,
    "tools.coverage_declared": ToolNote,
    "permission.check": PermissionCheck,
    "permission.halt": PermissionHalt,
    "middleware.decision": MiddlewareDecision,
    "checkin.request": CheckinRequest,
    "checkin.decision": CheckinDecision,
    "pause.request": PauseRequest,
    "pause.resume": PauseResume,
    "skill.rejected": SkillRejected,
    "tool_choice.picked": ChoicePicked,
    "tool_choice.failed": ChoiceFailed,
    "tool_choice.outcome": ChoiceOutcome,
    "error.fatal": Trouble,
    "error.retried": Trouble,
    "reliability.retried": Trouble,
    "reliability.recovered": Trouble,
    "reliability.fail_fast": Trouble,
    "composition.enter": Composition,
    "composition.exit": Composition,
    "composition.route_decided": RouteDecided,
    "integrity.disposition": Nothing,
    "footprint.tools.declared": ToolsDeclared,
    "footprint.tool_choice.row": ToolChoiceRow,
    "footprint.delegation.declared": DelegationDeclared,
    "footprint.delegation.spawned": DelegationSpawned,
    "footprint.delegation.refused": DelegationRefused,
    "footprint.answer.checked": AnswerChecked,
}

# The framework's other domains: dropped by the list, and not counted as unknown types.
DROPPED_DOMAINS: Final = frozenset(
    [
        "agent",
        "stream",
        "context",
        "memory",
        "embedding",
        "cost",
        "artifacts",
        "tools",
        "skill",
        "permission",
        "validation",
        "middleware",
        "checkin",
        "credential",
        "pause",
        "integrity",
        "error",
        "reliability",
        "resilience",
        "fallback",
        "composition",
        "eval",
        "risk",
        "findings",
        "ontology",
        "answer",
        "tool_choice",
    ]
)

# Which text of which event is what kind of said text (see product words: question, answer, classifier message).
TEXT_KINDS: Final = {
    ("agent.turn_start", "user_prompt"): "question",
    ("agent.turn_end", "final_content"): "answer",
    ("footprint.tool_choice.row", "message"): "classifier",
}

_reader: Final = Reader(KEPT, TEXT_KINDS, DROPPED_DOMAINS)
keep = _reader.keep
keep_patiently = _reader.keep_patiently
keep_object = _reader.keep_object
encode = _reader.encode
encode_body = _reader.encode_body
decode_body = _reader.decode_body
table = _reader.table
