"""The gate before every send to an open page: session, person and role are read again, for many pages at once.

Whoever asks while the database is being asked waits for the next turn, so a hundred pages that wake together cost a
few queries, and none is answered by what was read before it asked.
"""

from __future__ import annotations

import asyncio
import logging

from channels.db import database_sync_to_async

from runs.store.sittings import Seat, Sitting, seats

log = logging.getLogger("footprint.live")


class Gate:
    """Of one event loop."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Sitting, asyncio.Future[Seat | None]]] = []
        self._turn: asyncio.Task[None] | None = None
        self._failing = False

    async def seat(self, sitting: Sitting) -> Seat | None:
        """What the sitting may see now; None when it may see nothing any more."""
        answer: asyncio.Future[Seat | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((sitting, answer))
        if self._turn is None or self._turn.done():
            self._turn = asyncio.get_running_loop().create_task(self._ask())
        return await answer

    async def _ask(self) -> None:
        while self._waiting:
            asked, self._waiting = self._waiting, []
            try:
                found = await database_sync_to_async(seats)([sitting for sitting, _ in asked])
            except Exception as problem:
                if not self._failing:  # said once, however long it lasts
                    log.warning(
                        "Who may see open pages cannot be read (%s): they are closed and come back",
                        type(problem).__name__,
                    )
                self._failing = True
                for _, answer in asked:
                    if not answer.done():
                        answer.set_exception(problem)
                continue
            self._failing = False
            for sitting, answer in asked:
                if not answer.done():
                    answer.set_result(found.get(sitting))
