from runs.rules.today import DAY_MS, Today


def test_a_day_is_full_until_it_is_over() -> None:
    today = Today(most=10)
    assert not today.is_full(5)
    today.count(9, 5)
    assert not today.is_full(DAY_MS - 1)
    today.count(4, DAY_MS - 1)  # a batch that began below the limit is kept whole
    assert today.is_full(DAY_MS - 1)
    assert today.kept(DAY_MS - 1) == 13
    assert not today.is_full(DAY_MS)
    today.count(1, DAY_MS)
    assert (today.day, today.events) == (1, 1)
    assert today.kept(DAY_MS - 1) == 1  # a clock that goes back opens no day anew


def test_without_a_limit_nothing_is_counted_or_written() -> None:
    today = Today()
    today.count(5, DAY_MS)
    assert not today.is_full(DAY_MS)
