"""The sender's half of the wire, without input or output: what to send next, and what an answer means.

The shell around it (`client.py`) opens connections, hands over what comes in and sends what `frames()` gives.

    core = Protocol(buffer)
    send(core.hello())                      # a connection is open
    core.received(text); send(*core.frames())
    verdict = core.disconnected(1006)       # Retry(after seconds), Stop(sentence) or Finished()

Promises: every event of the buffer is on the wire in the order of its number, once a connection; after a new welcome
again from the first that is not settled; a number without an event is reported as `lost`; never more than the
window is on its way.
"""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from runs.sender.buffer import Buffer

PROTOCOL: Final = 1
FRAME_BYTES: Final = 512 * 1024  # frames we make by choice: small ones are acked sooner
SMALLEST_FRAME: Final = 4 * 1024
HEADER_BYTES: Final = 64  # the first line of an events frame is never longer
KEPT_REFUSALS: Final = 100
TAKEN_OVER: Final = 4409
MOST_GHOSTS: Final = 3

FIRST_PAUSE: Final = 0.5  # seconds; doubled with every failure in a row
LONGEST_PAUSE: Final = 30.0
SLOWED_PAUSE: Final = 20.0  # the least pause after 4429
MAX_NUMBER: Final = 2**63 - 1

STOPPING: Final = {
    4400: "The server does not speak this sender's protocol.",
    4401: "The server does not accept the token.",
    4403: "The server does not accept events from this origin.",
    4409: "A newer connection of the same stream took over.",
    4410: "The stream's name belongs to another sender.",
}
PASSING: Final = {
    1000: "The server closed the connection.",
    1001: "The server went away.",
    1006: "The connection was lost.",
    1009: "The server found a frame too large.",
    1011: "The server had a problem.",
    1012: "The server is restarting.",
    4429: "The server asked to send more slowly.",
}
GHOST: Final = "An earlier connection of this sender was heard late and took over."


class Refusal(Struct, frozen=True):
    """An event that was not kept. `seq` is None when it was refused here; `reason` never holds a value."""

    seq: int | None
    code: str
    reason: str


class Retry(Struct, frozen=True):
    """Connect again after this many seconds."""

    after: float
    sentence: str


class Stop(Struct, frozen=True):
    """Connecting again is no use: a person has to change something. `code` is the server's."""

    code: int
    sentence: str


class Finished(Struct, frozen=True):
    """The stream was ended by us and the server has settled all of it."""


Verdict = Retry | Stop | Finished


class Limits(Struct, frozen=True):
    """What the server takes, as its welcome says."""

    frame_bytes: int
    event_bytes: int
    window: int


