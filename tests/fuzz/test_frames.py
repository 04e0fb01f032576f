"""A few thousand mutated frames of every kind: no crash, no hang, nothing left behind, every number settled once."""

from typing import Any

import pytest

from tests.faults.house import TIMES
from tests.fuzz.frames import LIMITS, Found, fuzz, watched, what_is_left, what_is_wrong
from tests.lines import turn
from tests.wire import Wire, make_project, make_token, run, send_all

FRAMES = 3_000 * TIMES


@pytest.mark.django_db(transaction=True)
def test_mutated_frames_do_no_harm(settings: Any) -> None:
    settings.FOOTPRINT = {**settings.FOOTPRINT, **LIMITS}
    token, found = make_token(make_project()), Found()

    async def story() -> None:
        await fuzz(token, range(1, 10**9), FRAMES, found)
        async with Wire(token, stream="well-behaved") as wire:  # and who behaves is served
            await send_all(wire, turn())

    end_watching = watched(found)
    try:
        run(story)
    finally:
        end_watching()
    assert found.problems == []
    assert found.frames >= FRAMES
    assert found.refused.keys() >= {"not-json", "shape", "too-large"}
    assert found.closed.keys() >= {1000, 1003, 4400, 4429}
    assert what_is_left() == []
    assert what_is_wrong() == []
