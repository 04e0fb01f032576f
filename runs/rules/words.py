"""Every sentence a page says, made from plain values. Nothing here reads a record or decides a fact.

What a reader may see holds display names and counts only. The few functions whose name says `operator` speak to the
people who run the agent. A sentence's `group` names the rows it was made from, so that a page can show them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from .display_name import named_calls, read_display_name
from .vocabulary import Ending, IncompleteReason, NarrowSkip, Outcome, RosterReason, StopReason, Told

NOT_RECORDED: Final = "not recorded"
"""Stands where the record holds nothing; never 0 and never an empty place."""

UNKNOWN: Final = "unknown"
"""Stands where the record holds something that cannot be true."""

UNNAMED_CALL: Final = "a call without a name"
"""Stands in the list of calls for one whose tool has no display name."""

LATE: Final = "came after the run had ended"
"""Stands beside a row that was kept but changes no ending."""

LONGEST_DURATION_MS: Final = 366 * 24 * 60 * 60 * 1000
"""A duration above a year is a clock's mistake, not a duration."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a page, and the closed word whose rows it was made from (None: it rests on there being none)."""

    group: Told | None
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the list of calls is complete, and how the page says so."""

    complete: bool
    text: str


# --- What an answer rests on ---------------------------------------------------------------------------------------


def rests_on(
    worked: Sequence[str | None],
    failed: Sequence[str | None],
    never_ran: Sequence[str | None],
    open_: Sequence[str | None],
    *,
    ending: Ending = Ending.ANSWERED,
    incomplete: bool = False,
) -> tuple[Sentence, ...]:
    """What the answer rests on: one sentence an outcome, in this order, none for an outcome without calls.

    Each group holds one display name a call, None where the call's tool has none; names the display-name rule refuses
    count as none. An `incomplete` record never says that no tool was called.
    """
    said = (
        _worked(worked, ending),
        _told(Outcome.ERROR, failed, was="{} tried and did not work"),
        _told(Outcome.NOT_RUN, never_ran, was="{} asked for and never ran"),
        _open(open_, ending),
    )
    sentences = tuple(sentence for sentence in said if sentence is not None)
    return sentences or (Sentence(None, _nothing_called(ending, incomplete)),)


def _worked(names: Sequence[str | None], ending: Ending) -> Sentence | None:
    phrase = _phrase(names)
    if phrase is None:
        return _told(Outcome.OK, names, was="{} made and worked")
    if ending in (Ending.ANSWERED, Ending.STOPPED_EARLY):
        return Sentence(Outcome.OK, f"It rests on {phrase.text}, which worked.")
    # There is no answer to rest on them, or not yet.
    return Sentence(Outcome.OK, f"{capital(phrase.text)} worked.")


def _open(names: Sequence[str | None], ending: Ending) -> Sentence | None:
    if ending is Ending.RUNNING:
        return _told(Outcome.OPEN, names, was="{} still running", verb=("is", "are"))
    if ending is Ending.ASKED:
        return _told(Outcome.OPEN, names, was="{} still open", verb=("is", "are"))
    return _told(Outcome.OPEN, names, was="{} begun, and no end is on record")


def _told(
    group: Outcome, names: Sequence[str | None], *, was: str, verb: tuple[str, str] = ("was", "were")
) -> Sentence | None:
    if not names:
        return None
    phrase = _phrase(names) or _Phrase(calls(len(names)), is_one=len(names) == 1)
    return Sentence(group, f"{capital(phrase.text)} {was.format(verb[0] if phrase.is_one else verb[1])}.")


@dataclass(frozen=True, slots=True)
class _Phrase:
    text: str
    is_one: bool


@dataclass(frozen=True, slots=True)
class _Call:
    tool_name: str


def _phrase(names: Sequence[str | None]) -> _Phrase | None:
    # The key a name is looked up by is here the name itself: whoever asks has looked it up already.
    named = [name for name in names if name]  # thousands may have none: they are only counted
    text = named_calls([_Call(name) for name in named], len(names) - len(named), lambda name: name)
    if text is None:
        return None
    first = next(name for name in map(read_display_name, named) if name is not None)
    return _Phrase(text, is_one=text == first)


def _nothing_called(ending: Ending, incomplete: bool) -> str:
    if ending is Ending.RUNNING:
        return "No tool call is on record so far."
    if incomplete:
        return "No tool call is on record for this answer."
    return "No tool was called for this answer."


# --- What the page cannot know -------------------------------------------------------------------------------------


def cannot_know(reasons: Collection[IncompleteReason]) -> tuple[Sentence, ...]:
    """What this page cannot know, one sentence a reason, always in the same order; empty for a complete record."""
    return tuple(Sentence(reason, reason.plain) for reason in IncompleteReason if reason in reasons)


def completeness(reasons: Collection[IncompleteReason], ended: bool) -> Verdict:
    """The verdict over the list of calls. Complete needs both: an ended answer, and no reason against it."""
    if not ended or IncompleteReason.NOT_ENDED in reasons:
        return Verdict(False, "Not final: the answer has not ended yet.")
    if not reasons:
        return Verdict(True, "Complete: every call of this answer is listed.")
    if set(reasons) == {IncompleteReason.UNNUMBERED}:
        return Verdict(False, "These are the calls as far as the assistant told us.")
    return Verdict(False, "Not complete: calls may be missing from this list, or their outcome.")


def host_ledger(agrees: bool, ours: int, theirs: int | None) -> str:
    """How the run's own list of calls compares with this one; `theirs` is None when it sent none."""
    if theirs is None:
        return "The assistant sent no list of its own to compare with."
    if agrees:
        return "The assistant's own list of calls agrees with this one."
    if ours == theirs:
        return f"The assistant's own list of calls differs from this one: both have {calls(ours)}, not the same ones."
    return f"The assistant's own list of calls differs from this one: it has {calls(theirs)}, this one {calls(ours)}."


