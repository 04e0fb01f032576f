"""Why an event was not kept: every code that a refusal may have, and what it says in words."""

from __future__ import annotations

from typing import Final

CODES: Final = {
    "not-json": "it was not JSON",
    "shape": "a field was of another kind than expected",
    "too-deep": "it was nested too deep",
    "too-large": "it was larger than the limit",
    "unreadable": "it was not a JSON object",
    "unstorable": "the database could not store it",
}
