"""The doorbell: "something of project 7 changed, up to position 1234". No content ever goes through it.

Whoever committed a change rings; every open page that shows something of it wakes, asks the store what changed after
the version it shows, and sends that. A ring that is lost costs seconds (pages look by themselves now and then), never
a row: the truth is in the database.

Within a process a ring goes straight to the pages (`_Hub`). Between processes it goes through the channel layer, when
that is one that joins processes (Redis): one group a project, and each process passes on what it hears to its own hub.
The in-memory layer is not used: its `group_send` from another thread wakes nobody, and there is nobody else to tell.

Ring after the commit, never before: `await ring(...)` on the server's loop, `ring_from_sync(...)` in views, admin and
commands (there as ``transaction.on_commit(lambda: ring_from_sync(...))``).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import threading
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import InMemoryChannelLayer, get_channel_layer

log = logging.getLogger("footprint.announce")

MESSAGE = "footprint.changed"
TOLD_WITHIN_S = 5.0  # a Redis that does not answer holds nobody longer
TRY_AGAIN_S = 1.0
_HERE = secrets.token_hex(8)  # this process, so that it does not pass on its own rings


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed, as ids and positions only. `runs` and `answers` are slugs; a leg's ring names the chain's run.

    `words`: a display name changed. `people`: a membership or a role changed, or texts were forgotten, or a run was
    deleted: every page of the project looks again at what it may show.
    """

    project_id: int
    epoch: int
    position: int
    runs: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    words: bool = False
    people: bool = False


async def ring(changed: Changed) -> None:
    """Wake the open pages this concerns, here and in the other processes. Never raises: the change is committed."""
    _hub.deliver(changed)
    await _tell_others(changed)


def ring_from_sync(changed: Changed) -> None:
    """The same from a thread without a running loop: views, admin, commands."""
    _hub.deliver(changed)
    if _joining_layer() is not None:
        async_to_sync(_tell_others)(changed)


@dataclass(slots=True)
class Rung:
    """What one page heard since it last looked: the rings put together."""

    epoch: int = 0
    position: int = 0
    words: bool = False
    people: bool = False

    def add(self, changed: Changed) -> None:
        self.epoch = max(self.epoch, changed.epoch)
        self.position = max(self.position, changed.position)
        self.words |= changed.words
        self.people |= changed.people


class Watch:
    """One open page's ear. Made by `watch`, used on the loop it was made on."""

    def __init__(self, topics: Iterable[tuple[int, str]]) -> None:
        self.topics = tuple(topics)
        self._loop = asyncio.get_running_loop()
        self._rung: Rung | None = None
        self._woken = asyncio.Event()

    async def next(self, timeout: float) -> Rung | None:
        """What was rung since the last call, at once when there is something; None after `timeout` seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), timeout)
        rung, self._rung = self._rung, None
        self._woken.clear()
        return rung

    def hear(self, changed: Changed) -> None:
        """From any thread."""
        with contextlib.suppress(RuntimeError):  # its loop has ended: nobody listens
            self._loop.call_soon_threadsafe(self._note, changed)

    def _note(self, changed: Changed) -> None:
        self._rung = self._rung or Rung()
        self._rung.add(changed)
        self._woken.set()


@contextlib.asynccontextmanager
async def watch(project_id: int, *, slug: str | None = None) -> AsyncIterator[Watch]:
    """Listen for one run or answer of a project (`slug`), or for all of its runs; words and people always."""
    page = Watch([(project_id, _EVERYTHING), (project_id, slug if slug is not None else _RUNS)])
    _hub.join(page)
    try:
        await _hear_others(project_id)
        yield page
    finally:
        _hub.leave(page)


_EVERYTHING = "*"
_RUNS = "runs"


def _topics(changed: Changed) -> Iterable[tuple[int, str]]:
    if changed.words or changed.people or not (changed.runs or changed.answers):
        yield changed.project_id, _EVERYTHING
        return
    yield changed.project_id, _RUNS
    for slug in (*changed.runs, *changed.answers):
        yield changed.project_id, slug


class _Hub:
    """Every open page of this process by what it listens to. A ring costs what the pages it wakes cost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: dict[tuple[int, str], set[Watch]] = {}

    def join(self, page: Watch) -> None:
        with self._lock:
            for topic in page.topics:
                self._pages.setdefault(topic, set()).add(page)

    def leave(self, page: Watch) -> None:
        with self._lock:
            for topic in page.topics:
                listening = self._pages.get(topic, set())
                listening.discard(page)
                if not listening:
                    self._pages.pop(topic, None)

    def deliver(self, changed: Changed) -> None:
        with self._lock:
            woken = {page for topic in _topics(changed) for page in self._pages.get(topic, ())}
        for page in woken:
            page.hear(changed)

    def deliver_everywhere(self) -> None:
        """Wake every page: rings may have been missed."""
        with self._lock:
            woken = {page for pages in self._pages.values() for page in pages}
        for page in woken:
            page.hear(Changed(page.topics[0][0], 0, 0))


