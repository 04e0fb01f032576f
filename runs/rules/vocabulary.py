"""The closed words of the product: what a stored value means, and how a page shows it.

Each member's value is the string on the wire and in the database. Beside it lives everything a page needs: its
`mark` (one character, never alone), its `word`, its `colour` (the name of a CSS token: ``ok``, ``error``,
``not-run`` or ``open``) and its `sentence`. One fact, one home: a template asks the member, it never decides.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Told(StrEnum):
    """A closed word with its looks. Equal to its wire string, so it can be stored and compared as one."""

    mark: str
    word: str
    colour: str
    sentence: str
    plain: str
    """What a reader is told where that is not the operator's `sentence`; the same sentence otherwise."""

    def __new__(cls, value: str, mark: str, word: str, colour: str, sentence: str, plain: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.mark, member.word, member.colour, member.sentence = mark, word, colour, sentence
        member.plain = plain or sentence
        return member

    @classmethod
    def known(cls, value: object) -> Self | None:
        """The member whose wire string is `value`, or None for anything else, of whatever type."""
        member = cls._value2member_map_.get(value) if isinstance(value, str) else None
        return member if isinstance(member, cls) else None


class Outcome(Told):
    """What became of one call. The first three are the ledger's; `OPEN` is a call whose end has not come."""

    OK = "ok", "✓", "worked", "ok", "The call ran and worked."
    ERROR = "error", "✕", "did not work", "error", "The call was tried and did not work."
    NOT_RUN = "not-run", "⊘", "never ran", "not-run", "The call was asked for and never ran."
    OPEN = "open", "○", "still open", "open", "No end of the call is on record."

    def word_in(self, ending: Ending) -> str:
        """The word beside a call of an answer in this state: an open call runs only while the answer does."""
        return "running" if self is Outcome.OPEN and ending is Ending.RUNNING else self.word


class Ending(Told):
    """How an answer stands: the last word on record about its turn."""

    ANSWERED = "answered", "✓", "answered", "ok", "The assistant answered."
    ASKED = "asked", "?", "asked a question", "open", "The assistant asked a person a question and waits."
    STOPPED_EARLY = (
        "stopped-early",
        "◐",
        "stopped early",
        "not-run",
        "The assistant stopped before it was done.",
    )
    HALTED = "halted", "■", "halted", "not-run", "A rule halted the assistant."
    FAILED = "failed", "✕", "failed", "error", "Something failed and the turn ended without an answer."
    REFUSED = (
        "refused",
        "⊗",
        "withheld",
        "not-run",
        "The answer was withheld: the record did not bear it out.",
    )
    UNKNOWN = "unknown", "–", "ended", "open", "The turn ended, and no word says how."
    RUNNING = "running", "○", "running", "open", "The assistant is still at work."
    SILENT = "silent", "…", "no word", "open", "There has been no word for longer than usual."

    @property
    def ended(self) -> bool:
        """Whether the turn is over. Only an ended answer can be complete."""
        return self not in (Ending.ASKED, Ending.RUNNING, Ending.SILENT)

    @classmethod
    def strongest(cls, first: Ending, *others: Ending) -> Ending:
        """The one that stands where several fit: refused, halted, failed, stopped early, answered, then the rest."""
        return min((first, *others), key=_STRENGTH.index)


_STRENGTH = (
    Ending.REFUSED,
    Ending.HALTED,
    Ending.FAILED,
    Ending.STOPPED_EARLY,
    Ending.ANSWERED,
    Ending.ASKED,
    Ending.UNKNOWN,
    Ending.SILENT,
    Ending.RUNNING,
)


class StopReason(Told):
    """Why an answer stopped early, as far as the run said; any other word is `OTHER`."""

    MAX_ITERATIONS = (
        "max-iterations",
        "◐",
        "out of steps",
        "not-run",
        "The assistant stopped early: it had used all the steps it was allowed.",
    )
    COST_BUDGET = (
        "cost-budget",
        "◐",
        "out of budget",
        "not-run",
        "The assistant stopped early: it had used up what it was allowed to spend.",
    )
    OTHER = "other", "◐", "stopped early", "not-run", "The assistant stopped before it was done."

    @classmethod
    def read(cls, value: object) -> StopReason:
        """The reason in a `stoppedEarly` field; `OTHER` for any word outside the vocabulary, and for none."""
        return cls.known(value) or cls.OTHER


class IncompleteReason(Told):
    """Why a ledger may not hold every call, in the order a page tells them. The sentences are for every reader."""

    NOT_OBSERVED = (
        "not-observed",
        "!",
        "began unseen",
        "open",
        "The record began after the assistant did, so earlier calls may be missing.",
    )
    GAP = "gap", "!", "hole in the record", "open", "Part of what the assistant reported was lost on the way."
    REFUSED_EVENT = (
        "refused-event",
        "!",
        "unreadable report",
        "open",
        "Something the assistant reported about this answer could not be read.",
    )
    UNMATCHED = (
        "unmatched",
        "!",
        "reports that do not fit",
        "open",
        "Some of what the assistant reported does not fit together.",
    )
    UNNUMBERED = (
        "unnumbered",
        "!",
        "as far as we were told",
        "open",
        "The assistant's reports are not numbered, so a lost one would not be noticed.",
    )
    UNDISPATCHED = (
        "undispatched",
        "!",
        "asked for, never sent",
        "open",
        "The assistant asked for calls that were never sent out.",
    )
    STILL_OPEN = (
        "still-open",
        "!",
        "no end seen",
        "open",
        "At least one call has begun and no end of it is on record.",
    )
    UNSETTLED = (
        "unsettled",
        "!",
        "work still pending",
        "open",
        "At least one call reported that its own work was not finished yet.",
    )
    TOO_MANY = "too-many", "!", "too many calls", "open", "There were more calls than this page can list."
    OVERSIZED = (
        "oversized",
        "!",
        "a label too long",
        "open",
        "At least one call was left out because its label was too long.",
    )
    NOT_ENDED = "not-ended", "!", "not ended", "open", "The answer has not ended yet, so more may come."


class NarrowSkip(Told):
    """Why a model call was served every tool. `sentence` is for operators, `plain` for readers."""

    UNAVAILABLE = (
        "unavailable",
        "∅",
        "no ranking",
        "error",
        "The classifier gave no usable ranking, so every tool was served.",
        "The assistant was shown all of its tools.",
    )
    TOO_FEW = (
        "too-few",
        "=",
        "too few",
        "open",
        "There was nothing to leave out, so every tool was served.",
        "The assistant was shown all of its tools.",
    )
    AFTER_MISS = (
        "after-miss",
        "↺",
        "after a miss",
        "not-run",
        "The model had just asked for a tool it was not shown, so every tool was served again.",
        "The assistant was shown all of its tools again.",
    )
    WRAP_UP = (
        "wrap-up",
        "⏻",
        "wrapping up",
        "open",
        "The run was told to finish, so every tool comes off.",
        "The assistant was asked to finish without further tools.",
    )


class ToolStatus(Told):
    """What a tool declared about its own work, beside the error flag. Anything else it may say is `OTHER`."""

    SUCCESS = "success", "✓", "success", "ok", "The tool said that it succeeded."
    FAILURE = "failure", "✕", "failure", "error", "The tool said that it failed."
    DENIED = "denied", "✕", "denied", "error", "The tool said that it was denied."
    INVALID = "invalid", "✕", "invalid", "error", "The tool said that what it was asked was not valid."
    PARTIAL = "partial", "◐", "partial", "ok", "The tool said that it did part of its work."
    PENDING = "pending", "○", "pending", "open", "The tool said that its work was not finished yet."
    ABSENT = "absent", "∅", "nothing there", "ok", "The tool said that what it looked for is not there."
    OTHER = "other", "?", "something else", "open", "The tool used a status of its own."

    @classmethod
    def read(cls, value: object) -> ToolStatus | None:
        """The status in a `status` field: None when there was none, `OTHER` for any word outside the vocabulary."""
        if value is None:
            return None
        return cls.known(value) or cls.OTHER

    @property
    def is_error(self) -> bool:
        """Whether a call that ran with this status counts as one that did not work."""
        return self in (ToolStatus.FAILURE, ToolStatus.DENIED, ToolStatus.INVALID)

    @property
    def is_settled(self) -> bool:
        """Whether the tool's own work was over when its call ended."""
        return self is not ToolStatus.PENDING


class ContentClass(Told):
    """Where a tool's content comes from, nearest to home first. The order of the members is the rule's order."""

    INTERNAL = "internal", "⌂", "internal", "ok", "The host's own words."
    WORKSPACE = "workspace", "▤", "workspace", "open", "What the user or the host keeps."
    EXTERNAL = "external", "↗", "external", "error", "Anything from outside."

    @classmethod
    def read(cls, value: object) -> ContentClass:
        """A tool's own declared class; undeclared and unknown both read as `EXTERNAL`, the cautious end."""
        return cls.known(value) or cls.EXTERNAL

    def is_further_out_than(self, other: ContentClass) -> bool:
        """Whether content of this class comes from further away than content of `other`."""
        members = list(ContentClass)
        return members.index(self) > members.index(other)


class RosterReason(Told):
    """Which way a roster failed. The sentences are for readers: no tool, alias or class is named."""

    SHAPE = "shape", "✕", "not a roster", "error", "A list of extra tools could not be read."
    UNDECLARED_NAME = (
        "undeclared_name",
        "✕",
        "not declared",
        "error",
        "A helper was given a tool its owner had not declared.",
    )
    UNDECLARED_ORIGIN = (
        "undeclared_origin",
        "↗",
        "from further out",
        "error",
        "A helper was given a tool whose content comes from further away than declared.",
    )


class LiveStatus(Told):
    """How an open page stands to the server, in words that a polite status region may speak."""

    LIVE = "live", "●", "live", "ok", "This page follows along."
    RECONNECTING = (
        "reconnecting",
        "◌",
        "reconnecting",
        "error",
        "This page has lost its connection and is trying again.",
    )
    PAUSED = (
        "paused",
        "‖",
        "paused",
        "not-run",
        "This page is paused and shows what was known when you paused it.",
    )
    FINISHED = (
        "finished",
        "■",
        "finished",
        "open",
        "The run has ended, and this page shows all that is on record.",
    )
    OFFLINE = (
        "offline",
        "✕",
        "not connected",
        "error",
        "This page is not connected. Reload it to see what is new.",
    )
