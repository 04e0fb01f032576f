"""THE allow-list: which fields of which events are kept. A field that is not listed does not exist.

Every way in (websocket, bare mode, replay, and later OTLP and files) and every sender passes :func:`keep`,
which turns one outside event into a :class:`Kept`, or says :class:`Dropped` or :class:`Refused`. The structs
below are the table: msgspec skips whatever they do not name while decoding, so arguments, results, history,
prompts, thinking and error texts never become Python objects, and never reach a log or an exception.

How a listed field is read is its *kind*:

=============  ==================================================================================
``Name``       a required string; longer than 256 UTF-16 units it is emptied and the event `oversized`
``OptName``    a name or nothing; anything that is not a string is "not recorded"
``Word``       one of a few words (a closed enum), else ``other``
``Flag``       true or absent
``Presence``   that the field is there, never what is in it
``Count``      a whole number from 0 to 2**63 - 1, required to be one
``OptCount``   the same or "not recorded"
``Millis``     a duration in milliseconds; negative, absurd or unreadable is "not recorded"
``Label``      a description, cut at 2,000 characters
``Text``       question, answer or classifier message: leaves the event as a :class:`SaidText`
=============  ==================================================================================

Strings are cleaned on the way: U+0000 becomes U+2400 (no database refuses it), a lone surrogate U+FFFD.
A refusal names the place, what was expected and the TYPE that came, never the value.
Source: the published list of the wire (docs/wire.md), section "What is kept".
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Raw, Struct

from runs.rules import display_name, roster
from runs.rules.tool_ledger import MAX_TOOL_CALL_TEXT, utf16_length

PREFIX: Final = "agentfootprint."
MAX_TEXT_BYTES: Final = 32 * 1024
MAX_LABEL_CHARS: Final = 2_000
MAX_STAGE_CHARS: Final = 500  # a PostgreSQL index row must hold a path in UTF-8
MAX_DEPTH: Final = 200
MAX_INT: Final = 2**63 - 1
# A clock outside these years (milliseconds since 1970) is in another unit or broken: "not recorded".
CLOCK_FROM_MS: Final = 946_684_800_000  # 2000-01-01
CLOCK_TO_MS: Final = 7_258_118_400_000  # 2200-01-01
LONGEST_MS: Final = 10 * 365 * 24 * 3600 * 1000

if TYPE_CHECKING:
    Name = str
    OptName = str | None
    Word = str | None
    Flag = bool
    Presence = bool
    Count = int
    OptCount = int | None
    Millis = int | None
    Clock = int | None
    Label = str | None
    Text = str | None
    Names = list[str]
    Length = int | None
    Declared = str | None
    RosterValue = list[Any] | None
    Aliases = list[str] | None
else:

    def _raw(kind: str) -> Any:
        return Annotated[Raw, Meta(extra={"kind": kind})]

    Name = Annotated[str, Meta(extra={"kind": "name"})]
    OptName = _raw("opt_name")
    Word = _raw("word")
    Flag = _raw("flag")
    Presence = _raw("presence")
    Count = Annotated[int, Meta(ge=0, le=MAX_INT, extra={"kind": "count"})]
    OptCount = _raw("opt_count")
    Millis = _raw("millis")
    Clock = _raw("clock")
    Label = _raw("label")
    Text = _raw("text")
    Names = Annotated[list[str], Meta(extra={"kind": "names"})]
    Length = _raw("length")
    Declared = _raw("declared")
    RosterValue = _raw("roster")
    Aliases = Annotated[list[str] | None, Meta(extra={"kind": "opt_names"})]

# The closed words a `Word` field may be; everything else is read as "other".
WORDS: Final[dict[str, frozenset[str]]] = {
    "status": frozenset(
        ["success", "failure", "denied", "invalid", "partial", "pending", "absent"]
        + ["ok", "err", "break", "budget_exhausted"]
    ),
    "reason": frozenset(
        ["max-iterations", "cost-budget", "max_iterations", "cost_budget"]
        + ["shape", "undeclared_name", "undeclared_origin"]
    ),
    "action": frozenset(
        ["wrapped-up", "cut-short", "grounded", "flagged", "revision-asked", "refused"]
        + [
            "retry",
            "retry-other",
            "fallback",
            "fail-fast",
            "fail_fast",
            "continue",
            "abort",
            "warn",
            "degrade",
        ]
    ),
    "stop_reason": frozenset(
        [
            "stop",
            "tool_use",
            "end_turn",
            "max_tokens",
            "length",
            "stop_sequence",
            "tool_calls",
            "content_filter",
            "refusal",
            "error",
        ]
    ),
    "result": frozenset(["allow", "deny", "halt", "gate_open"]),
    "capability": frozenset(
        ["tool_call", "skill_read", "memory_read", "memory_write", "external_net", "user_data"]
    ),
    "moment": frozenset(["input", "window", "before-tool", "after-tool", "output"]),
    "outcome": frozenset(["allow", "deny", "ask", "ok", "error", "not-run"]),
    "kind": frozenset(
        ["Sequence", "Parallel", "Conditional", "Loop", "pick", "pick-error", "outcome"]
        + ["schema-fail", "schema-stuck-loop", "check-in", "ask", "authorization"]
    ),
    "stage": frozenset(["__root__", "json-parse", "schema-validate"]),
    "scope": frozenset(["run"]),
    "posture": frozenset(["assist", "guard", "rails", "observe"]),
    "narrowed_skipped": frozenset(["unavailable", "too-few", "after-miss", "wrap-up"]),
    "error_kind": frozenset(
        ["schema-fail", "rate-limit", "timeout", "http-5xx", "http-4xx", "network", "auth", "unknown"]
    ),
    "phase": frozenset(["pre-check", "post-decide", "input", "output", "window"]),
    "content_origin": frozenset(["internal", "workspace", "external"]),
    "source": frozenset(["classifier"]),
    "code": frozenset([roster.EXTRA_TOOL_NAMES_CODE]),
    "roster_reason": frozenset(["shape"]),
}


class _Fields(Struct, rename="camel", omit_defaults=True):
    """Base of every kept shape: camelCase outside, defaults left out when stored."""


class EventMeta(_Fields):
    """The kept part of an event's `meta`. `run_id` None: the event names no run."""

    run_id: OptName = None
    session_id: OptName = None
    principal: OptName = None
    tenant: OptName = None
    trace_id: OptName = None
    wall_clock_ms: Clock = None
    run_offset_ms: Millis = None
    runtime_stage_id: OptName = None
    composition_path: Names = []


