"""The recorded streams that tests are told by. Sources and licences: the README of each folder."""

import json
import os
from pathlib import Path
from typing import Any

# Any team can run the same tests on recordings of its own.
FOLDER = Path(os.environ.get("FOOTPRINT_RECORDINGS") or Path(__file__).parent / "agentfootprint")


def names() -> list[str]:
    return sorted(path.name for path in FOLDER.glob("*.jsonl"))


def lines(name: str) -> list[str]:
    """One event a line. Only line feeds part lines: U+2028 occurs inside events."""
    return [line for line in (FOLDER / name).read_text("utf-8", "surrogatepass").split("\n") if line]


def facts() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((FOLDER / "facts.json").read_text("utf-8"))
    return found
