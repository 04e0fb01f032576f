"""The line between server processes: what this one rings, the others hear, as long as Redis is there.

One task keeps the line: it opens it, tells and hears on it, and opens another one when it breaks. Whoever rings never
waits: what could not be told yet is put together, a project's rings into one. Silence is no proof that the line holds
(a subscription may be lost without a word), so after a while of it the process calls itself. When a line is open again
after it was broken, every page here looks, since rings may have been missed; the log says once that it broke and once
that it holds again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable
from dataclasses import asdict, replace
from typing import Any, TypeVar

from channels import DEFAULT_CHANNEL_LAYER
from channels.layers import InMemoryChannelLayer, channel_layers, get_channel_layer

from runs.announce.hub import Changed, here

log = logging.getLogger("footprint.announce")

MESSAGE, ECHO = "footprint.changed", "footprint.echo"
ANSWERS_WITHIN_S = 3.0  # Redis, to one command; then the line is given up
QUIET_S = 5.0  # after so long without a word the process calls itself, and must hear it as soon again
REST_S = 0.01  # between two rings of a process: what comes meanwhile goes with the next one
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 2.0  # before another line is tried; doubled while they keep breaking
HELD_WELL_S = 10.0
MOST_NAMED = 200  # slugs in one ring; with more, every page of the project looks

T = TypeVar("T")


def tell(changed: Changed) -> None:
    """On the server's loop: the other processes will hear of it."""
    line = _line_here()
    if line is not None:
        line.tell(changed)


def tell_from_thread(changed: Changed) -> bool:
    """From a thread of a server, or where there is nobody to tell. False: this process keeps no line."""
    if not _joins_processes():
        return True
    line = _line
    if line is None or not line.loop.is_running():
        return False
    line.loop.call_soon_threadsafe(line.tell, changed)
    return True


async def tell_once(changed: Changed) -> None:
    """From a command, which keeps no line. Never raises: the pages look by themselves in a while."""
    layer = _new_layer()
    try:
        await _soon(layer.group_send(_group(changed.project_id), _message(changed)))
    except Exception as problem:
        log.warning("Servers could not be told of a change (%s); their pages will find it", _name(problem))
    finally:
        await _let_go(layer)


async def hear(project_id: int) -> None:
    """From now on this process hears what others ring for the project. Waits for it, but not for a broken line."""
    line = _line_here()
    if line is not None:
        await line.hear(project_id)