# --- How it ended --------------------------------------------------------------------------------------------------


def how_it_ended(
    ending: Ending, *, since: str | None = None, stopped_reason: StopReason | None = None
) -> str:
    """How the turn stands. `since` is the time of the last word as the page writes times, told where it is silent."""
    if ending is Ending.SILENT and since is not None:
        return f"No word since {since}."
    if ending is Ending.STOPPED_EARLY and stopped_reason is not None:
        return stopped_reason.plain
    return ending.plain


# --- What the assistant was shown ----------------------------------------------------------------------------------


def shown_tools(shown: int, of: int) -> str:
    """For readers: how many of its tools the assistant was shown in one step. Counts only."""
    if of <= 0:
        return "The assistant had no tools in this step."
    if shown <= 0:
        return "The assistant was not shown its tools."
    if shown >= of:
        return (
            "The assistant was shown its only tool."
            if of == 1
            else f"The assistant was shown all of its {of} tools."
        )
    fitting = "most fitting" if shown == 1 else f"{shown} most fitting"
    return f"The assistant was shown the {fitting} of its {of} tools."


def narrowing_for_readers(narrowed: bool, served: int, offered: int, skipped: NarrowSkip | None) -> str:
    """For readers: the effect of narrowing on one step."""
    return shown_tools(served, offered) if narrowed or skipped is None else skipped.plain


def narrowing_for_operators(narrowed: bool, served: int, offered: int, skipped: NarrowSkip | None) -> str:
    """For operators: what one model call was served, or why it was not narrowed."""
    if narrowed:
        return f"Narrowed: served {served} of {_many(offered, 'tool')}."
    if skipped is not None:
        return skipped.sentence
    return "Narrowing was not asked for, so every tool was served."


def agreement_for_operators(first_agrees: bool | None, called: int, wanted: int) -> str:
    """For operators: whether the model called what the classifier chose, and what it was not shown."""
    if called == 0:
        return "The model called no tool."
    missed = f"asked for {_many(wanted, 'tool')} it was not shown" if wanted else ""
    if first_agrees is None:
        return f"The classifier had chosen no tool, and the model {missed or 'called one'}."
    which = "the tool that" if first_agrees else "another tool than"
    return f"The model first called {which} the classifier had chosen{', and ' + missed if missed else ''}."


# --- Helpers and what they were given ------------------------------------------------------------------------------


def helpers(spawned: int) -> str:
    """For readers: how many helpers the assistant sent out with tools of their own."""
    if spawned == 0:
        return "The assistant sent out no helper with tools of its own."
    own = "its own" if spawned == 1 else "their own"
    return f"The assistant sent out {_many(spawned, 'helper')} with tools of {own}."


def roster_for_readers(undeclared: int, further_out: int, unreadable: bool = False) -> tuple[Sentence, ...]:
    """For readers: what the rosters of an answer's helpers did not cover, as counts; empty when they covered all."""
    sentences = []
    if unreadable:
        sentences.append(Sentence(RosterReason.SHAPE, RosterReason.SHAPE.plain))
    if undeclared:
        text = f"A helper was given {_many(undeclared, 'tool')} its owner had not declared."
        sentences.append(Sentence(RosterReason.UNDECLARED_NAME, text))
    if further_out:
        text = f"A helper was given {_many(further_out, 'tool')} whose content comes from further away than declared."
        sentences.append(Sentence(RosterReason.UNDECLARED_ORIGIN, text))
    return tuple(sentences)


