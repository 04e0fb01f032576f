"""What a page says, word for word."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.rules import words
from runs.rules.vocabulary import Ending, IncompleteReason, NarrowSkip, Outcome, RosterReason, StopReason

DATA, CATALOG = "loading the attached data", "searching the catalog"


def said(
    worked: Any = (), failed: Any = (), never_ran: Any = (), open_: Any = (), **how: Any
) -> list[tuple[Any, str]]:
    return [(one.group, one.text) for one in words.rests_on(worked, failed, never_ran, open_, **how)]


@pytest.mark.parametrize(
    ("worked", "text"),
    [
        ([DATA], "It rests on loading the attached data, which worked."),
        ([DATA, DATA], "It rests on loading the attached data, which worked."),
        ([DATA, None], "It rests on loading the attached data and 1 other call, which worked."),
        ([DATA, CATALOG], "It rests on loading the attached data and searching the catalog, which worked."),
        (["a", "b", "c", "d", None], "It rests on a, b, c and 2 other calls, which worked."),
        ([None], "1 call was made and worked."),
        ([None, None, None], "3 calls were made and worked."),
        (["bad\u202ename", "x" * 61], "2 calls were made and worked."),
    ],
)
def test_what_worked(worked: list[str | None], text: str) -> None:
    assert said(worked) == [(Outcome.OK, text)]


@pytest.mark.parametrize(
    ("failed", "text"),
    [
        ([CATALOG], "Searching the catalog was tried and did not work."),
        ([CATALOG, CATALOG], "Searching the catalog was tried and did not work."),
        ([CATALOG, None], "Searching the catalog and 1 other call were tried and did not work."),
        ([CATALOG, DATA], "Searching the catalog and loading the attached data were tried and did not work."),
        (["iPhone lookup"], "iPhone lookup was tried and did not work."),
        (["工具"], "工具 was tried and did not work."),
        ([None], "1 call was tried and did not work."),
        ([None, None], "2 calls were tried and did not work."),
    ],
)
def test_what_did_not_work(failed: list[str | None], text: str) -> None:
    assert said(failed=failed) == [(Outcome.ERROR, text)]


def test_what_never_ran() -> None:
    assert said(never_ran=[None, None]) == [(Outcome.NOT_RUN, "2 calls were asked for and never ran.")]
    assert said(never_ran=[CATALOG]) == [
        (Outcome.NOT_RUN, "Searching the catalog was asked for and never ran.")
    ]


@pytest.mark.parametrize(
    ("ending", "one", "two"),
    [
        (Ending.RUNNING, "1 call is still running.", "2 calls are still running."),
        (Ending.ASKED, "1 call is still open.", "2 calls are still open."),
        (
            Ending.SILENT,
            "1 call was begun, and no end is on record.",
            "2 calls were begun, and no end is on record.",
        ),
        (
            Ending.ANSWERED,
            "1 call was begun, and no end is on record.",
            "2 calls were begun, and no end is on record.",
        ),
    ],
)
def test_a_call_runs_only_while_its_answer_does(ending: Ending, one: str, two: str) -> None:
    assert said(open_=[None], ending=ending) == [(Outcome.OPEN, one)]
    assert said(open_=[None, None], ending=ending) == [(Outcome.OPEN, two)]


def test_outcomes_are_kept_apart_and_in_order() -> None:
    assert said([DATA], [CATALOG], [None, None], [DATA]) == [
        (Outcome.OK, "It rests on loading the attached data, which worked."),
        (Outcome.ERROR, "Searching the catalog was tried and did not work."),
        (Outcome.NOT_RUN, "2 calls were asked for and never ran."),
        (Outcome.OPEN, "Loading the attached data was begun, and no end is on record."),
    ]


def test_without_an_answer_nothing_rests_on_anything() -> None:
    assert said([DATA, CATALOG], ending=Ending.FAILED) == [
        (Outcome.OK, "Loading the attached data and searching the catalog worked.")
    ]


def test_nothing_called_is_said_only_as_far_as_the_record_goes() -> None:
    assert said() == [(None, "No tool was called for this answer.")]
    assert said(incomplete=True) == [(None, "No tool call is on record for this answer.")]
    assert said(ending=Ending.RUNNING, incomplete=True) == [(None, "No tool call is on record so far.")]


groups_of_names = st.lists(st.none() | st.text() | st.sampled_from([DATA, CATALOG, "None"]), max_size=5)


@given(st.tuples(groups_of_names, groups_of_names, groups_of_names, groups_of_names))
def test_one_sentence_for_every_outcome_that_has_calls(groups: Any) -> None:
    sentences = words.rests_on(*groups)
    in_order = (Outcome.OK, Outcome.ERROR, Outcome.NOT_RUN, Outcome.OPEN)
    expected = [outcome for outcome, names in zip(in_order, groups, strict=True) if names]
    assert [one.group for one in sentences] == (expected or [None])
    for one in sentences:
        assert one.text.endswith(".")
        one.text.encode("utf-8")


def test_what_the_page_cannot_know_comes_in_one_order() -> None:
    reasons = {IncompleteReason.NOT_ENDED, IncompleteReason.GAP, IncompleteReason.OVERSIZED}
    assert [one.text for one in words.cannot_know(reasons)] == [
        "Part of what the assistant reported was lost on the way.",
        "At least one call was left out because its label was too long.",
        "The answer has not ended yet, so more may come.",
    ]
    assert words.cannot_know(set()) == ()
    assert len(words.cannot_know(set(IncompleteReason))) == len(IncompleteReason)


def test_complete_needs_an_ended_answer_and_no_reason_against_it() -> None:
    assert words.completeness(set(), ended=True) == words.Verdict(
        True, "Complete: every call of this answer is listed."
    )
    assert words.completeness(set(), ended=False) == words.Verdict(
        False, "Not final: the answer has not ended yet."
    )
    assert words.completeness({IncompleteReason.UNNUMBERED}, ended=True) == words.Verdict(
        False, "These are the calls as far as the assistant told us."
    )
    for reason in IncompleteReason:
        assert not words.completeness({reason}, ended=True).complete
    assert words.completeness({IncompleteReason.UNNUMBERED, IncompleteReason.GAP}, ended=True).text == (
        "Not complete: calls may be missing from this list, or their outcome."
    )


def test_how_it_ended() -> None:
    assert words.how_it_ended(Ending.ANSWERED) == "The assistant answered."
    assert words.how_it_ended(Ending.ASKED) == "The assistant asked a person a question and waits."
    assert words.how_it_ended(Ending.SILENT, since="14:02") == "No word since 14:02."
    assert words.how_it_ended(Ending.SILENT) == "There has been no word for longer than usual."
    assert words.how_it_ended(Ending.STOPPED_EARLY) == "The assistant stopped before it was done."
    assert words.how_it_ended(Ending.STOPPED_EARLY, stopped_reason=StopReason.MAX_ITERATIONS) == (
        "The assistant stopped early: it had used all the steps it was allowed."
    )
    assert words.how_it_ended(Ending.ANSWERED, since="14:02") == "The assistant answered."


@pytest.mark.parametrize(
    ("shown", "of", "text"),
    [
        (3, 12, "The assistant was shown the 3 most fitting of its 12 tools."),
        (1, 12, "The assistant was shown the most fitting of its 12 tools."),
        (12, 12, "The assistant was shown all of its 12 tools."),
        (1, 1, "The assistant was shown its only tool."),
        (0, 1, "The assistant was not shown its tools."),
        (0, 4, "The assistant was not shown its tools."),
        (0, 0, "The assistant had no tools in this step."),
    ],
)
def test_shown_tools(shown: int, of: int, text: str) -> None:
    assert words.shown_tools(shown, of) == text


def test_narrowing_in_two_voices() -> None:
    assert words.narrowing_for_operators(True, 5, 12, None) == "Narrowed: served 5 of 12 tools."
    assert words.narrowing_for_operators(False, 12, 12, NarrowSkip.UNAVAILABLE) == (
        "The classifier gave no usable ranking, so every tool was served."
    )
    assert words.narrowing_for_operators(False, 12, 12, NarrowSkip.WRAP_UP) == (
        "The run was told to finish, so every tool comes off."
    )
    assert words.narrowing_for_operators(False, 12, 12, None) == (
        "Narrowing was not asked for, so every tool was served."
    )
    assert words.narrowing_for_readers(True, 3, 12, None) == words.shown_tools(3, 12)
    assert words.narrowing_for_readers(False, 12, 12, None) == "The assistant was shown all of its 12 tools."
    assert words.narrowing_for_readers(False, 12, 12, NarrowSkip.UNAVAILABLE) == (
        "The assistant was shown all of its tools."
    )


def test_agreement_for_operators() -> None:
    assert words.agreement_for_operators(None, 0, 0) == "The model called no tool."
    assert words.agreement_for_operators(True, 1, 0) == (
        "The model first called the tool that the classifier had chosen."
    )
    assert words.agreement_for_operators(False, 2, 1) == (
        "The model first called another tool than the classifier had chosen, and asked for 1 tool it was not shown."
    )
    assert words.agreement_for_operators(None, 2, 2) == (
        "The classifier had chosen no tool, and the model asked for 2 tools it was not shown."
    )


def test_helpers_are_counted_for_readers() -> None:
    assert [one.text for one in words.roster_for_readers(1, 0)] == [
        "A helper was given 1 tool its owner had not declared."
    ]
    assert [(one.group, one.text) for one in words.roster_for_readers(2, 1, unreadable=True)] == [
        (RosterReason.SHAPE, "A list of extra tools could not be read."),
        (RosterReason.UNDECLARED_NAME, "A helper was given 2 tools its owner had not declared."),
        (
            RosterReason.UNDECLARED_ORIGIN,
            "A helper was given 1 tool whose content comes from further away than declared.",
        ),
    ]
    assert words.roster_for_readers(0, 0) == ()
    assert words.helpers(0) == "The assistant sent out no helper with tools of its own."
    assert words.helpers(1) == "The assistant sent out 1 helper with tools of its own."
    assert words.helpers(2) == "The assistant sent out 2 helpers with tools of their own."


def test_the_runs_own_list_is_compared() -> None:
    assert words.host_ledger(True, 3, 3) == "The assistant's own list of calls agrees with this one."
    assert words.host_ledger(False, 3, 4) == (
        "The assistant's own list of calls differs from this one: it has 4 calls, this one 3 calls."
    )
    assert words.host_ledger(False, 1, 1) == (
        "The assistant's own list of calls differs from this one: both have 1 call, not the same ones."
    )
    assert words.host_ledger(False, 1, None) == "The assistant sent no list of its own to compare with."


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "not recorded"),
        (0, "0 ms"),
        (0.4, "under 1 ms"),
        (340, "340 ms"),
        (999.4, "999 ms"),
        (999.6, "1.0 s"),
        (1240, "1.2 s"),
        (1250, "1.3 s"),
        (59_949, "59.9 s"),
        (59_950, "1 min"),
        (125_000, "2 min 5 s"),
        (3_599_600, "1 h"),
        (11_040_000, "3 h 4 min"),
        (86_400_000, "1 day"),
        (183_600_000, "2 days 3 h"),
        (-1, "unknown"),
        (1.8e12, "unknown"),
        (10**400, "unknown"),
        (float("nan"), "unknown"),
        (float("inf"), "unknown"),
        (True, "unknown"),
        ("12", "unknown"),
    ],
)
def test_durations(ms: object, text: str) -> None:
    assert words.duration_words(ms) == text


def test_small_words() -> None:
    assert words.part(1) == "part 1"
    assert [words.times(n) for n in (1, 3)] == ["once", "3 times"]
    assert words.new_below(3) == "3 new below"
    assert words.caught_up(0) == "Reconnected; nothing was missed."
    assert words.caught_up(1) == "Reconnected; 1 change caught up."
    assert [words.capital(text) for text in ("", "a", "été", "ßa", "iPhone")] == [
        "",
        "A",
        "Été",
        "ßa",
        "iPhone",
    ]


def test_empty_waiting_and_failed_are_three_sentences_each_with_a_next_step() -> None:
    sentences = {
        words.no_runs(filtered=False),
        words.no_runs(filtered=True),
        words.waiting_for_first_event(),
        words.could_not_load("the calls"),
        words.nothing_yet("rosters"),
    }
    assert len(sentences) == 5
    assert words.could_not_load("the calls") == "The calls could not be loaded. Reload the page to try again."
    assert all(sentence.count(".") == 2 for sentence in sentences)
