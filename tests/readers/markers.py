"""Recordings whose every word of the model's side is a unique marker of 16 characters, and a stream of our own.

`disguise` rewrites tool names, aliases, call ids, skill ids, agents, compositions, branches, providers and models
wherever they stand as a whole value (and inside subflow paths); `own_stream` adds what recordings do not have: tool
choice with a classifier's words, rosters, spawns, violations, declared names.
"""

import hashlib
import json
from typing import Any

from tests import recordings

# Keys whose string values belong to the model's side, wherever they occur in an event.
NAMING = frozenset(
    ["toolName", "toolCallId", "target", "agentId", "provider", "model", "tool", "id", "name", "requestedId"]
    + ["currentSkillId", "skillId", "conditionalId", "chosen", "fromProvider", "toProvider", "providerUsed"]
    + [
        "primary",
        "fallback",
        "scope",
        "middleware",
        "providerName",
        "sourceId",
        "loopId",
        "parentId",
        "branchId",
    ]
)
LEFT_ALONE = frozenset(["run", "agent", "mock", ""])  # words that are also English or the protocol's own


PREFIX = "zq"  # of every marker; no English word has it


def marker(word: str) -> str:
    return PREFIX + hashlib.sha256(word.encode("utf-8", "replace")).hexdigest()[:14]


