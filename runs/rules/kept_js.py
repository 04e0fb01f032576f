"""The allow-list as an ES module: what the JavaScript sender keeps is written from the one table, never by hand.

``make kept-js`` writes it to static/js/footprint-kept.js; a test fails while that file says something else.
"""

from __future__ import annotations

import json
from typing import Any

from runs.rules import kept, kept_kinds, roster, tool_choice
from runs.rules.tool_ledger import MAX_TOOL_CALL_TEXT

MODULE = "static/js/footprint-kept.js"
"""Where the module lies in a checkout."""

_HEAD = """\
// Which fields of which events are kept. Written from runs/rules/kept.py by `make kept-js`: change it there.
// A field that is not listed does not exist; the word beside a field says how footprint-filter.js reads it.
"""


def module() -> str:
    """The whole text of the module. The same table gives the same text."""
    table = kept.table()
    limits = {
        "nameUnits": MAX_TOOL_CALL_TEXT,
        "stageUnits": kept_kinds.MAX_STAGE_CHARS,
        "labelChars": kept_kinds.MAX_LABEL_CHARS,
        "textBytes": kept_kinds.MAX_TEXT_BYTES,
        "longestMs": kept_kinds.LONGEST_MS,
        "clockFromMs": kept_kinds.CLOCK_FROM_MS,
        "clockToMs": kept_kinds.CLOCK_TO_MS,
    }
    words = {kept_kinds.camel(field): sorted(words) for field, words in kept_kinds.WORDS.items()}
    parts = [
        _HEAD,
        f"export const LIMITS = {_line(limits)};\n",
        _constant("META", table["meta"]),
        _constant("EVENTS", table["events"]),
        '// The closed words of a `word` field; everything else is "other".\n' + _constant("WORDS", words),
        f"export const CONTENT_CLASSES = {_line([str(word) for word in roster.CONTENT_CLASSES])};\n",
        "// The tools that are always served, whatever a narrowing leaves out.\n"
        f"export const ALWAYS_SERVED = {_line(list(tool_choice.ALWAYS_SERVED_TOOLS))};\n",
    ]
    return "\n".join(parts)


def _constant(name: str, value: dict[str, Any]) -> str:
    """One entry a line, so that a change of the table is a change of few lines."""
    lines = "".join(f"  {json.dumps(key)}: {_line(item)},\n" for key, item in value.items())
    return f"export const {name} = {{\n{lines}}};\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


if __name__ == "__main__":
    print(module(), end="")
