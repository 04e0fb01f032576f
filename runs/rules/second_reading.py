"""Second readings: the dashboard's own classifier, asked after the fact about runs that came without one.

They explain nothing that happened: no call was narrowed by them and the agent never had them. So they are marked
``source: dashboard`` and kept apart from the run's own rows.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from runs.rules.tool_choice import Pick, PickResult

SOURCE: Final = "dashboard"
READERS: Final = {
    "lexical": "Lexical: by the words they share",
    "embedding": "Embedding: by what they mean",
}
"""The classifiers a project may choose. Neither sends anything anywhere."""


def reader_problem(name: str) -> str | None:
    """Why `name` cannot be a project's second reader, or None. Empty is off."""
    return None if not name or name in READERS else "The second reader must be one of the list, or off."


def second_row(pick: PickResult, iteration: int, offered: list[str]) -> str:
    """The reading as JSON: a row as an agent would file it, but for its source. It says nothing of what was served."""
    row: dict[str, Any] = {
        "kind": "pick" if isinstance(pick, Pick) else "pick-error",
        "iteration": iteration,
        "source": SOURCE,
        "offered": offered,
        **msgspec.to_builtins(pick),
    }
    return msgspec.json.encode(row).decode()
