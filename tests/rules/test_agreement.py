"""Shares with their intervals, calibration and twins: checked against numbers worked out elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.rules.agreement import Bin, Share, Twins, calibration_gap, middle, twin_tools


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [  # Brown, Cai, DasGupta (2001) and the usual tables
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (1, 10, 0.0179, 0.4042),
        (50, 100, 0.4038, 0.5962),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilsons_interval(hits: int, n: int, low: float, high: float) -> None:
    share = Share(hits, n)
    assert share.low == pytest.approx(low, abs=5e-5)
    assert share.high == pytest.approx(high, abs=5e-5)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_share(pair: tuple[int, int]) -> None:
    share = Share(*pair)
    assert share.low is not None and share.high is not None and share.share is not None
    assert 0 <= share.low <= share.share + 1e-12 and share.share - 1e-12 <= share.high <= 1


def test_of_nothing_nothing_is_said() -> None:
    assert (Share(0, 0).share, Share(0, 0).low, Share(0, 0).high) == (None, None, None)
    assert calibration_gap([]) is None and middle({}, 0.5) is None
    assert Share(3, 29).is_small and not Share(3, 30).is_small


def test_calibration_is_weighted_by_counts() -> None:
    bins = [
        Bin(0.5, 0.6, 0.55, Share(5, 10)),
        Bin(0.9, 1.0, 0.95, Share(27, 30)),
        Bin(0, 0.1, 0, Share(0, 0)),
    ]
    assert calibration_gap(bins) == pytest.approx((0.05 * 10 + 0.05 * 30) / 40)


def test_twins_are_pairs_whichever_way_they_are_swapped() -> None:
    counts = {("a", "a"): 10, ("a", "b"): 3, ("b", "a"): 2, ("b", "b"): 4, ("c", "a"): 1}
    assert twin_tools(counts) == [Twins("a", "b", 5, 20)]


def test_the_middle_of_counted_values() -> None:
    assert middle({1: 50, 2: 49, 900: 1}, 0.5) == 1
    assert middle({1: 50, 2: 49, 900: 1}, 0.99) == 2
    assert middle({1: 50, 2: 49, 900: 1}, 1.0) == 900