class Protocol:
    """One stream over any number of connections, one at a time."""

    def __init__(
        self,
        buffer: Buffer,
        *,
        sender: str = "footprint-python/0",
        token: str | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`token` only where it cannot be a header; `chance` gives numbers from 0 to 1 for the pauses' jitter."""
        self.buffer = buffer
        self.limits: Limits | None = None  # None: no connection, or not welcomed yet
        self.refused: deque[Refusal] = deque(maxlen=KEPT_REFUSALS)
        self.refused_count = 0
        self.ending = False
        self._sender = sender
        self._token = token
        self._chance = chance
        self._sent = 0  # the highest number told on this connection, as an event or as lost
        self._largest = 0
        self._own_limit = MAX_NUMBER  # lowered when the server finds our frames too large
        self._said_bye = False
        self._greet_again = False
        self._failures = 0
        # Hellos that the server may hear late: ours that were never answered, and an earlier life's of this buffer.
        # One that arrives takes the stream over from us and says nothing more.
        self._ghosts = 1 if buffer.last else 0
        self._closing: tuple[int, str] | None = None
        self._finished = False

    @property
    def welcomed(self) -> bool:
        return self.limits is not None

    @property
    def unsettled(self) -> int:
        """How many numbers the server has still to settle."""
        return self.buffer.last - self.buffer.acked

    @property
    def expects_word(self) -> bool:
        """Whether the server owes us an answer."""
        return not self.welcomed or self._sent > self.buffer.acked or self._said_bye

    # -- outgoing -------------------------------------------------------------------------------

    def hello(self) -> bytes:
        """The first frame of a new connection."""
        self.limits = None
        self._sent = self._largest = 0
        self._said_bye = self._greet_again = False
        self._closing = None
        frame = {
            "type": "hello",
            "protocol": PROTOCOL,
            "stream": self.buffer.stream,
            "instance": self.buffer.instance,
            "sender": self._sender,
            "last": self.buffer.last,
        }
        if self._token is not None:
            frame["token"] = self._token
        return _frame(frame)

    def frame(self) -> bytes | None:
        """The next frame that may be sent now, or None until something comes in or is emitted."""
        limits = self.limits
        if limits is None or self._greet_again or self._said_bye:
            return None
        room = min(limits.frame_bytes, self._own_limit)
        largest = min(limits.event_bytes, room - HEADER_BYTES)
        while (head := self.buffer.next()) is not None and len(head[1]) > largest:
            self.buffer.lose_next()
        gap_end = self.buffer.last if head is None else head[0] - 1
        if gap_end > self._sent:
            return self._lost(self._sent + 1, gap_end)
        if head is None:
            return self._bye() if self.ending else None
        return self._events(limits.window, largest, min(room, FRAME_BYTES))

    def frames(self) -> list[bytes]:
        """Every frame that may be sent now."""
        found = []
        while (frame := self.frame()) is not None:
            found.append(frame)
        return found

    def _lost(self, first: int, last: int) -> bytes:
        self._sent = last
        return _frame({"type": "lost", "from": first, "to": last})

    def _bye(self) -> bytes:
        self._said_bye = True
        return _frame({"type": "bye", "last": self.buffer.last})

    def _events(self, window: int, largest: int, wanted: int) -> bytes | None:
        """As many events as fit the window and a frame of the wanted size; one alone may be larger than that."""
        buffer = self.buffer
        parts = [_frame({"type": "events", "first": self._sent + 1})]
        size = len(parts[0])
        while (head := buffer.next()) is not None:
            number, line = head
            if number != self._sent + 1 or number - buffer.acked > window or len(line) > largest:
                break
            if len(parts) > 1 and size + 1 + len(line) > wanted:
                break
            buffer.take()
            parts.append(line)
            size += 1 + len(line)
            self._sent = number
        if len(parts) == 1:
            return None
        self._largest = max(self._largest, size)
        return b"\n".join(parts)

    # -- incoming -------------------------------------------------------------------------------

    def received(self, text: str | bytes) -> Refusal | None:
        """Take in one frame of the server. What is not a frame we know is passed over. Returns a new refusal."""
        try:
            frame = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(frame, dict):
            return None
        match frame.get("type"):
            case "welcome":
                self._welcome(frame)
            case "ack":
                self._ack(_number(frame.get("through")))
            case "refused":
                return self._refuse(frame)
            case "closing":
                code = _number(frame.get("code"))
                if code is not None:
                    self._closing = (code, _words(frame.get("reason")))
        return None

    def _welcome(self, frame: dict[str, Any]) -> None:
        acked = _number(frame.get("acked"))
        said = frame.get("limits")
        if acked is None or not isinstance(said, dict) or self.limits is not None:
            return
        sizes = [_number(said.get(name)) for name in ("frameBytes", "eventBytes", "window")]
        if None in sizes or 0 in sizes:
            return
        self.buffer.resume(acked)
        if self.buffer.identity_changed:
            self._greet_again = True
            return
        self.limits = Limits(*[size for size in sizes if size is not None])
        self._sent = acked
        if not self.unsettled:
            self._failures = 0

    def _ack(self, through: int | None) -> None:
        if through is None or not self.welcomed:
            return
        through = min(through, self._sent)
        if through > self.buffer.acked:
            self.buffer.settle(through)
            self._failures = 0
        if self._said_bye and through == self.buffer.last:
            self._finished = True

    def _refuse(self, frame: dict[str, Any]) -> Refusal:
        refusal = Refusal(_number(frame.get("seq")), _words(frame.get("code")), _words(frame.get("reason")))
        self.note(refusal)
        return refusal

    def note(self, refusal: Refusal) -> None:
        """Keep one refusal on record here (the latest hundred), the server's or our own."""
        self.refused.append(refusal)
        self.refused_count += 1

    # -- the end of a connection ----------------------------------------------------------------

    @property
    def must_reconnect(self) -> bool:
        """Whether the shell should drop this connection: the stream has another name now."""
        return self._greet_again

    def disconnected(self, code: int) -> Verdict:
        """The connection ended, or was not even made (1006): what now?"""
        if self._closing is not None:
            code = self._closing[0]  # some servers cannot give the close itself a code
        finished = self._finished or (self._said_bye and code == 1000 and not self.unsettled)
        was_welcomed, self.limits = self.welcomed, None
        if finished:
            return Finished()
        if code == TAKEN_OVER and self._ghosts:
            # It may be a real rival as well: then one of us stops after a few of these.
            self._ghosts -= 1
            return Retry(self._pause(code), GHOST)
        if not was_welcomed and not self._greet_again:
            self._ghosts = min(self._ghosts + 1, MOST_GHOSTS)
        if code in STOPPING:
            return Stop(code, STOPPING[code])
        if self._greet_again:
            return Retry(0.0, "The stream starts again under another name.")
        if code == 1009:
            self._own_limit = max(min(self._largest, self._own_limit) // 2, SMALLEST_FRAME)
        sentence = PASSING.get(code, f"The connection ended with code {code}.")
        if code == 4429 and self._closing is not None and self._closing[1]:
            sentence = f"{sentence} It says: {self._closing[1]}."
        return Retry(self._pause(code), sentence)

    def _pause(self, code: int) -> float:
        longest: float = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._failures, 16))
        self._failures += 1
        pause = longest * (0.5 + self._chance() / 2)
        return SLOWED_PAUSE + pause if code == 4429 else pause


def _frame(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _number(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_NUMBER:
        return value
    return None


def _words(value: object) -> str:
    """A sentence of the server, made fit for a log or a status line."""
    text = value if isinstance(value, str) else ""
    return "".join(char if char.isprintable() else " " for char in text)[:300]
