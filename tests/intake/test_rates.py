"""Token buckets: what a rate means, told with a clock of our own."""

from hypothesis import given
from hypothesis import strategies as st

from runs.intake.rates import BURST_S, LONGEST_PAUSE_S, Bucket, Pace, Rate

LIMITS = {"window": 1000, "frame_bytes": 8 * 1024 * 1024, "event_bytes": 4 * 1024 * 1024, "other": 7}


def test_a_burst_is_free_and_what_is_owed_takes_its_time() -> None:
    bucket = Bucket(rate=10, burst=20, now=100)
    assert bucket.take(20, 100) == 0
    assert bucket.take(5, 100) == 0.5
    assert bucket.take(0, 100.25) == 0.25
    assert bucket.take(0, 100.5) == 0
    assert bucket.take(10, 101.5) == 0
    assert bucket.take(25, 1000) == 0.5  # a long rest fills it, and no more than that


def test_a_clock_that_goes_back_gives_nothing_twice() -> None:
    bucket = Bucket(rate=10, burst=10, now=100)
    assert bucket.take(10, 100) == 0
    assert bucket.take(10, 50) == 1
    assert bucket.take(0, 100) == 1
    assert bucket.take(0, 101) == 0


def test_events_and_bytes_are_held_to_the_slower() -> None:
    rate = Rate(Pace(events_per_s=10, bytes_per_s=100), now=0)
    assert rate.take(20, 200, 0) == 0
    assert rate.take(1, 50, 0) == 0.5
    assert Rate(Pace(), now=0).take(10**9, 10**12, 0) == 0


def test_a_slow_token_is_told_a_window_it_can_keep() -> None:
    assert Pace().fitting(LIMITS) == LIMITS
    assert Pace(events_per_s=1_000_000).fitting(LIMITS) == LIMITS
    assert Pace(events_per_s=10).fitting(LIMITS)["window"] == 50
    slow = Pace(bytes_per_s=20_000).fitting(LIMITS)
    assert slow["frame_bytes"] == slow["event_bytes"] == 100_000
    assert Pace(bytes_per_s=1).fitting(LIMITS)["frame_bytes"] == 64 * 1024


@given(
    rate=st.integers(1, 10_000),
    brought=st.lists(st.tuples(st.integers(0, 5_000), st.floats(0, 10))),
)
def test_who_waits_as_told_never_goes_faster_than_its_rate(
    rate: int, brought: list[tuple[int, float]]
) -> None:
    now, taken, burst = 0.0, 0, rate * BURST_S
    bucket = Bucket(rate, burst, now)
    for amount, rest in brought:
        now += bucket.take(amount, now)
        taken += amount
        assert taken <= burst + rate * now + 1e-3
        now += rest


@given(rate=st.integers(1, 1_000_000), window=st.integers(1, 1000))
def test_a_full_window_is_worked_off_before_a_sender_loses_patience(rate: int, window: int) -> None:
    pace = Pace(events_per_s=rate)
    fitted = pace.fitting({**LIMITS, "window": window})["window"]
    shared = Rate(pace, now=0)
    shared.take(int(rate * BURST_S), 0, 0)
    assert 1 <= fitted <= window
    assert shared.take(fitted, 0, 0) <= LONGEST_PAUSE_S + 1e-6
