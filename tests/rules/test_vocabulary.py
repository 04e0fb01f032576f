"""Every closed word carries its looks, and no sentence for readers speaks the model's language."""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys

import pytest

from runs.rules import vocabulary
from runs.rules.plain_line import plain_line_problem
from runs.rules.vocabulary import (
    ContentClass,
    Ending,
    IncompleteReason,
    NarrowSkip,
    Outcome,
    RosterReason,
    StopReason,
    Told,
    ToolStatus,
)

ENUMS = [
    thing
    for _, thing in inspect.getmembers(vocabulary, inspect.isclass)
    if issubclass(thing, Told) and thing is not Told
]
MEMBERS = [member for enum in ENUMS for member in enum]


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: f"{type(member).__name__}-{member}")
def test_every_member_has_its_mark_word_colour_and_sentences(member: Told) -> None:
    assert len(member.mark) == 1
    assert member.word
    assert member.word == member.word.strip()
    assert member.colour in ("ok", "error", "not-run", "open")
    for sentence in (member.sentence, member.plain):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert plain_line_problem("sentence", sentence) is None


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: f"{type(member).__name__}-{member}")
def test_a_member_is_its_wire_string(member: Told) -> None:
    assert str(member) == member.value
    assert type(member)(member.value) is member
    assert type(member).known(member.value) is member
    for stranger in (None, "", 3, [], {}, "no such word"):
        assert type(member).known(stranger) is None


def test_the_wire_strings() -> None:
    assert list(Outcome) == ["ok", "error", "not-run", "open"]
    assert set(Ending) == {
        *(
            "answered",
            "asked",
            "stopped-early",
            "halted",
            "failed",
            "refused",
            "unknown",
            "running",
            "silent",
        ),
    }
    assert set(IncompleteReason) == {
        *("not-observed", "still-open", "too-many", "oversized", "unsettled", "undispatched"),
        *("gap", "refused-event", "unmatched", "unnumbered", "not-ended"),
    }
    assert list(NarrowSkip) == ["unavailable", "too-few", "after-miss", "wrap-up"]
    assert list(RosterReason) == ["shape", "undeclared_name", "undeclared_origin"]


def test_outcomes_look_as_agreed() -> None:
    assert [(one.mark, one.word) for one in Outcome] == [
        ("✓", "worked"),
        ("✕", "did not work"),
        ("⊘", "never ran"),
        ("○", "still open"),
    ]
    assert Outcome.OPEN.word_in(Ending.RUNNING) == "running"
    assert Outcome.OPEN.word_in(Ending.ANSWERED) == "still open"
    assert Outcome.OK.word_in(Ending.RUNNING) == "worked"


def test_marks_tell_endings_apart_without_colour() -> None:
    for enum in (Outcome, Ending, NarrowSkip, ContentClass):
        assert len({member.mark for member in enum}) == len(enum)


def test_asked_running_and_silent_are_not_ended() -> None:
    assert {ending for ending in Ending if not ending.ended} == {Ending.ASKED, Ending.RUNNING, Ending.SILENT}


def test_where_several_endings_fit_the_strongest_stands() -> None:
    order = [Ending.REFUSED, Ending.HALTED, Ending.FAILED, Ending.STOPPED_EARLY, Ending.ANSWERED]
    for stronger, weaker in itertools.pairwise(order):
        assert Ending.strongest(weaker, stronger) is stronger
    for ending in Ending:
        assert Ending.strongest(ending) is ending


def test_a_tools_status_is_read_into_a_closed_word() -> None:
    assert ToolStatus.read(None) is None
    assert ToolStatus.read("denied") is ToolStatus.DENIED
    assert ToolStatus.read("absent") is ToolStatus.ABSENT
    assert ToolStatus.read("Denied") is ToolStatus.OTHER
    assert ToolStatus.read({"secret": 1}) is ToolStatus.OTHER
    assert {status for status in ToolStatus if status.is_error} == {"failure", "denied", "invalid"}
    assert {status for status in ToolStatus if not status.is_settled} == {"pending"}


def test_a_stop_reason_is_read_into_a_closed_word() -> None:
    assert StopReason.read("cost-budget") is StopReason.COST_BUDGET
    assert StopReason.read("out of patience") is StopReason.OTHER
    assert StopReason.read(None) is StopReason.OTHER


def test_an_unknown_class_is_from_outside() -> None:
    assert ContentClass.read("workspace") is ContentClass.WORKSPACE
    for odd in (None, "", "Internal", 3, []):
        assert ContentClass.read(odd) is ContentClass.EXTERNAL
    assert ContentClass.EXTERNAL.is_further_out_than(ContentClass.WORKSPACE)
    assert not ContentClass.INTERNAL.is_further_out_than(ContentClass.INTERNAL)


def test_readers_words_for_reasons_are_nobodys_jargon() -> None:
    jargon = (
        "tool_",
        "call id",
        "event",
        "ledger",
        "classifier",
        "model",
        "token",
        "seq",
        "stream",
        "roster",
    )
    for member in (*IncompleteReason, *Ending, *Outcome, *RosterReason, *StopReason, *NarrowSkip):
        assert not any(word in member.plain.lower() for word in jargon), member


def test_the_rules_need_no_django() -> None:
    names = ("plain_line", "display_name", "tool_ledger", "tool_choice", "roster", "vocabulary", "words")
    imports = "; ".join(f"import runs.rules.{name}" for name in names)
    check = f"import sys; {imports}; sys.exit(any(m.split('.')[0] in ('django', 'channels') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
