"""What retention lets go, and the sentences it is told in."""

import pytest

from runs.rules.retention import DAY_MS, Border, Limits, RunAge, may_go, problem_of, sentence, warning

NOW = 1_790_000_000_000
OLD = NOW - 31 * DAY_MS
BORDER = Border(before_ms=NOW - 30 * DAY_MS, position=100)


def run(position=10, last_ms=OLD, finished=True, waits=False):
    return RunAge(position, last_ms, finished, waits)


@pytest.mark.parametrize(
    ("chain", "goes"),
    [
        ([run()], True),
        ([run(position=200)], True),  # too old is enough
        ([run(last_ms=NOW)], True),  # beyond the newest is enough
        ([run(position=200, last_ms=NOW)], False),
        ([run(), run(position=200, last_ms=NOW)], False),  # a chain goes as a whole or not at all
        ([run(waits=True)], False),
        ([run(), run(waits=True)], False),
        ([run(finished=False)], True),  # it never said that it ended, and has been quiet for long
        ([run(finished=False, last_ms=NOW)], False),
    ],
)
def test_a_chain_goes_as_a_whole_and_never_at_work(chain, goes):
    assert may_go(chain, BORDER, quiet_since_ms=NOW - 300_000) is goes


def test_without_limits_nothing_is_behind():
    border = Border(Limits(None, None).before_ms(NOW), 0)
    assert not border.is_behind(1, 1)
    assert not Limits(None, None).any


@pytest.mark.parametrize(
    ("now", "before", "tightens"),
    [
        (Limits(30, None), Limits(None, None), True),
        (Limits(30, None), Limits(31, None), True),
        (Limits(30, 10), Limits(30, None), True),
        (Limits(31, None), Limits(30, None), False),
        (Limits(None, None), Limits(30, 10), False),
        (Limits(None, 10), Limits(30, 20), True),
    ],
)
def test_what_keeps_less(now, before, tightens):
    assert now.tighten(before) is tightens


def test_the_sentences():
    assert sentence(Limits(None, None)) == "Every run is kept."
    assert sentence(Limits(1, None)).startswith(
        "A run is deleted once its last word is more than 1 day old, with"
    )
    assert "more than 30 days old or once 1,000 newer ones have begun, with" in sentence(Limits(30, 1000))
    assert "deletes 1 run within minutes" in warning(1, 100)
    assert "deletes more than 99 runs" in warning(100, 100)
    assert (
        problem_of(0, 10, "days") == "The number of days must be from 1 to 10, or empty to keep everything."
    )
    assert problem_of(None, 10, "days") is None