_hub = _Hub()

# -- between processes ----------------------------------------------------------------------------


def _joining_layer() -> Any:
    layer = get_channel_layer()
    return None if layer is None or isinstance(layer, InMemoryChannelLayer) else layer


def _group(project_id: int) -> str:
    return f"project.{project_id}"


async def _tell_others(changed: Changed) -> None:
    layer = _joining_layer()
    if layer is None or _others.are_let_be():
        return  # their pages' slow tick finds the change
    message = {"type": MESSAGE, "from": _HERE, "changed": asdict(changed)}
    try:
        async with asyncio.timeout(TOLD_WITHIN_S):
            await layer.group_send(_group(changed.project_id), message)
    except Exception as problem:  # whatever a broken connection raises, or a full layer
        _others.cannot_be_told(problem)
    else:
        _others.were_told()


class _Others:
    """Whether the other processes can be told. While they cannot, one ring in a while tries; the log says both once."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._next_try = 0.0

    def are_let_be(self) -> bool:
        now = time.monotonic()
        if self._since is None or now >= self._next_try:
            # Whoever tries is alone: the others must not queue up behind a Redis that does not answer.
            self._next_try = now + TRY_AGAIN_S
            return False
        return True

    def cannot_be_told(self, problem: Exception) -> None:
        if self._since is None:
            self._since = time.monotonic()
            log.warning(
                "Other processes cannot be told of changes (%s); their pages look by themselves",
                type(problem).__name__,
            )

    def were_told(self) -> None:
        if self._since is not None:
            log.info(
                "Other processes are told of changes again, after %.0f s", time.monotonic() - self._since
            )
            self._since = None


_others = _Others()


class _Relay:
    """Hears the other processes for this one. One channel; it joins the group of each project that has a page here."""

    def __init__(self, layer: Any) -> None:
        self.loop = asyncio.get_running_loop()
        self._layer = layer
        self._channel: str | None = None
        self._joined: set[int] = set()
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def join(self, project_id: int) -> None:
        async with asyncio.timeout(TOLD_WITHIN_S), self._lock:
            if self._channel is None:
                self._channel = await self._layer.new_channel("footprint")
                self._task = self.loop.create_task(self._listen(self._channel))
            if project_id not in self._joined:
                await self._layer.group_add(_group(project_id), self._channel)
                self._joined.add(project_id)

    async def _listen(self, channel: str) -> None:
        while True:
            try:
                message = await self._layer.receive(channel)
            except asyncio.CancelledError:
                raise
            except Exception:
                log.warning("Rings of other processes cannot be heard; trying again", exc_info=True)
                await asyncio.sleep(1)
                _hub.deliver_everywhere()
                continue
            if message.get("type") == MESSAGE and message.get("from") != _HERE:
                _hub.deliver(_read(message["changed"]))


def _read(message: dict[str, Any]) -> Changed:
    return Changed(**{**message, "runs": tuple(message["runs"]), "answers": tuple(message["answers"])})


_relay: _Relay | None = None


async def _hear_others(project_id: int) -> None:
    global _relay
    layer = _joining_layer()
    if layer is None:
        return
    if _relay is None or _relay.loop is not asyncio.get_running_loop():
        _relay = _Relay(layer)
    try:
        await _relay.join(project_id)
    except Exception as problem:
        log.warning(
            "Rings of other processes cannot be heard (%s); pages look by themselves", type(problem).__name__
        )