class Nothing(_Fields):
    """An event of which only the presence is kept."""


# -- turn and loop ------------------------------------------------------------------------------


class Llm(_Fields):
    provider: OptName = None
    model: OptName = None


class RunConfigured(_Fields):
    agent_id: OptName = None
    llm: Llm | None = None


class TurnStart(_Fields):
    user_prompt: Text = None


class StoppedEarly(_Fields):
    reason: Word = None
    iteration: OptCount = None
    pending_tool_calls: OptCount = None
    wrapped_up: Flag = False


class RefusedBy(_Fields):
    by: OptName = None


class TurnEnd(_Fields):
    final_content: Text = None
    total_input_tokens: OptCount = None
    total_output_tokens: OptCount = None
    iteration_count: OptCount = None
    duration_ms: Millis = None
    stopped_early: StoppedEarly | None = None
    refused: RefusedBy | None = None


class IterationStart(_Fields):
    iter_index: OptCount = None


class IterationEnd(_Fields):
    iter_index: OptCount = None
    tool_call_count: OptCount = None


class BudgetExhausted(_Fields):
    reason: Word = None
    action: Word = None
    iteration: OptCount = None
    limit: OptCount = None
    pending_tool_calls: OptCount = None


class EvidenceChecked(_Fields):
    iteration: OptCount = None
    posture: Word = None
    action: Word = None
    candidates: OptCount = None
    unsupported: Length = None
    after_revision: Flag = False


# -- model and tools ----------------------------------------------------------------------------


class OfferedTool(_Fields):
    name: Name
    description: Label = None


class Brain(_Fields):
    skill_id: OptName = None


class LlmStart(_Fields):
    iteration: OptCount = None
    provider: OptName = None
    model: OptName = None
    messages_count: OptCount = None
    tools_count: OptCount = None
    tools: list[OfferedTool] | None = None
    brain: Brain | None = None


class Usage(_Fields):
    input: OptCount = None
    output: OptCount = None
    cache_read: OptCount = None
    cache_write: OptCount = None
    thinking: OptCount = None


class LlmEnd(_Fields):
    tool_call_count: Count
    iteration: OptCount = None
    usage: Usage | None = None
    stop_reason: Word = None
    duration_ms: Millis = None


