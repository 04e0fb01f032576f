"""Events in which everything that the allow-list does not name is a canary: a unique marker, as a key and as a value.

What is listed stays as it was, so that the events are kept; a listed field of a kind that keeps no text (a flag, a
presence, a length, a closed word) is filled with canaries too. None may ever be seen again.
"""

import itertools
import json
import re
from typing import Any

from runs.rules.kept import table
from runs.rules.kept_kinds import WORDS
from runs.rules.kept_odd import MAX_DEPTH
from tests.lines import NOW_MS

CANARY = re.compile(r"zq[0-9a-f]{14}zq")
KEPT_TEXT = ("name", "opt_name", "names", "opt_names", "label", "text", "declared", "roster")
NUMBERS = ("count", "opt_count", "millis", "clock", "number", "plain")

_number = itertools.count(1)


def canary() -> str:
    return f"zq{next(_number):014x}zq"


def found_in(text: str) -> list[str]:
    return sorted(set(CANARY.findall(text)))


def planted(line: str) -> str:
    """The event of this line, with canaries wherever nothing is listed."""
    event, listed = json.loads(line), table()
    shape = listed["events"].get(event.get("type"))
    told = {
        "type": event["type"],
        "payload": _all(event.get("payload")) if shape is None else _within(event.get("payload"), shape),
        "meta": _within(event.get("meta"), listed["meta"]),
        canary(): {canary(): [canary()]},
    }
    return json.dumps(told)


def _within(value: Any, shape: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return _all(value)
    told: dict[str, Any] = {canary(): canary(), canary(): {canary(): [canary(), {canary(): canary()}]}}
    for field, item in value.items():
        if field not in shape:
            told[canary()] = _all(item)
        elif isinstance(shape[field], str):
            told[field] = _by_kind(field, shape[field], item)
        else:
            [inner] = shape[field].values()
            told[field] = (
                [_within(one, inner) for one in item] if isinstance(item, list) else _within(item, inner)
            )
    return told


def _by_kind(field: str, kind: str, item: Any) -> Any:
    if kind in KEPT_TEXT:
        return item
    if kind == "word":
        column = "".join(f"_{c.lower()}" if c.isupper() else c for c in field)
        return item if item in WORDS[column] else canary()
    if kind == "length" and isinstance(item, list):
        return [_all(one) for one in item]
    if kind in NUMBERS and not isinstance(item, str):
        return item
    if kind == "flag" and item in (False, None):
        return item
    return {canary(): canary()} if item else _all(item)


def _all(value: Any) -> Any:
    """Every key and every string a canary."""
    if isinstance(value, dict):
        return {canary(): _all(item) for item in value.values()}
    if isinstance(value, list):
        return [_all(item) for item in value]
    return canary() if isinstance(value, str) else value


def refused_lines(run: str) -> list[str]:
    """One event for every way of being refused or dropped, each full of canaries."""
    meta = f'{{"runId":"{run}","wallClockMs":{NOW_MS},"{canary()}":"{canary()}"}}'
    c = canary

    def event(kind: str, payload: str, meta: str = meta) -> str:
        return f'{{"type":"agentfootprint.{kind}","payload":{payload},"meta":{meta},"{c()}":"{c()}"}}'

    deep = MAX_DEPTH * 600
    return [
        event("stream.tool_start", f'{{"toolName":{{"{c()}":"{c()}"}},"toolCallId":"a"}}'),
        event("stream.tool_start", f'{{"toolName":["{c()}"],"toolCallId":"a"}}'),
        event("stream.tool_start", f'{{"args":{{"{c()}":"{c()}"}}}}'),
        event("stream.tool_end", f'{{"toolCallId":7,"result":"{c()}"}}'),
        event("stream.tool_end", f'{{"toolCallId":null,"result":"{c()}"}}'),
        event("stream.llm_end", f'{{"toolCallCount":"{c()}","content":"{c()}"}}'),
        event("stream.llm_end", f'{{"toolCallCount":-1,"content":"{c()}"}}'),
        event("stream.llm_start", f'{{"tools":[{{"name":{{"{c()}":1}}}}],"messages":["{c()}"]}}'),
        event("stream.llm_start", f'"{c()}"'),
        event("stream.llm_start", f'["{c()}"]'),
        event("stream.llm_start", "{}", f'"{c()}"'),
        event("stream.llm_start", "{}", f'{{"compositionPath":{{"{c()}":"{c()}"}}}}'),
        event("stream.llm_start", "{}", f'{{"runId":"{c() * 20}"}}'),
        event("tool_choice.picked", f'{{"confidence":"{c()}"}}'),
        event(
            "stream.tool_start", f'{{"toolName":"t","toolCallId":"a","args":{"[" * deep}"{c()}"{"]" * deep}}}'
        ),
        event("stream.tool_start", f'{{"toolName":NaN,"toolCallId":"a","args":"{c()}\\ud83d"}}'),
        event("stream.tool_start", f'{{"toolName":"t","toolCallId":"a","args":"{c()}\x00"}}'),
        event("stream.tool_start", f'{{"toolName":"t","toolCallId":"a","args":"{c()}"')[:-40],
        event("agent.turn_start", f'{{"userPrompt":{{"{c()}":"{c()}"}}}}'),
        event(c(), f'{{"{c()}":"{c()}"}}'),
        f'{{"type":"{c()}","payload":"{c()}"}}',
        f'{{"type":{{"{c()}":"{c()}"}}}}',
        f'{{"{c()}":"{c()}"}}',
        f'["{c()}"]',
        f'"{c()}"',
        c(),
        f'{{"type":"footprint.tools.declared","payload":{{"tools":{{"{c()}":"{c()}"}}}},"meta":{meta}}}',
        '{"type":"footprint.tools.declared","payload":{"tools":[{"name":"t","displayName":'
        f'["{c()}"]}},{{"name":"u","displayName":"{c() * 9}"}},'
        f'{{"name":"v","displayName":{{"{c()}":1}}}}]}},"meta":{meta}}}',
        '{"type":"footprint.delegation.declared","payload":{"toolName":"d","hasFactory":true,"extraToolNames":'
        f'[{{"name":"a","{c()}":"{c()}"}},{{"name":{{"{c()}":"{c()}"}}}}]}},"meta":{meta}}}',
        '{"type":"footprint.delegation.declared","payload":{"toolName":"d","hasFactory":true,"extraToolNames":'
        f'[{{"name":"a","contentOrigin":"{c()}"}}]}},"meta":{meta}}}',
        '{"type":"footprint.delegation.declared","payload":{"toolName":"d","hasFactory":true,"extraToolNames":'
        f'{{"{c()}":"{c()}"}}}},"meta":{meta}}}',
    ]