class Disguise:
    """Rewrites whole events; `words` maps each word of the model's side to its marker."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}

    @property
    def markers(self) -> frozenset[str]:
        return frozenset(self.words.values())

    def mask(self, word: str) -> str:
        return self.words.setdefault(word, marker(word))

    def lines(self, name: str) -> list[str]:
        events = [json.loads(line) for line in recordings.lines(name)]
        for event in events:
            self._learn(event.get("payload"))
            for segment in event.get("meta", {}).get("compositionPath") or ():
                self.mask(segment.partition(":")[2])
            path = event.get("meta", {}).get("runtimeStageId", "").rpartition("/")[0]
            for segment in path.split("/"):
                if segment and not segment.startswith(("sf-", "final")):
                    self.mask(segment)
        return [json.dumps(self._rewrite(event)) for event in events]

    def _learn(self, value: Any) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                if key in NAMING and isinstance(item, str) and item not in LEFT_ALONE:
                    self.mask(item)
                self._learn(item)
        elif isinstance(value, list):
            for item in value:
                self._learn(item)

    def _rewrite(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self._rewrite(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self._rewrite(item, key) for item in value]
        if isinstance(value, str):
            if key == "runtimeStageId":
                path, slash, stage = value.rpartition("/")
                return "/".join(self.words.get(part, part) for part in path.split("/")) + slash + stage
            if key == "compositionPath":
                kind, colon, name = value.partition(":")
                return kind + colon + self.words.get(name, name)
            return self.words.get(value, value) if key in NAMING else value
        return value


def own_stream(disguise: Disguise, run: str = "run-own") -> list[str]:
    """One run with everything recordings lack; its question quotes a tool's name, as people do."""
    m = disguise.mask
    for word in (
        "own tool",
        "second tool",
        "alias",
        "classifier",
        "classifier model",
        "delegate",
        "child",
        "skill",
    ):
        m(word)
    said = f"Why did {m('own tool')} not run?"
    events: list[tuple[str, dict[str, Any]]] = [
        (
            "agentfootprint.agent.run_configured",
            {"agentId": m("own agent"), "llm": {"provider": m("own provider"), "model": m("own model")}},
        ),
        (
            "footprint.tools.declared",
            {
                "tools": [
                    {"name": m("own tool"), "displayName": "opening the own drawer"},
                    {
                        "name": m("second tool"),
                        "displayName": m("own tool"),
                    },  # a name that is a registered name: left out
                    {"name": m("third tool"), "displayName": m("alias")},
                ]
            },
        ),
        (
            "footprint.delegation.declared",
            {
                "toolName": m("delegate"),
                "hasFactory": True,
                "staticPool": [{"name": m("pool tool")}],
                "extraToolNames": [
                    {"name": m("declared extra"), "aliases": [m("alias")], "contentOrigin": "internal"}
                ],
            },
        ),
        ("agentfootprint.agent.turn_start", {"userPrompt": said}),
        ("agentfootprint.agent.iteration_start", {"iterIndex": 1}),
        (
            "footprint.tool_choice.row",
            {
                "kind": "pick",
                "iteration": 1,
                "source": "classifier",
                "classifier": {"name": m("classifier"), "model": m("classifier model")},
                "offered": [m("own tool"), m("second tool"), m("third tool")],
                "ranked": [{"name": m("own tool"), "score": 0.7}, {"name": m("second tool"), "score": 0.2}],
                "chosen": m("own tool"),
                "confidence": 0.7,
                "latencyMs": 5,
                "served": [m("own tool"), "read_skill"],
                "narrowed": True,
                "top": 1,
                "doors": ["read_skill"],
                "wire": [m("own tool"), m("second tool"), m("third tool"), "read_skill"],
            },
        ),
        (
            "agentfootprint.stream.llm_start",
            {
                "iteration": 1,
                "provider": m("own provider"),
                "model": m("own model"),
                "messagesCount": 1,
                "toolsCount": 1,
                "tools": [{"name": m("own tool"), "description": m("a description")}],
                "brain": {"skillId": m("skill")},
            },
        ),
        (
            "agentfootprint.stream.llm_end",
            {"iteration": 1, "toolCallCount": 3, "usage": {"input": 5, "output": 5}},
        ),
        (
            "footprint.tool_choice.row",
            {
                "kind": "outcome",
                "iteration": 1,
                "called": [m("own tool"), m("third tool")],
                "firstAgrees": True,
                "miss": {"wanted": [m("third tool")]},
            },
        ),
        ("agentfootprint.stream.tool_start", {"toolName": m("own tool"), "toolCallId": m("call a")}),
        (
            "agentfootprint.permission.check",
            {"capability": "tool_call", "target": m("own tool"), "result": "deny"},
        ),
        ("agentfootprint.stream.tool_end", {"toolCallId": m("call a")}),
        ("agentfootprint.stream.tool_start", {"toolName": m("third tool"), "toolCallId": m("call b")}),
        ("agentfootprint.stream.tool_end", {"toolCallId": m("call b"), "error": True}),
        ("agentfootprint.stream.tool_start", {"toolName": m("delegate"), "toolCallId": m("call c")}),
        (
            "footprint.delegation.spawned",
            {
                "toolName": m("delegate"),
                "toolCallId": m("call c"),
                "childRunId": m("child"),
                "products": [
                    {"name": m("stray product"), "aliases": [m("stray alias")], "contentOrigin": "external"}
                ],
                "deniedTools": [m("denied")],
            },
        ),
        (
            "footprint.delegation.refused",
            {"toolName": m("delegate"), "code": "config.extra_tool_names", "reason": "undeclared_name"},
        ),
        ("agentfootprint.stream.tool_end", {"toolCallId": m("call c")}),
        (
            "footprint.tool_choice.row",
            {
                "kind": "pick-error",
                "iteration": 2,
                "source": "classifier",
                "classifier": {"name": m("classifier")},
                "status": 503,
                "message": f"{m('classifier words')} said no",
                "latencyMs": 9,
                "served": [m("own tool")],
                "narrowedSkipped": "unavailable",
            },
        ),
        (
            "footprint.answer.checked",
            {
                "toolCalls": {
                    "calls": [{"toolName": m("own tool"), "toolCallId": m("call a"), "outcome": "ok"}],
                    "incomplete": False,
                }
            },
        ),
        ("agentfootprint.skill.rejected", {"requestedId": m("skill")}),
        ("agentfootprint.agent.turn_end", {"finalContent": "It was not allowed to.", "iterationCount": 1}),
        ("agentfootprint.integrity.disposition", {}),
    ]
    meta = {
        "runId": run,
        "sessionId": m("session"),
        "principal": "kari@northwind.example",
        "wallClockMs": 1796068520644,
        "runOffsetMs": 1,
        "runtimeStageId": "call-llm#1",
        "compositionPath": [],
    }
    return [json.dumps({"type": kind, "payload": payload, "meta": meta}) for kind, payload in events]
