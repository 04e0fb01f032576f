"""Who stands at the door: bounds on connections, and on what strangers may ask. One for the process.

A stranger is a connection whose token is not known yet. Strangers are few a household and few in all, and a household
that brought wrong tokens may ask only now and then: a token that was wrong a moment ago is wrong without a question to
the database, one that was right is always asked for. Once it is known, a token's connections are counted, and share
its rate.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from runs.intake.rates import Bucket, Pace, Rate
from runs.rules.address import household
from runs.store.tokens import TokenRow, digest_of

WRONG_FOR_S = 60.0  # so long a wrong token is remembered
MOST_REMEMBERED = 10_000  # tokens and households; the oldest are forgotten
WRONG_AT_ONCE, WRONG_PER_S = 20.0, 0.5  # wrong tokens a household may bring

UNKNOWN = "this token is not known here, or was revoked"


class TooMany(Exception):
    """The sentence for the sender's log: what there is too much of, and what to do."""


class WrongToken(Exception):
    """The sentence for the sender's log."""


class Doors:
    """Lives on one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.strangers: Counter[str] = Counter()  # household -> connections
        self.connections: Counter[int] = Counter()  # token id -> connections
        self.rates: dict[int, Rate] = {}  # token id -> what its connections share
        self.wrong: OrderedDict[str, float] = OrderedDict()  # digest -> until when
        self.right: OrderedDict[str, None] = OrderedDict()  # digest
        self.tries: OrderedDict[str, Bucket] = OrderedDict()  # household -> wrong tokens it may bring

    def visitor(self, scope: dict[str, Any], limits: dict[str, int]) -> Visitor:
        """One connection; `limits` are the doors' own (settings.FOOTPRINT)."""
        return Visitor(self, household((scope.get("client") or [""])[0]), limits)


class Visitor:
    """A connection on its way in: a stranger, then a token's. Whoever `came` must `leave`."""

    def __init__(self, doors: Doors, home: str, limits: dict[str, int]) -> None:
        self._doors, self._home, self._limits = doors, home, limits
        self._is_stranger = False
        self._token_id: int | None = None
        self._rate: Rate | None = None
        self.limits = limits  # its token's own, once it is known

    def come(self) -> None:
        """Raises TooMany."""
        strangers = self._doors.strangers
        most, in_all = self._limits["waiting_per_address"], self._limits["waiting"]
        if strangers[self._home] >= most or strangers.total() >= in_all:
            most, whose = (most, "of one address ") if strangers[self._home] >= most else (in_all, "")
            raise TooMany(f"at most {most} connections {whose}may wait to say who they are; try again later")
        strangers[self._home] += 1
        self._is_stranger = True

    def ask(self, secret: str) -> None:
        """Before the database is asked for the token. Raises WrongToken or TooMany."""
        doors, digest = self._doors, digest_of(secret)
        if doors.clock() < doors.wrong.get(digest, 0.0):
            raise WrongToken(UNKNOWN)
        tries = doors.tries.get(self._home)
        if tries is not None and digest not in doors.right and tries.take(0, doors.clock()) > 0:
            raise TooMany("too many wrong tokens came from this address; try again in a minute")

    def be_told(self, secret: str, token: TokenRow | None) -> None:
        """What the database answered. Raises WrongToken or TooMany; afterwards the visitor is the token's."""
        doors, digest = self._doors, digest_of(secret)
        if token is None:
            now = doors.clock()
            doors.right.pop(digest, None)
            _remember(doors.wrong, digest, now + WRONG_FOR_S)
            tries = doors.tries.get(self._home) or Bucket(WRONG_PER_S, WRONG_AT_ONCE, now)
            tries.take(1, now)
            _remember(doors.tries, self._home, tries)
            raise WrongToken(UNKNOWN)
        doors.wrong.pop(digest, None)
        _remember(doors.right, digest, None)
        most = _least(token.connections, self._limits["token_connections"])
        if doors.connections[token.id] >= most:
            raise TooMany(f"at most {most} connections may use this token at once; try again later")
        self._no_longer_a_stranger()
        doors.connections[token.id] += 1
        self._token_id = token.id
        pace = Pace(
            _least(token.events_per_s, self._limits["events_per_second"]),
            _least(token.bytes_per_s, self._limits["bytes_per_second"]),
        )
        self.limits = pace.fitting(self._limits)
        self._rate = doors.rates.get(token.id)
        if self._rate is None or self._rate.pace != pace:  # a pace that was changed counts from now
            self._rate = doors.rates[token.id] = Rate(pace, doors.clock())

    def pause_after(self, events: int, size: int) -> float:
        """Count what was read; seconds not to read on."""
        return self._rate.take(events, size, self._doors.clock()) if self._rate else 0.0

    def leave(self) -> None:
        """The connection has ended."""
        self._no_longer_a_stranger()
        if self._token_id is not None:
            _one_less(self._doors.connections, self._token_id)
            self._token_id = None

    def _no_longer_a_stranger(self) -> None:
        if self._is_stranger:
            _one_less(self._doors.strangers, self._home)
            self._is_stranger = False


def _least(own: int | None, servers: int) -> int:
    """A token's own limit, never above the server's; 0 is none."""
    return min(own or servers, servers or own or 0)


K = TypeVar("K")
V = TypeVar("V")


def _one_less(counter: Counter[K], key: K) -> None:
    counter[key] -= 1
    if counter[key] <= 0:
        del counter[key]


def _remember(memory: OrderedDict[str, V], key: str, value: V) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > MOST_REMEMBERED:
        memory.popitem(last=False)


doors = Doors()
