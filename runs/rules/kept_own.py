"""The shapes of this product's own events (`footprint.*`), part of the table in kept.py."""

from __future__ import annotations

from runs.rules.kept_kinds import (
    Aliases,
    Count,
    Declared,
    Fields,
    Flag,
    Label,
    Millis,
    Name,
    Names,
    OptCount,
    OptName,
    RosterValue,
    Text,
    Word,
)


class RowClassifier(Fields):
    name: OptName = None
    model: OptName = None


class RowScore(Fields):
    name: Name
    score: float


class RowUsage(Fields):
    input_tokens: OptCount = None
    output_tokens: OptCount = None


class RowMiss(Fields):
    wanted: Names = []


class ToolChoiceRow(Fields):
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


class DeclaredTool(Fields):
    """A tool as its app declares it; a refused display name keeps its problem, never its value."""

    name: Name
    display_name: Declared = None
    display_name_problem: OptName = None
    description: Label = None


class ToolsDeclared(Fields):
    tools: list[DeclaredTool]


class PoolTool(Fields):
    name: Name
    aliases: Aliases = None
    content_origin: Word = None


class DelegationDeclared(Fields):
    """A delegation tool's declaration; `roster_reason`/`roster_sentence` when the roster is not one."""

    tool_name: Name
    has_factory: Flag = False
    static_pool: list[PoolTool] | None = None
    inherited_surface: list[PoolTool] | None = None
    extra_tool_names: RosterValue = None
    roster_reason: Word = None
    roster_sentence: OptName = None


class DelegationSpawned(Fields):
    tool_name: Name
    products: list[PoolTool]
    tool_call_id: OptName = None
    child_run_id: OptName = None
    denied_tools: Aliases = None


class DelegationRefused(Fields):
    tool_name: Name
    tool_call_id: OptName = None
    code: Word = None
    reason: Word = None


class CheckedCall(Fields):
    tool_name: Name
    tool_call_id: Name
    outcome: Word = None


class CheckedCalls(Fields):
    calls: list[CheckedCall] = []
    incomplete: Flag = False


class AnswerChecked(Fields):
    tool_calls: CheckedCalls