class ToolStart(_Fields):
    tool_name: Name
    tool_call_id: Name
    parallel_count: OptCount = None
    not_dispatched: Presence = False


class ToolEnd(_Fields):
    tool_call_id: Name
    error: Flag = False
    status: Word = None
    not_executed: Flag = False
    not_dispatched: Presence = False
    duration_ms: Millis = None


class ToolNote(_Fields):
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


class PermissionCheck(_Fields):
    result: Word = None
    capability: Word = None
    target: OptName = None


class PermissionHalt(_Fields):
    target: OptName = None
    iteration: OptCount = None


class MiddlewareDecision(_Fields):
    moment: Word = None
    outcome: Word = None
    tool_call_id: OptName = None
    tool_name: OptName = None
    iteration: OptCount = None


class CheckinRequest(_Fields):
    tool_call_id: Name
    tool_name: OptName = None
    iteration: OptCount = None


class CheckinDecision(_Fields):
    tool_call_id: Name
    approved: Flag = False
    tool_name: OptName = None
    iteration: OptCount = None


class PauseQuestion(_Fields):
    """What of a pause's `questionPayload` is kept: which call waits, and for what kind of answer."""

    tool_call_id: OptName = None
    tool_name: OptName = None
    check_in: Presence = False
    ask: Presence = False
    authorization: Presence = False


class PauseRequest(_Fields):
    question_payload: PauseQuestion | None = None


class PauseResume(_Fields):
    paused_duration_ms: Millis = None


class SkillRejected(_Fields):
    requested_id: OptName = None


# -- tool choice --------------------------------------------------------------------------------


class ChoicePicked(_Fields):
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


class ChoiceFailed(_Fields):
    iteration: OptCount = None
    status: OptCount = None
    latency_ms: Millis = None


class ChoiceOutcome(_Fields):
    iteration: OptCount = None
    called: Names = []
    first_agrees: bool | None = None
    missed: Aliases = None


class RowClassifier(_Fields):
    name: OptName = None
    model: OptName = None


class RowScore(_Fields):
    name: Name
    score: float


class RowUsage(_Fields):
    input_tokens: OptCount = None
    output_tokens: OptCount = None


class RowMiss(_Fields):
    wanted: Names = []


class ToolChoiceRow(_Fields):
    """One row of the tool-choice record (pick, pick-error or outcome) and what a replay needs beside it."""

    kind: Word
    iteration: Count
    source: Word = None
    classifier: RowClassifier | None = None
    offered: Aliases = None
    ranked: list[RowScore] | None = None
    chosen: OptName = None
    confidence: float | None = None
    usage: RowUsage | None = None
    latency_ms: Millis = None
    served: Aliases = None
    narrowed: Flag = False
    narrowed_skipped: Word = None
    status: OptCount = None
    message: Text = None
    called: Aliases = None
    first_agrees: bool | None = None
    miss: RowMiss | None = None
    top: OptCount = None
    doors: Aliases = None
    wire: Aliases = None


# -- errors, reliability, composition -----------------------------------------------------------


class Trouble(_Fields):
    """error.fatal, error.retried, reliability.*: stage, kinds and attempt; never the message."""

    stage: Word = None
    scope: Word = None
    phase: Word = None
    kind: Word = None
    action: Word = None
    error_kind: Word = None
    attempt: OptCount = None
    max_attempts: OptCount = None


class Composition(_Fields):
    kind: Word = None
    id: OptName = None
    name: OptName = None
    status: Word = None
    child_count: OptCount = None


class RouteDecided(_Fields):
    conditional_id: OptName = None
    chosen: OptName = None


# -- this product's own -------------------------------------------------------------------------


class DeclaredTool(_Fields):
    """A tool as its app declares it; a refused display name keeps its problem, never its value."""

    name: Name
    display_name: Declared = None
    display_name_problem: OptName = None
    description: Label = None


class ToolsDeclared(_Fields):
    tools: list[DeclaredTool]


class PoolTool(_Fields):
    name: Name
    aliases: Aliases = None
    content_origin: Word = None


class DelegationDeclared(_Fields):
    """A delegation tool's declaration; `roster_reason`/`roster_sentence` when the roster is not one."""

    tool_name: Name
    has_factory: Flag = False
    static_pool: list[PoolTool] | None = None
    inherited_surface: list[PoolTool] | None = None
    extra_tool_names: RosterValue = None
    roster_reason: Word = None
    roster_sentence: OptName = None


