"""What is numbered and not yet settled by the server: a bounded queue, in memory or with a copy on disk.

A number is used once and for good. When the queue is full the oldest event goes; its number stays behind as a hole,
which the protocol reports as `lost`. `DiskBuffer` (in `disk.py`) also survives the end of the agent's process.
"""

from __future__ import annotations

import secrets
from collections import deque
from typing import Final

MAX_EVENTS: Final = 50_000
MAX_BYTES: Final = 64 * 1024 * 1024


class Buffer:
    """Events of one stream in the order of their numbers. Kept in memory; not thread-safe, its owner locks.

    `last` is the highest number given, `acked` the highest the server settled. Events between them are either
    *sent* on the present connection or *waiting*; a number between them without an event is a hole.
    """

    def __init__(
        self, *, name: str = "agent", max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES
    ) -> None:
        self.name = name
        self.max_events = max_events
        self.max_bytes = max_bytes
        self.stream, self.instance = new_identity(name)
        self.last = 0
        self.acked = 0
        self.bytes = 0
        self.lost = 0  # events that had a number and went before the server settled them
        self._sent: deque[tuple[int, bytes]] = deque()
        self._waiting: deque[tuple[int, bytes]] = deque()
        # Until the first welcome nothing above this number can have reached the server.
        self._known_last = 0
        self._welcomed = False

    def __len__(self) -> int:
        return len(self._sent) + len(self._waiting)

    def append(self, line: bytes) -> int:
        """Number one event and keep it; the oldest go when there is no room. Returns its number."""
        self.last += 1
        self._waiting.append((self.last, line))
        self.bytes += len(line)
        self._remember(self.last, line)
        self._make_room()
        return self.last

    def skip(self) -> int:
        """Use up a number for an event that cannot be sent."""
        self.last += 1
        self.lost += 1
        self._remember(self.last, None)
        return self.last

    # -- the protocol's side --------------------------------------------------------------------

    def next(self) -> tuple[int, bytes] | None:
        """The oldest event that waits, left where it is."""
        return self._waiting[0] if self._waiting else None

    def take(self) -> None:
        """The oldest waiting event is on its way."""
        self._sent.append(self._waiting.popleft())

    def lose_next(self) -> None:
        """The oldest waiting event can never be sent."""
        self.bytes -= len(self._waiting.popleft()[1])
        self.lost += 1

    def settle(self, through: int) -> None:
        """The server settled every number up to this one."""
        for queue in (self._sent, self._waiting):
            while queue and queue[0][0] <= through:
                self.bytes -= len(queue.popleft()[1])
        self.acked = through
        self._forget(through)

    def resume(self, acked: int) -> None:
        """A connection was welcomed: nothing is on its way any more, and the server has all up to `acked`."""
        self._waiting.extendleft(reversed(self._sent))
        self._sent.clear()
        behind = acked > (self.last if self._welcomed else self._known_last)
        first, self._welcomed = not self._welcomed, True
        if behind:
            self._start_over(acked)
            return
        if first:
            self._confirmed()
        if (
            acked < self.acked
        ):  # the server went back to an older copy of itself; what we no longer have is lost
            self.lost += self.acked - acked
        self.settle(acked)

    @property
    def identity_changed(self) -> bool:
        """Whether the last `resume` had to open another stream; the caller greets the server again."""
        return not self._welcomed

    def close(self) -> None:
        """Nothing more is appended."""

    def finish(self) -> None:
        """The stream has ended and everything is settled: the next sender starts another one."""

    # -- parts ----------------------------------------------------------------------------------

    def _make_room(self) -> None:
        while len(self) > self.max_events or (self.bytes > self.max_bytes and len(self) > 1):
            queue = self._sent or self._waiting
            number, line = queue.popleft()
            self.bytes -= len(line)
            self.lost += 1
            self._forget(number)

    def _start_over(self, acked: int) -> None:
        """The server knows later numbers than we did when we started: the machine lost the end of our copy.

        What we numbered since would be taken for repeats, so it goes out on a new stream, and what of that we gave up
        is a hole there too. What was there before is among what the server has.
        """
        newer = [
            (number - self._known_last, line) for number, line in self._waiting if number > self._known_last
        ]
        count, lost = self.last - self._known_last, self.lost
        self.stream, self.instance = new_identity(self.name)
        self.last = self.acked = self.bytes = self._known_last = 0
        self._welcomed = False
        self._waiting.clear()
        self._renamed()
        for number, line in newer:
            self._leave_out(number - 1)
            self.append(line)
        self._leave_out(count)
        self.lost = lost  # each was counted when it went

    def _leave_out(self, through: int) -> None:
        """The numbers up to this one have no event."""
        if through > self.last:
            self.last = through
            self._remember(through, None)

    def _remember(self, number: int, line: bytes | None) -> None:
        """For a copy on disk."""

    def _forget(self, through: int) -> None:
        """For a copy on disk."""

    def _renamed(self) -> None:
        """For a copy on disk."""

    def _confirmed(self) -> None:
        """For a copy on disk: the server knows no later numbers than we do."""


def new_identity(name: str) -> tuple[str, str]:
    """A stream's id (at most 64 printable ASCII characters) and its random instance, made together."""
    readable = "".join(char if char.isascii() and char.isalnum() else "-" for char in name)[:40] or "agent"
    return f"{readable}-{secrets.token_hex(8)}", secrets.token_hex(16)