class Line:
    """Of one event loop. Used on it."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._untold: dict[int, Changed] = {}
        self._something = asyncio.Event()
        self._wanted: set[int] = set()
        self._open: _Open | None = None
        self._tried = asyncio.Event()  # the first line is open, or is known to be broken
        self._broken_since: float | None = None
        self._task = self.loop.create_task(self._keep())

    def tell(self, changed: Changed) -> None:
        before = self._untold.get(changed.project_id)
        self._untold[changed.project_id] = changed if before is None else _together(before, changed)
        self._something.set()

    async def hear(self, project_id: int) -> None:
        self._wanted.add(project_id)
        await self._tried.wait()
        if self._open is not None:
            with contextlib.suppress(Exception):  # then the line is broken, and the next one will do it
                await self._open.join(project_id)

    async def _keep(self) -> None:
        pause, layer = FIRST_PAUSE_S, _new_layer()
        while not self._task.cancelling():  # the layer's own tidying up may swallow a cancellation
            line = _Open(layer)
            began = self.loop.time()
            try:
                await line.open(self._wanted)
                self._holds_again()
                self._open = line
                self._tried.set()
                await self._talk(line)
            except Exception as problem:
                self._broke(problem)
            finally:
                self._open = None
                if not await line.close():
                    layer = _new_layer()  # the old one may think that it is subscribed still
            self._tried.set()
            pause = (
                FIRST_PAUSE_S if self.loop.time() - began > HELD_WELL_S else min(pause * 2, LONGEST_PAUSE_S)
            )
            await asyncio.sleep(pause)

    async def _talk(self, line: _Open) -> None:
        """Tell and hear, until one of them fails."""
        both = [self.loop.create_task(line.listen()), self.loop.create_task(self._tell_all(line))]
        try:
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _tell_all(self, line: _Open) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            untold, self._untold = self._untold, {}
            while untold:
                project_id = next(iter(untold))
                try:
                    await line.tell(untold[project_id])
                except Exception:
                    for changed in untold.values():
                        self.tell(changed)
                    raise
                del untold[project_id]
            await asyncio.sleep(REST_S)

    def _broke(self, problem: Exception) -> None:
        if self._broken_since is None:
            self._broken_since = self.loop.time()
            log.warning(
                "Other processes cannot be told of changes (%s); pages look by themselves, every few seconds",
                _name(problem),
            )

    def _holds_again(self) -> None:
        if self._broken_since is not None:
            log.info(
                "Other processes are told of changes again, after %.0f s",
                self.loop.time() - self._broken_since,
            )
            self._broken_since = None
            here.deliver_everywhere()


class _Open:
    """One line, from its opening until it breaks: a layer, and a channel of our own on it."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._channel = ""
        self._joined: set[int] = set()
        self._hearing: asyncio.Future[dict[str, Any]] | None = None

    async def open(self, projects: set[int]) -> None:
        self._channel = await _soon(self._layer.new_channel("footprint"))
        for project_id in list(projects):
            await self.join(project_id)
        await self._call()
        await asyncio.wait([self._next()], timeout=ANSWERS_WITHIN_S)
        if not self._next().done():
            raise TimeoutError

    async def join(self, project_id: int) -> None:
        if project_id not in self._joined:
            await _soon(self._layer.group_add(_group(project_id), self._channel))
            self._joined.add(project_id)

    async def tell(self, changed: Changed) -> None:
        await _soon(self._layer.group_send(_group(changed.project_id), _message(changed)))

    async def listen(self) -> None:
        """Pass on what comes. Raises when not even our own call comes back."""
        has_called = False
        while True:
            # Not wait_for: who cancels a layer's `receive` loses the channel.
            await asyncio.wait([self._next()], timeout=QUIET_S)
            if self._next().done():
                message = self._next().result()
                self._hearing, has_called = None, False
                if message.get("type") == MESSAGE and message.get("from") != _HERE:
                    here.deliver(_read(message["changed"]))
            elif has_called:
                raise TimeoutError
            else:
                has_called = True
                await self._call()

    def _next(self) -> asyncio.Future[dict[str, Any]]:
        if self._hearing is None:
            self._hearing = asyncio.ensure_future(self._layer.receive(self._channel))
        return self._hearing

    async def _call(self) -> None:
        await _soon(self._layer.send(self._channel, {"type": ECHO}))

    async def close(self) -> bool:
        """Whether the layer is like new afterwards."""
        if self._hearing is not None:
            self._hearing.cancel()
            await asyncio.gather(self._hearing, return_exceptions=True)
        return await _let_go(self._layer)


_HERE = secrets.token_hex(8)  # this process, so that it does not pass on its own rings
_line: Line | None = None


def _line_here() -> Line | None:
    """The line of the running loop, kept from now on; None when there is nobody to tell."""
    global _line
    if not _joins_processes():
        return None
    if _line is None or _line.loop is not asyncio.get_running_loop():
        _line = Line()
    return _line


def _joins_processes() -> bool:
    layer = get_channel_layer()
    return layer is not None and not isinstance(layer, InMemoryChannelLayer)


def _new_layer() -> Any:
    return channel_layers.make_backend(DEFAULT_CHANNEL_LAYER)


async def _let_go(layer: Any) -> bool:
    try:
        await _soon(layer.flush())
    except Exception:
        return False
    return True


async def _soon(command: Awaitable[T]) -> T:
    async with asyncio.timeout(ANSWERS_WITHIN_S):
        return await command


def _together(one: Changed, other: Changed) -> Changed:
    """Both rings of a project as one."""
    is_named = bool(one.runs or one.answers) and bool(other.runs or other.answers)
    runs = tuple(dict.fromkeys(one.runs + other.runs)) if is_named else ()
    answers = tuple(dict.fromkeys(one.answers + other.answers)) if is_named else ()
    if len(runs) + len(answers) > MOST_NAMED:
        runs = answers = ()
    return replace(
        other,
        epoch=max(one.epoch, other.epoch),
        position=max(one.position, other.position),
        runs=runs,
        answers=answers,
        words=one.words or other.words,
        people=one.people or other.people,
    )


def _group(project_id: int) -> str:
    return f"project.{project_id}"


def _message(changed: Changed) -> dict[str, Any]:
    return {"type": MESSAGE, "from": _HERE, "changed": asdict(changed)}


def _read(message: dict[str, Any]) -> Changed:
    return Changed(**{**message, "runs": tuple(message["runs"]), "answers": tuple(message["answers"])})


def _name(problem: BaseException) -> str:
    return type(problem).__name__
