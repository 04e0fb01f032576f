"""The writer: one thread with one database connection that settles what every connection brought.

Whatever waits when a transaction ends goes into the next one (group commit): under load a commit carries many senders'
events, alone an event waits for nobody. On SQLite all projects share a transaction; on PostgreSQL each has its own,
projects in ascending id. Acks and the doorbell follow the commit, never the other way round.

A batch that the database or the fold rejects is halved down to the one event, which is refused as `unstorable`. Where
even the refusal cannot be written it is not the event's fault: the connection ends and the sender brings it again.
A database that cannot be reached is asked again until it can: nothing is refused for that, and nothing is acknowledged.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from django.db import DatabaseError, InterfaceError, connection, transaction

from runs import measures
from runs.announce import Changed
from runs.intake.numbering import Batch, Item, Settled
from runs.intake.settle import settle_project
from runs.rules.kept import Refused
from runs.store.trouble import CANCELLED, name_of, passes, state_of

log = logging.getLogger("footprint.writer")

MOST_ITEMS = 5_000  # in one transaction: bounds its length and a book's size
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0
Done = Callable[[Settled], None]


@dataclass(slots=True)
class _Brought:
    batch: Batch
    done: Done
    told: bool = False

    def tell(self, settled: Settled) -> None:
        self.told = True
        self.done(settled)


@dataclass(slots=True)
class _Call:
    function: Callable[[], Any]
    future: Future[Any]


class Writer:
    """One a process. `submit` and `call` may be used from any thread; `on_changed` is called on the writer's."""

    def __init__(self, on_changed: Callable[[Changed], None]) -> None:
        self._on_changed = on_changed
        self._jobs: queue.SimpleQueue[_Brought | _Call | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        # Stream -> epoch of the connection that ends because a batch could not be settled: what it brought behind that
        # batch must not be taken for the far side of a hole. A later connection of the stream has a later epoch.
        self._broken: dict[int, int] = {}
        # A daemon: a database that never answers must not keep a stopping server alive.
        self._thread = threading.Thread(target=self._run, name="footprint-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float = 10.0) -> None:
        """Settle what waits, then end. What cannot be settled in time was never acknowledged and comes again."""
        self._jobs.put(None)
        self._thread.join(timeout)
        self._stopping.set()
        self._thread.join(1.0)

    @property
    def lives(self) -> bool:
        return self._thread.is_alive()

    def submit(self, batch: Batch, done: Done) -> None:
        """Settle the batch; `done` is called on the writer's thread after the commit."""
        self._jobs.put(_Brought(batch, done))

    def call(self, function: Callable[[], Any]) -> Future[Any]:
        """Run `function` on the writer's connection in a transaction of its own, in turn with the batches."""
        future: Future[Any] = Future()
        self._jobs.put(_Call(function, future))
        return future

    # -- the thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while (job := self._jobs.get()) is not None:
                if isinstance(job, _Call):
                    self._run_call(job)
                elif not self._run_group(job):
                    return
        except _GivenUp:
            return  # what waits behind it has no better chance, and may not overtake it
        finally:
            connection.close()

    def _run_group(self, first: _Brought) -> bool:
        """Settle `first` and what waits behind it. False: the queue's end was reached."""
        group, count = [first], len(first.batch.items)
        follow: _Call | None = None
        ends = False
        while count < MOST_ITEMS:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                ends = True
                break
            if isinstance(job, _Call):
                follow = job  # calls keep their place
                break
            group.append(job)
            count += len(job.batch.items)
        try:
            self._settle(group)
        except _GivenUp:
            raise
        except Exception:
            # No event's fault, and never the end of the thread that all senders share: they bring it again.
            log.exception("What came could not be settled; its connections end")
            for brought in group:
                if not brought.told:
                    self._break(brought.batch)
                    brought.tell(Settled(0, end="trouble"))
        if follow is not None:
            self._run_call(follow)
        return not ends

    def _run_call(self, job: _Call) -> None:
        if not job.future.set_running_or_notify_cancel():
            return  # whoever asked has left
        try:
            result = self._patiently(job.function)
        except BaseException as problem:
            job.future.set_exception(problem)
            if isinstance(problem, _GivenUp):
                raise
        else:
            job.future.set_result(result)

    def _settle(self, group: list[_Brought]) -> None:
        by_project: dict[int, list[_Brought]] = {}
        for brought in group:
            if self._is_broken(brought.batch):
                brought.tell(Settled(0, end="trouble"))
                continue
            by_project.setdefault(brought.batch.project_id, []).append(brought)
        ordered = [by_project[project_id] for project_id in sorted(by_project)]
        together = [ordered] if connection.vendor == "sqlite" else [[one] for one in ordered]
        for projects in together:
            self._settle_or_halve(projects)

    def _settle_or_halve(self, projects: list[list[_Brought]]) -> None:
        began = time.perf_counter()
        try:
            results = self._patiently(lambda: [_settle_one(brought) for brought in projects])
        except _GivenUp:
            raise
        except Exception as problem:
            log.warning("A batch was rejected (%s); looking for the event", name_of(problem))
            for brought in projects:
                for one in brought:
                    self._settle_pieces(one)
            return
        self._measure(began, [told for settled, _ in results for told in settled])
        for brought, (settled, changed) in zip(projects, results, strict=True):
            for one, told in zip(brought, settled, strict=True):
                one.tell(told)
            if changed is not None:
                self._on_changed(changed)

    def _measure(self, began: float, settled: list[Settled]) -> None:
        measures.committed(time.perf_counter() - began, [told.counts for told in settled], self._jobs.qsize())

    def _settle_pieces(self, brought: _Brought) -> None:
        """Settle one batch in halves, so that only what cannot be stored is refused."""
        told = Settled(0)
        self._halve(brought.batch, told)
        brought.tell(told)

    def _halve(self, batch: Batch, told: Settled) -> None:
        """Add to `told` what became of each piece, in order, up to one after which the connection must end."""
        if told.end or self._is_broken(batch):
            told.end = told.end or "trouble"
            return
        began = time.perf_counter()
        try:
            settled, changed = self._patiently(lambda: settle_project(batch.project_id, [batch]))
        except _GivenUp:
            raise
        except Exception as problem:
            items = batch.items
            if len(items) > 1:
                middle = len(items) // 2
                self._halve(replace(batch, items=items[:middle]), told)
                self._halve(replace(batch, items=items[middle:]), told)
                return
            item = items[0]
            cancelled = state_of(problem) == CANCELLED
            if cancelled or not isinstance(item, Item) or isinstance(item.read, Refused):
                log.error("A batch cannot be settled (%s): its connection ends", name_of(problem))
                self._break(batch)
                told.end = "trouble"
                return
            log.warning(
                "Event %s of stream %s is unstorable (%s)", item.seq, batch.stream_id, name_of(problem)
            )
            read = Refused("unstorable", "event: the database could not store it", _run_of(item))
            self._halve(replace(batch, items=[Item(item.seq, read)]), told)
            return
        self._measure(began, settled)
        [piece] = settled
        told.through = max(told.through, piece.through)
        told.refused += piece.refused
        told.end = piece.end
        if changed is not None:
            self._on_changed(changed)

    def _break(self, batch: Batch) -> None:
        self._broken[batch.stream_id] = batch.epoch

    def _is_broken(self, batch: Batch) -> bool:
        return self._broken.get(batch.stream_id) == batch.epoch

    def _patiently(self, function: Callable[[], Any]) -> Any:
        """Run in a transaction; when the database cannot be reached, again until it can. The log says both once."""
        pause = FIRST_PAUSE_S
        since: float | None = None
        while True:
            try:
                with transaction.atomic():
                    result = function()
            except (DatabaseError, InterfaceError) as problem:
                if not passes(problem):
                    raise
                if since is None:
                    since = time.monotonic()
                    log.warning(
                        "The database cannot be written (%s): nothing is acknowledged until it can",
                        name_of(problem),
                    )
                connection.close()
                if self._stopping.wait(pause):
                    raise _GivenUp from problem
                pause = min(LONGEST_PAUSE_S, pause * 2)
            else:
                if since is not None:
                    log.info("The database can be written again, after %.0f s", time.monotonic() - since)
                return result


class _GivenUp(Exception):
    """The server stops and the database cannot be reached: nothing is acknowledged."""


def _settle_one(brought: list[_Brought]) -> tuple[list[Settled], Changed | None]:
    return settle_project(brought[0].batch.project_id, [one.batch for one in brought])


def _run_of(item: Item) -> str | None:
    return getattr(getattr(item.read, "meta", None), "run_id", None)


def now_ms() -> int:
    return time.time_ns() // 1_000_000
