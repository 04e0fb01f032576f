"""The tables. Only `runs.store` and `runs.admin` import this room.

* **people's own** rows (`people.py`: Project, Membership, Token, DisplayName): written by forms and admin;
* **what came in** (`came_in.py`: Stream, Hole, KeptEvent, Note, Text, Tombstone): appended by the writer, never folded
  away;
* **the record** (`record.py`: Run, Answer, Leg, ToolCall, ...): made from events and notes by `record/fold.py`, one
  *epoch* at a time, and remade by `manage.py rebuild`. Never edited by hand.

Ids of kept events, notes and record rows are not drawn by the database: they are `project.id << 40 | n`, `n` from a
counter on the project's row that is only touched under the project's lock (docs/decisions/004-positions-and-ids.md).
Received times are UTC milliseconds (`*_ms`), on the server's clock; `*_clock_ms` are the sender's.
"""

from __future__ import annotations

from runs.models.came_in import (
    Hole,
    KeptEvent,
    Note,
    Stream,
    Text,
    Tombstone,
)
from runs.models.people import (
    ID_BITS,
    LEAVING,
    DisplayName,
    Membership,
    Project,
    Role,
    Token,
    new_key,
    new_secret,
)
from runs.models.record import (
    FACETS,
    Answer,
    ChoiceCall,
    ChoiceRow,
    DeclaredName,
    Leg,
    RecordRow,
    Roster,
    Run,
    SecondReading,
    SeenName,
    Spawn,
    StreamMemory,
    ToolCall,
    Violation,
    Waiting,
)

__all__ = [
    "FACETS",
    "ID_BITS",
    "LEAVING",
    "Answer",
    "ChoiceCall",
    "ChoiceRow",
    "DeclaredName",
    "DisplayName",
    "Hole",
    "KeptEvent",
    "Leg",
    "Membership",
    "Note",
    "Project",
    "RecordRow",
    "Role",
    "Roster",
    "Run",
    "SecondReading",
    "SeenName",
    "Spawn",
    "Stream",
    "StreamMemory",
    "Text",
    "Token",
    "Tombstone",
    "ToolCall",
    "Violation",
    "Waiting",
    "new_key",
    "new_secret",
]
