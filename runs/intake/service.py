"""The process's one writer, its sweeper, its retention and its second readings.

`footprint_site` starts them with the server; a socket starts what it finds missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from runs import announce, measures
from runs.announce import Changed
from runs.intake.retention import Retention
from runs.intake.second_readings import SecondReadings
from runs.intake.settle import settle_notes
from runs.intake.writer import Writer, now_ms
from runs.record.sweep import silent_runs
from runs.store import incoming

log = logging.getLogger("footprint.sweep")

SWEEP_EVERY_S = 10.0


class Service:
    """Lives on one event loop: rings there, and sweeps from there on the writer's thread."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.writer = Writer(self._changed)
        self.writer.start()
        self._rings: set[asyncio.Task[None]] = set()
        self._sweeper = self.loop.create_task(self._sweep())
        self._retention = self.loop.create_task(Retention(self.writer.call, self._ring).keep_on())
        self._readings = self.loop.create_task(SecondReadings(self.writer.call).keep_on())

    def stop(self, timeout: float = 10.0) -> None:
        with contextlib.suppress(RuntimeError):  # its loop may have ended
            self.loop.call_soon_threadsafe(self._sweeper.cancel)
            self.loop.call_soon_threadsafe(self._retention.cancel)
            self.loop.call_soon_threadsafe(self._readings.cancel)
        self.writer.stop(timeout)

    def _changed(self, changed: Changed) -> None:
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._ring, changed)

    def _ring(self, changed: Changed) -> None:
        task = self.loop.create_task(announce.ring(changed))
        self._rings.add(task)
        task.add_done_callback(self._rings.discard)

    async def _sweep(self) -> None:
        while True:
            try:
                swept = await asyncio.wrap_future(self.writer.call(sweep_once))
                for changed in swept:
                    self._ring(changed)
                measures.sweeps.inc()
                measures.silenced.inc(sum(len(changed.runs) for changed in swept))
            except Exception:
                log.warning("Looking for silent runs failed; trying again", exc_info=True)
            await asyncio.sleep(SWEEP_EVERY_S)


def sweep_once() -> list[Changed]:
    """Mark every run silent that is; one transaction, projects in ascending id. What the doorbell should say.

    Every process does. Who comes second finds nothing any more under the project's lock, and where nothing went quiet
    no project is locked at all: another process is taking in its events.
    """
    rung = []
    for project_id in incoming.projects_gone_quiet(now_ms()):
        project = incoming.lock_project(project_id)
        if project is None:
            continue
        now = now_ms()
        quiet = silent_runs(project, now)
        if quiet:
            changed = settle_notes(project_id, "silent", now, quiet, project.silent_after_s)
            if changed is not None:
                rung.append(changed)
    return rung


_service: Service | None = None


def running() -> Service:
    """The service of the running loop, started now when there is none. Call on the server's loop."""
    global _service
    if _service is None or _service.loop is not asyncio.get_running_loop():
        if _service is not None:
            _service.stop(timeout=1.0)
        _service = Service()
    return _service


def stop(timeout: float = 10.0) -> None:
    """Settle what waits and end, when there is anything to end."""
    global _service
    service, _service = _service, None
    if service is not None:
        service.stop(timeout)
