"""The doorbell: "something of project 7 changed, up to position 1234". No content ever goes through it.

Whoever committed a change rings; every open page that shows something of it wakes, asks the store what changed after
the version it shows, and sends that. A ring that is lost costs seconds (pages look by themselves now and then), never
a row: the truth is in the database.

Within a process a ring goes straight to the pages (`hub.py`). Between processes it goes through the channel layer, when
that is one that joins processes (Redis): one group a project, and each process passes on what it hears to its own hub
(`line.py`). The in-memory layer is not used: its `group_send` from another thread wakes nobody, and there is nobody
else to tell.

Ring after the commit, never before: `await ring(...)` on the server's loop, `ring_from_sync(...)` in views, admin and
commands (there as ``transaction.on_commit(lambda: ring_from_sync(...))``).
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from asgiref.sync import async_to_sync

from runs.announce import line
from runs.announce.hub import EVERYTHING, RUNS, Changed, Rung, Watch, here

__all__ = ["Changed", "Rung", "Watch", "ring", "ring_from_sync", "watch"]


async def ring(changed: Changed) -> None:
    """Wake the open pages this concerns, here and in the other processes. Never raises and never waits for them."""
    here.deliver(changed)
    line.tell(changed)


def ring_from_sync(changed: Changed) -> None:
    """The same from a thread without a running loop: views, admin, commands."""
    here.deliver(changed)
    if not line.tell_from_thread(changed):
        async_to_sync(line.tell_once)(changed)


@contextlib.asynccontextmanager
async def watch(project_id: int, *, slug: str | None = None) -> AsyncIterator[Watch]:
    """Listen for one run or answer of a project (`slug`), or for all of its runs; words and people always."""
    page = Watch([(project_id, EVERYTHING), (project_id, slug if slug is not None else RUNS)])
    here.join(page)
    try:
        await line.hear(project_id)
        yield page
    finally:
        here.leave(page)
