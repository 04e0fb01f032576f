"""The allow-list as a table for people: the part of docs/wire.md between its two marks is written from the one table.

``make kept-doc`` writes it; a test fails while the page says something else.
"""

from __future__ import annotations

import sys
from typing import Final

import msgspec

from runs.rules.kept import KEPT, EventMeta
from runs.rules.kept_kinds import WORDS, Fields, camel, kinds_in
from runs.rules.kept_reading import full_type

BEGIN: Final = "<!-- written by `make kept-doc` -->"
END: Final = "<!-- end of what is written -->"

# What is said behind a field of this kind; the others are plain strings, words and numbers.
_MARKS: Final = {
    "text": "\\*",
    "presence": " (presence)",
    "length": " (how many)",
    "declared": " (by the rule)",
    "roster": " (by the rule)",
}


def page(text: str) -> str:
    """docs/wire.md with its table as the list says now. Raises ValueError where a mark is missing."""
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    return f"{before}{BEGIN}\n{section()}{END}{after}"


def section() -> str:
    """The table and the closed words, as Markdown."""
    lines = ["| event | kept |", "|---|---|", f"| every event | `type`; meta: {_fields(EventMeta)} |"]
    lines += [f"| `{full_type(name)}` | {_fields(shape) or 'presence'} |" for name, shape in KEPT.items()]
    lines += ["", "| a word | may be |", "|---|---|"]
    lines += [f"| `{camel(field)}` | {', '.join(sorted(words))} |" for field, words in WORDS.items()]
    return "\n".join(lines) + "\n"


def _fields(shape: type[Fields]) -> str:
    required = {field.name for field in msgspec.structs.fields(shape) if field.required}
    told = []
    for field, (kind, nested) in kinds_in(shape).items():
        name = f"**`{camel(field)}`**" if field in required else f"`{camel(field)}`"
        several = "[]" if kind in ("structs", "names", "opt_names", "roster") else ""
        told.append(f"{name}{several}{_MARKS.get(kind, '')}" + (f" {{{_fields(nested)}}}" if nested else ""))
    return ", ".join(told)


if __name__ == "__main__":
    print(page(sys.stdin.read()), end="")
