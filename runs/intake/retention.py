"""Retention at work: step by step between what senders bring, so that nobody waits for it.

In the server each step is a call on the writer's thread with a pause after it (`Retention`); `manage.py retain` takes
the same steps once, in transactions of its own (`retain_once`). What each step does: `store/retention.py`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from channels.db import database_sync_to_async
from django.db import transaction

from runs import measures
from runs.announce import Changed, ring_from_sync
from runs.intake.writer import now_ms
from runs.store.retention import Due, Step, projects_due, retain_some

log = logging.getLogger("footprint.retention")

LOOK_EVERY_S = 60.0
LEAST_PAUSE_S = 0.05
PAUSE_SHARE = 3  # a pause is this many times as long as the step before it: a quarter of the time at most


@dataclass(slots=True)
class Tally:
    """What one look deleted: runs, and rows of what hung on them."""

    runs: int = 0
    rows: int = 0

    def add(self, step: Step) -> None:
        self.runs += len(step.deleted.runs) if step.deleted else 0
        self.rows += step.cleared


class Retention:
    """Lives on the server's loop; `call` runs a function on the writer's thread, in a transaction of its own."""

    def __init__(
        self, call: Callable[[Callable[[], Any]], Future[Any]], ring: Callable[[Changed], None]
    ) -> None:
        self._call = call
        self._ring = ring

    async def keep_on(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await self.look()
            except Exception:
                log.warning("Retention could not go on; trying again", exc_info=True)

    async def look(self) -> None:
        """Delete what no project keeps any more."""
        for due in await database_sync_to_async(projects_due)(now_ms()):
            tally, step = Tally(), Step(0)
            while not step.done:
                began = time.monotonic()
                take = partial(retain_some, due, step.after, now_ms())
                step = await asyncio.wrap_future(self._call(take))
                tally.add(step)
                measures.retained_runs.inc(len(step.deleted.runs) if step.deleted else 0)
                if (changed := _changed(due, step)) is not None:
                    self._ring(changed)
                await asyncio.sleep(max(LEAST_PAUSE_S, PAUSE_SHARE * (time.monotonic() - began)))
            if tally.runs:
                log.info(
                    "Project %d: retention deleted %d runs and %d rows of them",
                    due.project_id,
                    tally.runs,
                    tally.rows,
                    extra={"project": due.project_id, "runs": tally.runs, "rows": tally.rows},
                )


def retain_once(due: Due) -> Tally:
    """The same from a command, beside a server or without one."""
    tally, step = Tally(), Step(0)
    while not step.done:
        began = time.monotonic()
        with transaction.atomic():
            step = retain_some(due, step.after, now_ms())
        tally.add(step)
        if (changed := _changed(due, step)) is not None:
            ring_from_sync(changed)
        time.sleep(time.monotonic() - began)  # whoever waits for the lock gets it
    return tally


def _changed(due: Due, step: Step) -> Changed | None:
    """What the doorbell says: every page of the project looks again at what it may show."""
    gone = step.deleted
    if gone is None:
        return None
    return Changed(
        due.project_id, step.epoch, gone.position, runs=gone.runs, answers=gone.answers, people=True
    )
