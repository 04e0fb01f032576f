"""What both faces of the sender share: taking events in from any thread, and saying how it goes.

Logging is without content: never an event, a token, an address's path or an error's text.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from runs.sender import events
from runs.sender.buffer import Buffer
from runs.sender.disk import DiskBuffer
from runs.sender.listed import Line, line_of, line_of_text
from runs.sender.protocol import Finished, Protocol, Refusal, Retry, Stop, Verdict
from runs.sender.run import Run

log = logging.getLogger("footprint.sender")

SENDER: Final = "footprint-python/0.1"
INGEST_PATH: Final = "/ws/ingest/"

State = Literal["not started", "connecting", "connected", "waiting", "stopped", "closed"]


class Status(Struct, frozen=True):
    """How the sender is doing.

    `last` is the number of the newest event, `acked` of the newest one the server has settled, `buffered` how many
    wait for that, `lost` how many had to be given up (one that was on its way may have arrived all the same),
    `refused` the latest that were not kept and `refused_count` all of them. `error` says why in one sentence.
    """

    state: State
    stream: str
    last: int
    acked: int
    buffered: int
    lost: int
    refused_count: int
    refused: tuple[Refusal, ...]
    error: str | None


class Emitter:
    """Takes in events. No method of it raises into the agent, and none waits for the network."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        name: str = "agent",
        buffer: Buffer | str | os.PathLike[str] | None = None,
    ) -> None:
        """`url` is the dashboard's address (http, https, ws or wss); `token` is read from FOOTPRINT_TOKEN when absent.

        `buffer`: None keeps events in memory, a folder keeps them over a restart, or a `Buffer` with limits of its
        own. `name` begins the stream's id and helps a person to recognise it.
        """
        self.state: State = "not started"
        self.error: str | None = None
        self.url = ""
        self.token = os.environ.get("FOOTPRINT_TOKEN", "") if token is None else token
        self.core = Protocol(_buffer(buffer, name), sender=SENDER)
        self.ring: Callable[[], None] = _nobody  # wakes whoever sends
        self._lock = threading.RLock()
        self._busy = False
        self._late: deque[Line] = deque()  # emitted by a signal handler in the middle of an emit
        self._full = False
        self._process = os.getpid()
        try:
            self.url = ingest_url(url)
        except ValueError as problem:
            self.stop(str(problem))

    # -- the agent's side -----------------------------------------------------------------------

    def emit(self, event: object) -> None:
        """Send one event, `{"type", "payload", "meta"}`. Only the fields of the allow-list leave this process."""
        try:
            line = line_of(event)
        except Exception:
            line = Line(None, "event: expected a JSON object, got something that cannot be read")
        self._take(line)

    def emit_text(self, text: bytes | str) -> None:
        """The same for an event that already is a JSON text."""
        try:
            line = line_of_text(text)
        except Exception:
            line = Line(None, "event: expected a JSON object, got something that cannot be read")
        self._take(line)

    def run(
        self,
        *,
        run_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        **details: Any,
    ) -> Run:
        """Begin a run: an object whose small methods say what the agent does. See `Run` for the details."""
        return Run(self.emit, run_id=run_id, agent_id=agent_id, session_id=session_id, **details)

    def tools_declared(self, tools: events.Tools) -> None:
        """Say the app's own words for its tools: `[{"name", "displayName"?, "description"?}]` or `{name: words}`."""
        self.emit(events.tools_declared(tools, events.app_meta()))

    @property
    def status(self) -> Status:
        """A picture of this moment."""
        with self._lock:
            core, buffer = self.core, self.core.buffer
            return Status(
                state=self.state,
                stream=buffer.stream,
                last=buffer.last,
                acked=buffer.acked,
                buffered=len(buffer),
                lost=buffer.lost,
                refused_count=core.refused_count,
                refused=tuple(core.refused),
                error=self.error,
            )

    # -- the sending side -----------------------------------------------------------------------

    @contextmanager
    def held(self) -> Iterator[Protocol]:
        """The protocol, for one short moment that nobody else looks at it."""
        with self._lock:
            self._busy = True
            try:
                yield self.core
            finally:
                self._store_late()
                self._busy = False

    def judge(self, verdict: Verdict, sentence: str | None = None) -> None:
        """A connection ended; `sentence` where the shell knows better why."""
        match verdict:
            case Retry(after=after):
                self.state, self.error = "waiting", sentence or verdict.sentence
                log.info("%s The next try is in %.1f s.", self.error, after)
            case Stop():
                self.stop(verdict.sentence)
            case Finished():
                self.state, self.error = "closed", None

    def stop(self, sentence: str) -> None:
        """Nothing more is sent until a person changes something."""
        self.state, self.error = "stopped", sentence
        log.error("%s Nothing more is sent to Footprint.", sentence)

    def tell_refusal(self, sentence: str, number: int | None) -> None:
        """Log the first of many refusals and every hundredth: the agent's log is for the agent."""
        if self.core.refused_count % 100 == 1:
            log.warning(sentence + " Refused so far: %d.", number, self.core.refused_count)

    def end(self) -> bool:
        """No more events: what is buffered still goes out, then the stream ends. False when it had ended before."""
        with self._lock:
            before, self.core.ending = self.core.ending, True
        return not before

    def put_away(self) -> bool:
        """The last step of every close. Returns whether the server has settled everything."""
        with self._lock:
            buffer = self.core.buffer
            settled = self.state == "closed" or not self.core.unsettled
            if self.state == "closed":
                buffer.finish()
            elif self.state != "stopped":
                self.state = "closed"
            try:
                buffer.close()
            except OSError:
                log.error("The folder of the buffer could not be closed properly.")
        if not settled:
            log.warning("Closed with %d events that the server has not confirmed.", len(buffer))
        return settled

    # -- parts ----------------------------------------------------------------------------------

    def _take(self, line: Line | None) -> None:
        if line is None:
            return
        try:
            with self._lock:
                if self._process != os.getpid():  # a forked child: its numbers would be its parent's
                    self._process = os.getpid()
                    self.core.ending = True
                    log.error(
                        "A process that forks must make its sender after the fork: this one sends nothing."
                    )
                if self.core.ending:
                    return
                if self._busy:
                    self._late.append(line)
                    return
                self._busy = True
                try:
                    self._store(line)
                    self._store_late()
                finally:
                    self._busy = False
            self.ring()
        except Exception as problem:  # out of memory, say: the agent's work goes on
            log.error("An event could not be buffered (%s).", type(problem).__name__)

    def _store_late(self) -> None:
        while self._late:
            self._store(self._late.popleft())

    def _store(self, line: Line) -> None:
        buffer = self.core.buffer
        before = buffer.lost
        number = buffer.skip() if line.data is None else buffer.append(line.data)
        if line.refusal is not None:
            self.core.note(Refusal(number, "not-listed", line.refusal))
            self.tell_refusal("Event %s does not fit the list of what is kept.", number)
        elif buffer.lost > before and not self._full:
            self._full = True
            log.warning("The buffer is full: the oldest events are given up, and reported as lost.")
        elif buffer.lost == before:
            self._full = False


def ingest_url(url: str) -> str:
    """The websocket's address from the dashboard's. Raises ValueError with a sentence."""
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}.get(parts.scheme)
    if scheme is None or not parts.hostname:
        raise ValueError("The address of Footprint must look like https://footprint.example.")
    if parts.query or parts.username or parts.password:
        raise ValueError(
            "The address of Footprint must hold no query, name or password; the token goes beside it."
        )
    path = INGEST_PATH if parts.path in ("", "/") else parts.path
    return f"{scheme}://{parts.netloc}{path}"


def _buffer(buffer: Buffer | str | os.PathLike[str] | None, name: str) -> Buffer:
    if isinstance(buffer, Buffer):
        return buffer
    if buffer is None:
        return Buffer(name=name)
    try:
        return DiskBuffer(buffer, name=name)
    except OSError as problem:
        log.error(
            "The buffer's folder cannot be used (%s): events are kept in memory.", type(problem).__name__
        )
        return Buffer(name=name)


def _nobody() -> None:
    """Nobody sends yet."""
