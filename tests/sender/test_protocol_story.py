"""Any order of emitting, sending, losing the connection and restarting: nothing vanishes, nothing comes twice."""

import json
from collections import deque

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from runs.sender.buffer import Buffer
from runs.sender.protocol import Finished, Protocol, Retry

WINDOW = 4


class Server:
    """What the wire promises of a server: it commits in order, acks what is committed, forgets what is not."""

    def __init__(self) -> None:
        self.stored: dict[int, int] = {}
        self.holes: set[int] = set()
        self.acked = 0
        self.told_acked = 0
        self.uncommitted: list[tuple[str, int, int]] = []
        self.ended: int | None = None

    def take(self, frame: bytes) -> None:
        head, *lines = frame.split(b"\n")
        header = json.loads(head)
        if header["type"] == "events":
            for place, line in enumerate(lines):
                number = header["first"] + place
                assert number - self.told_acked <= WINDOW, "never more than the window is on its way"
                self.uncommitted.append(("event", number, json.loads(line)["n"]))
        elif header["type"] == "lost":
            self.uncommitted.append(("lost", header["from"], header["to"]))
        elif header["type"] == "bye":
            self.ended = header["last"]

    def commit(self) -> None:
        for kind, number, value in self.uncommitted:
            if number <= self.acked:
                continue
            assert number == self.acked + 1, "in order and without an unannounced hole"
            if kind == "event":
                self.stored[number] = value
                self.acked = number
            else:
                self.holes.update(range(number, value + 1))
                self.acked = value
        self.uncommitted = []


class Story(RuleBasedStateMachine):
    @initialize(max_events=st.integers(1, 12))
    def begin(self, max_events: int) -> None:
        self.buffer = Buffer(max_events=max_events)
        self.core = Protocol(self.buffer, chance=lambda: 0.0)
        self.server = Server()
        self.to_server: deque[bytes] = deque()
        self.to_sender: deque[str] = deque()
        self.connected = False
        self.emitted: dict[int, int] = {}
        self.skipped: set[int] = set()

    @rule(count=st.integers(1, 6))
    def emit(self, count: int) -> None:
        for _ in range(count):
            value = len(self.emitted) + 1000
            number = self.buffer.append(b'{"n":%d}' % value)
            assert number not in self.emitted
            self.emitted[number] = value

    @rule()
    def emit_what_cannot_be_sent(self) -> None:
        self.skipped.add(self.buffer.skip())

    @rule()
    def emit_what_is_too_large(self) -> None:
        self.skipped.add(self.buffer.append(b'{"n":0,"x":"' + b"x" * 200 + b'"}'))

    @precondition(lambda self: not self.connected)
    @rule()
    def connect(self) -> None:
        self.connected = True
        hello = json.loads(self.core.hello())
        assert hello["stream"] == self.buffer.stream
        assert hello["last"] == self.buffer.last
        self.server.told_acked = self.server.acked
        limits = {"frameBytes": 150, "eventBytes": 100, "window": WINDOW}
        self.to_sender.append(json.dumps({"type": "welcome", "acked": self.server.acked, "limits": limits}))

    @precondition(lambda self: self.connected)
    @rule(most=st.integers(1, 5))
    def send(self, most: int) -> None:
        for _ in range(most):
            if (frame := self.core.frame()) is not None:
                self.to_server.append(frame)

    @precondition(lambda self: self.to_server)
    @rule()
    def arrive(self) -> None:
        self.server.take(self.to_server.popleft())

    @rule()
    def commit(self) -> None:
        self.server.commit()

    @precondition(lambda self: self.connected)
    @rule()
    def ack(self) -> None:
        self.server.told_acked = self.server.acked
        self.to_sender.append(json.dumps({"type": "ack", "through": self.server.acked}))

    @precondition(lambda self: self.to_sender)
    @rule()
    def hear(self) -> None:
        self.core.received(self.to_sender.popleft())

    @rule()
    def get_going(self) -> None:
        """Steps that are seldom drawn in this order: a welcomed connection with events on their way."""
        if not self.connected:
            self.connect()
        while self.to_sender:
            self.hear()
        self.send(5)

    @precondition(lambda self: self.connected)
    @rule(killed=st.booleans(), code=st.sampled_from([1006, 1011, 1012, 4429]))
    def lose_connection(self, killed: bool, code: int) -> None:
        self.connected = False
        self.to_server.clear()
        self.to_sender.clear()
        if not killed:
            self.server.commit()
        self.server.uncommitted = []
        self.server.ended = None
        assert isinstance(self.core.disconnected(code), Retry)

    @invariant()
    def what_is_stored_is_what_was_emitted(self) -> None:
        for number, value in self.server.stored.items():
            assert self.emitted[number] == value
        assert not self.server.holes & self.server.stored.keys()
        assert self.server.stored.keys() | self.server.holes == set(range(1, self.server.acked + 1))

    @invariant()
    def what_is_kept_is_bounded(self) -> None:
        assert len(self.buffer) <= self.buffer.max_events
        kept = [*self.buffer._sent, *self.buffer._waiting]
        assert [number for number, _ in kept] == sorted(number for number, _ in kept)
        assert self.buffer.bytes == sum(len(line) for _, line in kept)

    def teardown(self) -> None:
        if self.connected:
            self.lose_connection(killed=True, code=1006)
        self.core.ending = True
        kept = {number for number, _ in self.buffer._waiting} | {number for number, _ in self.buffer._sent}
        self.connect()
        for _ in range(1000):
            while self.to_sender:
                self.hear()
            self.send(5)
            while self.to_server:
                self.arrive()
            self.server.commit()
            if self.server.ended is not None and self.server.acked == self.server.ended:
                break
            self.ack()
        self.ack()
        self.hear()
        assert isinstance(self.core.disconnected(1000), Finished)
        assert self.server.acked == self.buffer.last, "every number is settled"
        assert self.skipped <= self.server.holes
        assert not (kept - self.skipped) & self.server.holes, "what was kept has arrived"
        assert len(self.buffer) == 0


Story.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestStory = Story.TestCase
