"""What the answer page is made of, for a reader and for an operator.

`ReaderAnswer` and everything in it has no field that could hold a registered name, an id, a path, a model or an agent:
what a reader must not see has nowhere to stand. `OperatorAnswer` holds the reader's page and what lies behind it. The
two meet in `OperatorCall.seen` and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

from runs.pages.fragments import LiveTag
from runs.pages.timeline import Timeline
from runs.rules.vocabulary import Ending, IncompleteReason, NarrowSkip, Outcome, RosterReason, ToolStatus


@dataclass(frozen=True, slots=True)
class Said:
    """A question or an answer as it was said; `note` stands in its place, or after a text that was cut."""

    text: str | None
    note: str


@dataclass(frozen=True, slots=True)
class Grounds:
    """One sentence of what the answer rests on; `href` leads to the `calls` it was made from."""

    sentence: str
    outcome: Outcome | None
    calls: int
    href: str


@dataclass(frozen=True, slots=True)
class NotKnown:
    """One thing the page cannot know; `href` leads to the rows it was made from, where there are any."""

    sentence: str
    reason: IncompleteReason
    href: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What narrowing did, as a sentence without names, and in how many steps."""

    sentence: str
    steps: int


@dataclass(frozen=True, slots=True)
class SeenCall:
    """One call in the app's words. `word` is the outcome's, or ``running``."""

    number: int
    words: str
    named: bool
    outcome: Outcome
    word: str
    opened_ms: int | None
    took: str
    late: bool


@dataclass(frozen=True, slots=True)
class SeenBlock:
    """Calls next to each other that read the same, folded into one line; mostly one call."""

    first: SeenCall
    calls: tuple[SeenCall, ...]
    often: str


@dataclass(frozen=True, slots=True)
class CallList:
    """Which of the calls stand on the page. `more_href` is empty at the end of the list."""

    through: int
    whole: bool
    shown: int
    of: int
    only: Outcome | None
    all_href: str
    more_href: str


@dataclass(frozen=True, slots=True)
class ReaderAnswer:
    """The page of a reader, top to bottom."""

    slug: str
    title: str
    run_href: str
    turn: str
    question: Said
    answer: Said
    asked_by: str
    ending: Ending
    stands: str
    running: bool
    opened_ms: int
    ended_ms: int | None
    took: str
    pauses: str
    late: bool
    rests_on: tuple[Grounds, ...]
    complete: bool
    verdict: str
    cannot_know: tuple[NotKnown, ...]
    shown: tuple[Effect, ...]
    helpers: str
    roster_problems: tuple[str, ...]
    blocks: tuple[SeenBlock, ...]
    list: CallList
    words_then: bool
    words_href: str
    live: LiveTag | None


# -- what only operators see ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """One call with what lies behind it. `tool` None: an end came and no start."""

    seen: SeenCall
    tool: str | None
    call_id: str
    status: ToolStatus | None
    iteration: int
    path: str
    leg: int


@dataclass(frozen=True, slots=True)
class OperatorBlock:
    first: OperatorCall
    calls: tuple[OperatorCall, ...]
    often: str


@dataclass(frozen=True, slots=True)
class MenuItem:
    """One tool of the menu of a model call. `state`: held (a door, always served), served, left out."""

    place: int
    tool: str
    words: str
    state: str
    chosen: bool
    called: bool


@dataclass(frozen=True, slots=True)
class RankBar:
    """One tool of the classifier's ranking; `width` of 100 is the highest score."""

    tool: str
    words: str
    score: str
    width: int
    chosen: bool
    called: bool


@dataclass(frozen=True, slots=True)
class ModelCall:
    """The tool choice around one model call: the reading before it, what it was served, what it called."""

    number: int
    iteration: int
    leg: int
    narrowing: str
    skipped: NarrowSkip | None
    menu: tuple[MenuItem, ...]
    counts: str
    ranked: tuple[RankBar, ...]
    unranked: tuple[str, ...]
    chosen: str
    called: tuple[str, ...]
    called_known: bool
    agreement: str
    agrees: bool | None
    missed: tuple[str, ...]
    confidence: str
    latency: str
    tokens: str  # what the reading cost; empty where the record does not say
    classifier: str
    failure: str


@dataclass(frozen=True, slots=True)
class SecondReadingSeen:
    """What the dashboard's own classifier would have picked for one model call, beside what was called first.

    `called` None: no call of it stands on this page."""

    iteration: int
    classifier: str
    chosen: str
    called: str | None
    agrees: bool | None
    confidence: str
    failure: str
    ranked: tuple[RankBar, ...]
    made_ms: int


@dataclass(frozen=True, slots=True)
class ModelCalls:
    """A screen of model calls: where they go on, or a sentence on those that no screen has."""

    calls: tuple[ModelCall, ...]
    left: str
    more_href: str


@dataclass(frozen=True, slots=True)
class RosterViolation:
    reason: RosterReason
    offender: str
    sentence: str


@dataclass(frozen=True, slots=True)
class SpawnSeen:
    """One delegation: what it injected, by what roster it was judged and what that did not cover."""

    tool: str
    words: str
    call_id: str
    received_ms: int
    child: str
    child_href: str
    products: tuple[str, ...]
    denied: tuple[str, ...]
    roster: str
    refused: str
    violations: tuple[RosterViolation, ...]


@dataclass(frozen=True, slots=True)
class EventLine:
    """One event as kept."""

    position: int
    seq: int
    type: str
    received_ms: int
    body: str


@dataclass(frozen=True, slots=True)
class EventList:
    lines: tuple[EventLine, ...]
    more_href: str


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class OperatorAnswer:
    """The reader's page, and what lies behind it."""

    seen: ReaderAnswer
    facts: tuple[Fact, ...]
    blocks: tuple[OperatorBlock, ...]
    model_calls: tuple[ModelCall, ...]
    model_calls_left: str
    model_calls_href: str
    second_readings: tuple[SecondReadingSeen, ...]
    spawns: tuple[SpawnSeen, ...]
    other_violations: tuple[RosterViolation, ...]
    host_check: str
    host_agrees: bool | None
    timeline: Timeline | None
    events_href: str