def no_roster() -> str:
    """Where a helper's owner declared no roster at all: what it may be given cannot be known beforehand."""
    return "What this helper may be given was not declared beforehand, so it cannot be checked."


# --- Empty, waiting, could not load --------------------------------------------------------------------------------


def no_runs(filtered: bool) -> str:
    """An empty list of runs, and the next step."""
    if filtered:
        return "No run fits these filters. Take one away to see more."
    return "No run is on record yet. Connect an agent and its first run appears here."


def nothing_yet(what: str) -> str:
    """Any other empty list: `what` in the plural, such as ``rosters``."""
    return f"No {what} are on record yet. They appear here when an agent reports them."


def waiting_for_first_event() -> str:
    """After a token was made, until the first event comes."""
    return "Waiting for your first event. Start the agent with the new token and it appears here."


def no_answer_yet(ending: Ending) -> str:
    """In the place of an answer's text while there is none."""
    if ending is Ending.RUNNING:
        return "There is no answer yet. It appears here when the assistant has finished."
    return "There is no answer on record."


def text_not_kept() -> str:
    """In the place of a question or an answer in a project that keeps no texts."""
    return "This project does not keep what was asked and answered."


def text_forgotten() -> str:
    """In the place of a text that was said and is not on record, in a project that keeps texts."""
    return "This text is not on record: it has been forgotten, or was never kept."


def question_not_recorded() -> str:
    """In the place of a question that was never seen."""
    return "What was asked is not recorded."


def text_cut(kept_kib: int) -> str:
    """After a text that was longer than what is kept of one."""
    return f"The text went on. Its first {kept_kib} KiB are kept."


def could_not_load(what: str) -> str:
    """Where part of a page failed: `what` names it, such as ``the calls``."""
    return f"{capital(what)} could not be loaded. Reload the page to try again."


def no_answer_in_run() -> str:
    """A run without turns, such as a bare model call."""
    return "This run has no answer: the model was called outside of any turn."


# --- Small words ---------------------------------------------------------------------------------------------------


def calls(count: int) -> str:
    """``1 call``, ``3 calls``."""
    return _many(count, "call")


def part(ordinal: int) -> str:
    """A part of a run by its place, from 1, since its own name is the model's side: ``part 1``."""
    return f"part {ordinal}"


def times(count: int) -> str:
    """How often a folded call was made: ``once``, ``3 times``."""
    return "once" if count == 1 else f"{count} times"


def new_below(count: int) -> str:
    """What came while someone was scrolled away from the end."""
    return f"{count} new below"


def caught_up(count: int) -> str:
    """After a page found its connection again."""
    return (
        "Reconnected; nothing was missed."
        if count == 0
        else f"Reconnected; {_many(count, 'change')} caught up."
    )


def duration_words(ms: object) -> str:
    """A duration in milliseconds as a person says it: ``340 ms``, ``1.2 s``, ``2 min 5 s``, ``3 h 4 min``.

    None is ``not recorded``; what cannot be a duration (negative, over a year, no number) is ``unknown``.
    """
    if ms is None:
        return NOT_RECORDED
    if isinstance(ms, bool) or not isinstance(ms, int | float) or not 0 <= ms <= LONGEST_DURATION_MS:
        return UNKNOWN  # NaN compares with nothing, so it ends here too.
    if 0 < ms < 1:
        return "under 1 ms"
    if (whole := _round(ms)) < 1000:
        return f"{whole} ms"
    if (tenths := _round(ms / 100)) < 600:
        return f"{tenths // 10}.{tenths % 10} s"
    seconds = _round(ms / 1000)
    if seconds < 3600:
        return _two(seconds // 60, "min", seconds % 60, "s")
    minutes = _round(ms / 60_000)
    if minutes < 24 * 60:
        return _two(minutes // 60, "h", minutes % 60, "min")
    hours = _round(ms / 3_600_000)
    return _two(hours // 24, "day" if hours // 24 == 1 else "days", hours % 24, "h")


def capital(text: str) -> str:
    """`text` at the start of a sentence. Words with capitals of their own (``iPhone``) stay as they are."""
    if text[1:2].isupper() or len(text[:1].upper()) != 1:
        return text
    return text[:1].upper() + text[1:]


def _round(value: float) -> int:
    return math.floor(
        value + 0.5
    )  # Half goes up, as people expect; Python's own rounding goes to the even one.


def _two(first: int, unit: str, second: int, smaller: str) -> str:
    return f"{first} {unit} {second} {smaller}" if second else f"{first} {unit}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