class DelegationSpawned(_Fields):
    tool_name: Name
    products: list[PoolTool]
    tool_call_id: OptName = None
    child_run_id: OptName = None
    denied_tools: Aliases = None


class DelegationRefused(_Fields):
    tool_name: Name
    tool_call_id: OptName = None
    code: Word = None
    reason: Word = None


class CheckedCall(_Fields):
    tool_name: Name
    tool_call_id: Name
    outcome: Word = None


class CheckedCalls(_Fields):
    calls: list[CheckedCall] = []
    incomplete: Flag = False


class AnswerChecked(_Fields):
    tool_calls: CheckedCalls


# The table itself: event type (the framework's prefix left out) -> the fields that exist.
KEPT: Final[dict[str, type[_Fields]]] = {
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


class SaidText(Struct, frozen=True):
    """A text as it was said: `kind` is question, answer or classifier; `cut` when it was longer than 32 KiB."""

    kind: str
    text: str
    cut: bool = False


class Kept(Struct):
    """One event as kept. `type` without the framework's prefix; `body` is one of the structs of the table."""

    type: str
    meta: EventMeta
    body: Any
    texts: tuple[SaidText, ...] = ()
    oversized: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The subflow path of the event's stage: no trailing slash, the top is the empty string."""
        return (self.meta.runtime_stage_id or "").rpartition("/")[0]


class Dropped(Struct, frozen=True):
    """The list does not name this type. `known` tells the framework's own from types nobody knows."""

    known: bool


class Refused(Struct, frozen=True):
    """The event could not be read. `reason` names place, expectation and TYPE; `run_id` where it was readable."""

    code: str
    reason: str
    run_id: str | None = None


class _Envelope(Struct):
    type: str
    payload: Raw = Raw(b"{}")
    meta: Raw = Raw(b"{}")


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_meta = msgspec.json.Decoder(EventMeta).decode
_DECODERS: Final[dict[str, Callable[[Any], Any]]] = {
    name: msgspec.json.Decoder(struct).decode for name, struct in KEPT.items()
}
_SURROGATES = re.compile("[\ud800-\udfff]")
_NULLISH: Final = (b"", b"null")


def keep(line: bytes | str) -> Kept | Dropped | Refused:
    """Read one event (a JSON object, UTF-8) through the list. Never raises, whatever `line` holds."""
    try:
        return _keep(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _keep_odd(line)


def keep_object(event: object) -> Kept | Dropped | Refused:
    """Like :func:`keep` for an event that is already a Python object (a sender's dict). Never raises."""
    try:
        line = msgspec.json.encode(_mend(event, 0))
    except _TooDeep:
        return Refused("too-deep", f"event: expected at most {MAX_DEPTH} levels, got more")
    except (TypeError, ValueError, OverflowError, RecursionError):
        return Refused("unreadable", f"event: expected a JSON object, got {_json_type(event)}")
    return keep(line)


def encode(kept: Kept) -> bytes:
    """The kept event as a line of the wire: type, payload with its texts, meta. Inverse of :func:`keep`."""
    payload = msgspec.to_builtins(kept.body)
    for said in kept.texts:
        for (event_type, field), kind in TEXT_KINDS.items():
            if event_type == kept.type and kind == said.kind:
                payload[_camel(field)] = said.text
    name = kept.type if kept.type.startswith("footprint.") else PREFIX + kept.type
    return msgspec.json.encode({"type": name, "payload": payload, "meta": msgspec.to_builtins(kept.meta)})


def encode_body(kept: Kept) -> bytes:
    """What the record stores of an event besides its type: `{"m": meta, "p": payload, "o": oversized}`, no texts."""
    stored: dict[str, Any] = {"m": kept.meta, "p": kept.body}
    if kept.oversized:
        stored["o"] = kept.oversized
    return msgspec.json.encode(stored)


class _Stored(Struct):
    m: Raw = Raw(b"{}")
    p: Raw = Raw(b"{}")
    o: tuple[str, ...] = ()


_decode_stored = msgspec.json.Decoder(_Stored).decode


def decode_body(event_type: str, body: bytes | str) -> Kept:
    """A stored event again, read through the list once more (a rule that got stricter holds for old rows too)."""
    stored = _decode_stored(body)
    kept = Kept(event_type, _decode_meta(stored.m), _DECODERS[event_type](stored.p))
    _finish(kept)
    kept.oversized = tuple(dict.fromkeys((*stored.o, *kept.oversized)))
    return kept


# -- reading ------------------------------------------------------------------------------------


def _keep(line: bytes | str) -> Kept | Dropped | Refused:
    try:
        envelope = _decode_envelope(line)
    except msgspec.ValidationError as problem:
        return Refused("shape", _place("event", problem))
    name = envelope.type.removeprefix(PREFIX)
    decode = _DECODERS.get(name)
    # `agentfootprint.footprint.x` and a bare `stream.tool_end` are nobody's types.
    ours = name.startswith("footprint.")
    if decode is None or ours == (len(name) != len(envelope.type)):
        known = len(name) != len(envelope.type) and name.partition(".")[0] in DROPPED_DOMAINS
        return Dropped(known)
    try:
        meta = EventMeta() if bytes(envelope.meta) in _NULLISH else _decode_meta(envelope.meta)
    except msgspec.ValidationError as problem:
        return Refused("shape", _place("meta", problem))
    try:
        body = decode(b"{}" if bytes(envelope.payload) in _NULLISH else envelope.payload)
    except msgspec.ValidationError as problem:
        _finish_fields(meta, "", [], [])
        return Refused("shape", _place("payload", problem), meta.run_id)
    kept = Kept(name, meta, body)
    problem_words = _finish(kept)
    if problem_words:
        return Refused("shape", problem_words, kept.meta.run_id)
    return kept


def _keep_odd(line: bytes | str) -> Kept | Dropped | Refused:
    """The patient reader: lone surrogates, NaN, Infinity, huge numbers. Bounded in depth."""
    try:
        if isinstance(line, bytes):
            line = line.decode("utf-8", "surrogatepass")
        value = json.loads(line, parse_constant=lambda _: None, parse_float=_finite)
        mended = msgspec.json.encode(_mend(value, 0))
    except (RecursionError, _TooDeep):
        return Refused("too-deep", f"event: expected at most {MAX_DEPTH} levels, got more")
    except (ValueError, TypeError, OverflowError, msgspec.MsgspecError):
        return Refused("not-json", "event: expected one JSON object, got text that is not JSON")
    try:
        return _keep(mended)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return Refused("not-json", "event: expected one JSON object, got text that is not JSON")


class _TooDeep(Exception):
    pass


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _mend(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise _TooDeep
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value <= MAX_INT else float(value) if abs(value) < 10**300 else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {_mend(str(key), depth + 1): _mend(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mend(item, depth + 1) for item in value]
    return None  # an object only its own program understands: not JSON, so it does not exist here


def _json_type(value: object) -> str:
    names = {
        str: "string",
        bool: "boolean",
        int: "number",
        float: "number",
        dict: "object",
        type(None): "null",
    }
    return names.get(type(value), "list" if isinstance(value, (list, tuple)) else "something else")


_JSON_WORDS: Final = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "array": "list"}


def _place(root: str, problem: msgspec.ValidationError) -> str:
    """msgspec's sentence in our words: `payload.toolCallId: expected string, got number`."""
    text, _, where = str(problem).partition(" - at `$")
    place = root + where.rstrip("`")
    words = re.sub(r"`(\w+)( \| null)?`", lambda m: _JSON_WORDS.get(m[1], m[1]) + (m[2] or ""), text)
    return f"{place}: {words[:1].lower()}{words[1:]}"


# -- finishing: what a raw field means, by its kind ---------------------------------------------


def clean(text: str) -> str:
    """The text as it may rest: U+0000 shown as U+2400, a lone surrogate as U+FFFD."""
    if "\x00" in text:
        text = text.replace("\x00", "\u2400")
    return _SURROGATES.sub("\ufffd", text)


def _finish(kept: Kept) -> str | None:
    """Read every raw field by its kind, in place. Returns a problem only where a required name is unusable."""
    texts: list[SaidText] = []
    oversized: list[str] = []
    _finish_fields(kept.meta, kept.type, texts, oversized)
    if "run_id" in oversized:
        return f"meta.runId: expected at most {MAX_TOOL_CALL_TEXT} characters, got more"
    if "runtime_stage_id" in oversized:
        return f"meta.runtimeStageId: expected at most {MAX_STAGE_CHARS} characters, got more"
    oversized.clear()  # an oversized session or tenant is "not recorded"; it says nothing about the ledger
    _finish_fields(kept.body, kept.type, texts, oversized)
    kept.texts = tuple(texts)
    kept.oversized = tuple(oversized)
    return None


def _finish_fields(shape: Any, event_type: str, texts: list[SaidText], oversized: list[str]) -> None:
    for field, kind in _PLANS[type(shape)]:
        value = getattr(shape, field)
        if value is None or value is False:
            continue
        if kind == "name":
            name = clean(value)
            if utf16_length(name) > MAX_TOOL_CALL_TEXT:
                oversized.append(field)
                name = ""
            if name != value:
                setattr(shape, field, name)
        elif kind == "struct":
            _finish_fields(value, event_type, texts, oversized)
        elif kind == "structs":
            _finish_items(shape, field, value, event_type, texts, oversized)
        elif kind in ("names", "opt_names"):
            kept_names = [clean(name) for name in value if utf16_length(name) <= MAX_TOOL_CALL_TEXT]
            if len(kept_names) != len(value):
                oversized.append(field)
            setattr(shape, field, kept_names)
        elif kind == "number":
            if not math.isfinite(value):
                setattr(shape, field, None)
        elif kind == "text":
            text = _read_string(value)
            setattr(shape, field, None)
            if text is not None and event_type:
                texts.append(_said(TEXT_KINDS[event_type, field], text))
        elif kind == "roster":
            _read_roster(shape, value)
        elif kind == "declared":
            _read_declared(shape, value)
        else:
            limit = MAX_STAGE_CHARS if field == "runtime_stage_id" else MAX_TOOL_CALL_TEXT
            setattr(shape, field, _READERS[kind](value, field, limit, oversized))


def _finish_items(
    shape: Any, field: str, items: list[Any], event_type: str, texts: list[SaidText], oversized: list[str]
) -> None:
    kept_items = []
    for item in items:
        before = len(oversized)
        _finish_fields(item, event_type, texts, oversized)
        if len(oversized) == before:
            kept_items.append(item)
    setattr(shape, field, kept_items)


def _said(kind: str, text: str) -> SaidText:
    data = text.encode("utf-8")
    if len(data) <= MAX_TEXT_BYTES:
        return SaidText(kind, text)
    return SaidText(kind, data[:MAX_TEXT_BYTES].decode("utf-8", "ignore"), cut=True)


def _read_string(raw: Any) -> str | None:
    value = _load(raw)
    return clean(value) if isinstance(value, str) else None


def _load(raw: Any) -> Any:
    if not isinstance(raw, Raw):
        return raw
    data = bytes(raw)
    if data[:1] in b"[{":
        return None  # containers are never a scalar's value; not even unpacked
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError):
        return None


def _read_opt_name(raw: Any, field: str, limit: int, oversized: list[str]) -> str | None:
    text = _read_string(raw)
    if text is not None and utf16_length(text) > limit:
        oversized.append(field)
        return None
    return text


def _read_word(raw: Any, field: str, limit: int, oversized: list[str]) -> str | None:
    value = _load(raw)
    if value is None and bytes(raw) == b"null":
        return None
    return value if isinstance(value, str) and value in WORDS[field] else "other"


def _read_flag(raw: Any, field: str, limit: int, oversized: list[str]) -> bool:
    return bytes(raw) not in (b"false", b"null", b"0", b'""') if isinstance(raw, Raw) else bool(raw)


def _read_presence(raw: Any, field: str, limit: int, oversized: list[str]) -> bool:
    return bytes(raw) not in (b"null", b"false") if isinstance(raw, Raw) else bool(raw)


def _read_opt_count(raw: Any, field: str, limit: int, oversized: list[str]) -> int | None:
    value = _load(raw)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INT else None


def _read_millis(raw: Any, field: str, limit: int, oversized: list[str]) -> int | None:
    value = _load(raw)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LONGEST_MS:
        return None
    return round(value)


def _read_clock(raw: Any, field: str, limit: int, oversized: list[str]) -> int | None:
    value = _load(raw)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if CLOCK_FROM_MS <= value < CLOCK_TO_MS else None


def _read_label(raw: Any, field: str, limit: int, oversized: list[str]) -> str | None:
    text = _read_string(raw)
    return None if text is None else text[:MAX_LABEL_CHARS]


def _read_length(raw: Any, field: str, limit: int, oversized: list[str]) -> int | None:
    if isinstance(raw, int):
        return raw
    data = bytes(raw)
    if data[:1] == b"[":
        return len(msgspec.json.decode(data, type=list[Raw]))
    return _read_opt_count(raw, field, limit, oversized)  # our own stored form: the number itself


def _read_declared(shape: DeclaredTool, raw: Any) -> None:
    value = _load(raw)
    if value is None and isinstance(raw, Raw) and bytes(raw) != b"null":
        value = msgspec.json.decode(bytes(raw))  # a list or an object: the rule names its type
    shape.display_name = None
    if value is None:
        return
    problem = display_name.display_name_problem("displayName", value)
    if problem is None:
        shape.display_name = display_name.read_display_name(value)
    else:
        shape.display_name_problem = problem


def _read_roster(shape: DelegationDeclared, raw: Any) -> None:
    value = msgspec.json.decode(bytes(raw)) if isinstance(raw, Raw) else raw
    shape.extra_tool_names = None
    has_factory = (
        shape.has_factory if isinstance(shape.has_factory, bool) else _read_flag(shape.has_factory, "", 0, [])
    )
    try:
        entries = roster.read_extra_tool_names(value, has_factory)
    except roster.ExtraToolNamesError as refusal:
        shape.roster_reason, shape.roster_sentence = refusal.reason, str(refusal)
        return
    shape.extra_tool_names = [
        {
            key: item
            for key, item in (
                ("name", clean(entry.name)),
                ("aliases", None if entry.aliases is None else [clean(alias) for alias in entry.aliases]),
                ("contentOrigin", entry.content_origin),
            )
            if item is not None
        }
        for entry in entries
    ]


_READERS: Final[dict[str, Callable[[Any, str, int, list[str]], Any]]] = {
    "opt_name": _read_opt_name,
    "word": _read_word,
    "flag": _read_flag,
    "presence": _read_presence,
    "opt_count": _read_opt_count,
    "millis": _read_millis,
    "clock": _read_clock,
    "label": _read_label,
    "length": _read_length,
}


# -- the table as data: for the JavaScript sender and the docs ----------------------------------


def _kind_of(annotation: Any) -> tuple[str, type[_Fields] | None]:
    """The kind of one annotated field, and the nested struct where it holds one or a list of them."""
    for option in (annotation, *get_args(annotation)):
        for extra in getattr(option, "__metadata__", ()):
            if isinstance(extra, Meta) and extra.extra:
                return extra.extra["kind"], None
        if get_origin(option) is list:
            return "structs", get_args(option)[0]
        if isinstance(option, type) and issubclass(option, _Fields):
            return "struct", option
    if float in (annotation, *get_args(annotation)):
        return "number", None
    return "plain", None


def _hints(struct: type[_Fields]) -> dict[str, Any]:
    return get_type_hints(struct, globals(), include_extras=True)


def _structs() -> Iterator[type[_Fields]]:
    waiting: list[type[_Fields]] = [EventMeta, *KEPT.values()]
    seen: set[type[_Fields]] = set()
    while waiting:
        struct = waiting.pop()
        if struct in seen:
            continue
        seen.add(struct)
        yield struct
        waiting.extend(nested for _, nested in map(_kind_of, _hints(struct).values()) if nested)


# field order matters for the roster: it reads `has_factory`, which stands before it
_PLANS: Final[dict[type, tuple[tuple[str, str], ...]]] = {
    struct: tuple(
        (field, kind)
        for field, kind in ((field, _kind_of(hint)[0]) for field, hint in _hints(struct).items())
        if kind not in ("count", "plain")
    )
    for struct in _structs()
}


def _camel(field: str) -> str:
    head, *rest = field.split("_")
    return head + "".join(part.title() for part in rest)


def _describe(struct: type[_Fields]) -> dict[str, Any]:
    shape: dict[str, Any] = {}
    for field, hint in _hints(struct).items():
        kind, nested = _kind_of(hint)
        shape[_camel(field)] = {kind: _describe(nested)} if nested else kind
    return shape


def table() -> dict[str, Any]:
    """The allow-list as plain data: `{"meta": {field: kind}, "events": {full type: {field: kind}}}`.

    A nested object is `{"struct": {...}}`, a list of objects `{"structs": {...}}`.
    """
    return {
        "meta": _describe(EventMeta),
        "events": {
            (name if name.startswith("footprint.") else PREFIX + name): _describe(struct)
            for name, struct in KEPT.items()
        },
    }
