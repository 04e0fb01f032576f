"""Second readings at work: for projects that want them, a few answers at a time, on a thread of their own.

Nobody waits for them: ingest and pages go on, and each step's rows are written on the writer's thread like any other.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from channels.db import database_sync_to_async

from runs.intake.writer import now_ms
from runs.rules.second_reading import second_row
from runs.rules.tool_choice import Classifier, pick_tools
from runs.store import second_readings as store
from runs.store.second_readings import Made, Reader, Step, Unread

log = logging.getLogger("footprint.second_readings")

LOOK_EVERY_S = 30.0
PAUSE_S = 0.2  # between two steps


class SecondReadings:
    """Lives on the server's loop; `call` runs a function on the writer's thread, in a transaction of its own."""

    def __init__(self, call: Callable[[Callable[[], Any]], Future[Any]]) -> None:
        self._call = call
        self._classifiers: dict[str, Classifier] = {}
        self._said: set[str] = set()

    async def keep_on(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await self.look()
            except Exception:
                log.warning("Second readings could not go on; trying again", exc_info=True)

    async def look(self) -> int:
        """Read what is there to be read; how many readings were made."""
        made = 0
        for reader in await database_sync_to_async(store.readers)():
            classifier = self._classifier(reader.name)
            while classifier is not None:
                step = await database_sync_to_async(store.next_step)(reader, now_ms())
                if not step.went_on(reader):
                    break
                readings = await asyncio.to_thread(_read, classifier, step)
                kept = await asyncio.wrap_future(
                    self._call(partial(store.keep, reader, step, readings, now_ms()))
                )
                if not kept:
                    break
                made += len(readings)
                if step.waits:
                    break
                reader = Reader(reader.project_id, reader.epoch, reader.name, step.through)
                await asyncio.sleep(PAUSE_S)
        return made

    def _classifier(self, name: str) -> Classifier | None:
        """Made once; None where its library is not installed, which is said once."""
        if name not in self._classifiers:
            try:
                self._classifiers[name] = classifier_of(name)
            except ImportError as error:
                if name not in self._said:
                    self._said.add(name)
                    log.warning("No second readings by %s: %s", name, error)
                return None
        return self._classifiers[name]


def classifier_of(name: str) -> Classifier:
    """The reader of this name (`rules.second_reading.READERS`); `ImportError` where its extra is not installed."""
    if name == "embedding":
        from runs.classifiers.embedding import Embedding

        return Embedding()
    from runs.classifiers.lexical import Lexical

    return Lexical()


def _read(classifier: Classifier, step: Step) -> list[Made]:
    async def each() -> list[Made]:
        return [await _one(classifier, unread) for unread in step.unread]

    return asyncio.run(each())


async def _one(classifier: Classifier, unread: Unread) -> Made:
    pick = await pick_tools(
        classifier, user_message=unread.message, candidates=unread.tools, clock=time.monotonic
    )
    return Made(unread, second_row(pick, unread.iteration, [tool.name for tool in unread.tools]))
