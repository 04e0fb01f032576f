"""The shipped sender's protocol and buffer on disk against the server's real reading and numbering, in any order of
sending, committing, cutting, doubling, swapping, killing and cutting the power.

What is acknowledged is never lost, nothing is there twice, and what is missing is said.
"""

import os
import shutil
import tempfile
from collections import deque
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from runs.intake.frames import Bye, Events, Hello, Lost, ack, read_frame, welcome
from runs.intake.numbering import Batch, Item, Missing, Work, settle_batch
from runs.rules.kept import Kept, keep
from runs.sender.disk import DiskBuffer
from runs.sender.protocol import Finished, Protocol
from runs.store.incoming import LockedProject, LockedStream
from runs.store.rows import ProjectFacts
from tests.faults.house import TIMES
from tests.lines import line

LIMITS = {"frameBytes": 4_000, "eventBytes": 2_000, "window": 6}


@dataclass
class Line:
    """A connection: what is under way on it in both directions. Each end may think that it is still there."""

    to_server: deque[str] = field(default_factory=deque)
    to_sender: deque[str] = field(default_factory=deque)
    stream: str = ""
    epoch: int = 0


class Server:
    """The ingest socket's and the writer's decisions, made with their own parts; `commit` is the transaction."""

    def __init__(self) -> None:
        self.project = LockedProject(ProjectFacts(1, "s", 1, 100), 0, 0, keep_text=False, silent_after_s=900)
        self.streams: dict[str, LockedStream] = {}
        self.instances: dict[str, str] = {}
        self.kept: dict[tuple[str, int], str] = {}  # (stream, seq) -> the event's mark
        self.said: dict[str, set[int]] = {}  # stream -> numbers that a note calls missing
        self.waiting: list[tuple[Line, Batch]] = []
        self.orderly = True  # no frame was doubled, swapped or dropped on the way

    def hear(self, on: Line, text: str) -> None:
        frame = read_frame(text, bare=False if on.stream else None)
        if isinstance(frame, Hello):
            self._open(on, frame)
            return
        if not on.stream:
            return
        items: list[Item | Missing] = []
        if isinstance(frame, Events):
            items = [Item(seq, keep(one)) for seq, one in enumerate(frame.lines, frame.first)]
        elif isinstance(frame, Lost):
            items = [Missing(frame.first, frame.last)]
        elif isinstance(frame, Bye):
            items = [Missing(frame.last, frame.last, ends=True)]
        stream = self.streams[on.stream]
        self.waiting.append((on, Batch(1, stream.id, on.epoch, 1, 0, items)))

    def _open(self, on: Line, hello: Hello) -> None:
        if hello.stream not in self.streams:
            number = len(self.streams) + 1
            self.streams[hello.stream] = LockedStream(number, hello.stream, 0, 0, False, 0, 0, 0, 0, 0, 0)
            self.instances[hello.stream] = hello.instance
        assert self.instances[hello.stream] == hello.instance
        stream = self.streams[hello.stream]
        stream.epoch += 1
        on.stream, on.epoch = hello.stream, stream.epoch
        on.to_sender.append(welcome(hello.stream, stream.acked, False, LIMITS))

    def commit(self, most: int) -> None:
        """One transaction with what so many batches brought; acks follow it."""
        now, self.waiting = self.waiting[:most], self.waiting[most:]
        for on, batch in now:
            stream = self.streams[on.stream]
            if stream.epoch != batch.epoch:
                continue  # a newer connection took the stream over
            work = Work(self.project)
            before = deepcopy(stream.holes)
            told = settle_batch(work, stream, batch)
            for row in work.events:
                place = (on.stream, int(row[3]))
                assert place not in self.kept, "one event a number"
                assert place[1] > stream.acked - len(batch.items) or any(
                    hole.first <= place[1] <= hole.last for hole in before
                ), "only what is new or fills a hole is kept"
                self.kept[place] = mark_of(batch, place[1])
            for note in work.notes:
                assert note.kind == "lost" or (note.kind == "gap" and not self.orderly)
                self.said.setdefault(on.stream, set()).update(range(note.first, note.last + 1))
            on.to_sender.append(ack(told.through))

    def die(self) -> None:
        """What was not committed is gone."""
        self.waiting.clear()


class Story(RuleBasedStateMachine):
    @initialize(max_events=st.sampled_from([3, 8, 1_000]))
    def begin(self, max_events: int) -> None:
        self.max_events = max_events
        self.folder = Path(tempfile.mkdtemp(prefix="footprint-fuzz-"))
        self.server = Server()
        self.marks = 0
        self.numbered: dict[tuple[str, int], str] = {}
        self.heard: set[tuple[str, int]] = set()  # what the sender heard is settled
        self.line: Line | None = None
        self.lines: list[Line] = []
        self.open_buffer()

    def open_buffer(self) -> None:
        self.buffer = DiskBuffer(self.folder, name="fuzz", max_events=self.max_events)
        self.core = Protocol(self.buffer, chance=lambda: 0.0)
        self.line = None

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        try:
            self.until_quiet()
            self.everything_is_told()
        finally:
            self.buffer.close()
            shutil.rmtree(self.folder)

    # -- the sender -----------------------------------------------------------------------------

    @rule(count=st.integers(1, 5))
    def emit(self, count: int) -> None:
        for _ in range(count):
            self.marks += 1
            mark = f"e{self.marks}"
            event = line("stream.tool_start", {"toolName": "t", "toolCallId": mark}).encode()
            number = self.buffer.append(event)
            self.numbered[self.buffer.stream, number] = mark

    @rule()
    def emit_what_cannot_be_sent(self) -> None:
        self.buffer.skip()

    @precondition(lambda self: self.line is None)
    @rule()
    def connect(self) -> None:
        self.line = Line()
        self.lines.append(self.line)
        self.line.to_server.append(self.core.hello().decode())

    @precondition(lambda self: self.line is not None)
    @rule(most=st.integers(1, 4))
    def send(self, most: int) -> None:
        assert self.line is not None
        for _ in range(most):
            if (frame := self.core.frame()) is not None:
                said = read_frame(frame.decode(), bare=False)
                if isinstance(said, Lost):
                    there = {number for number, _ in (*self.buffer._sent, *self.buffer._waiting)}
                    assert not there & set(range(said.first, said.last + 1)), "it is there, and given up"
                self.line.to_server.append(frame.decode())

    @precondition(lambda self: self.line is not None and self.line.to_sender)
    @rule(most=st.integers(1, 4))
    def hear(self, most: int) -> None:
        assert self.line is not None
        while most and self.line is not None and self.line.to_sender:
            most -= 1
            stream, before, known = self.buffer.stream, self.buffer.acked, self.buffer._known_last
            self.core.received(self.line.to_sender.popleft())
            if self.buffer.stream != stream:
                self.rename(stream, known)
            else:
                self.heard.update((stream, number) for number in range(before + 1, self.buffer.acked + 1))
            if self.core.must_reconnect:
                self.cut()

    def rename(self, before: str, known: int) -> None:
        """The stream has begun again under another name: what was numbered since the start has other numbers now."""
        for stream, number in list(self.numbered):
            mark = self.numbered[stream, number]
            if stream == before and number > known and self.server.kept.get((stream, number)) != mark:
                del self.numbered[stream, number]
                self.numbered[self.buffer.stream, number - known] = mark

    # -- the server -----------------------------------------------------------------------------

    @precondition(lambda self: any(one.to_server for one in self.lines))
    @rule(data=st.data(), most=st.integers(1, 5))
    def arrive(self, data: st.DataObject, most: int) -> None:
        line = data.draw(st.sampled_from([one for one in self.lines if one.to_server]))
        while most and line.to_server:
            most -= 1
            self.server.hear(line, line.to_server.popleft())

    @precondition(lambda self: self.server.waiting)
    @rule(most=st.integers(1, 5))
    def commit(self, most: int) -> None:
        self.server.commit(most)

    # -- all together, so that a story gets somewhere --

    @rule(most=st.integers(1, 6), acks=st.booleans())
    def go_on(self, most: int, acks: bool) -> None:
        """A connection that works for a moment."""
        if self.line is None:
            self.connect()
        assert self.line is not None
        for _ in range(most):
            on = self.line
            self.send(2)
            while on.to_server:
                self.server.hear(on, on.to_server.popleft())
            self.server.commit(100)
            if acks or not self.core.welcomed:
                self.hear(3)
            if self.line is not on:
                return

    @rule(count=st.integers(2, 4))
    def send_one_by_one(self, count: int) -> None:
        """Each event in a frame of its own."""
        if self.line is None or not self.core.welcomed:
            self.go_on(1, True)
        for _ in range(count):
            self.emit(1)
            if self.line is not None:
                self.send(1)

    # -- faults ---------------------------------------------------------------------------------

    @precondition(lambda self: self.line is not None)
    @rule()
    def cut(self) -> None:
        """Both ends notice; the server still settles what it has read."""
        assert self.line is not None
        self.lines.remove(self.line)
        self.leave()

    @precondition(lambda self: self.line is not None)
    @rule()
    def go_half_open(self) -> None:
        """The sender gives up; what is under way arrives later, beside the next connection."""
        self.leave()

    def leave(self) -> None:
        self.line = None
        # A hello that arrives after a later one would take its stream over: the sender stops then, and says so.
        self.lines = [line for line in self.lines if line.stream]
        assert not isinstance(self.core.disconnected(1006), Finished)

    @rule(data=st.data(), how=st.sampled_from(["double", "swap", "drop"]))
    def disturb(self, data: st.DataObject, how: str) -> None:
        """What a proxy with a fault of its own could do; no network does."""
        if not any(len(one.to_server) > 1 and one.stream for one in self.lines):
            self.send_one_by_one(3)
        if not any(len(one.to_server) > 1 and one.stream for one in self.lines):
            return
        line = data.draw(
            st.sampled_from([one for one in self.lines if len(one.to_server) > 1 and one.stream])
        )
        place = data.draw(st.integers(0, len(line.to_server) - 2))
        self.server.orderly = False
        if how == "double":
            line.to_server.insert(place, line.to_server[place])
        elif how == "drop":
            del line.to_server[place]
        else:
            line.to_server[place], line.to_server[place + 1] = (
                line.to_server[place + 1],
                line.to_server[place],
            )

    @rule()
    def kill_the_server(self) -> None:
        self.server.die()
        self.lines.clear()
        if self.line is not None:
            self.leave()

    @rule()
    def kill_the_agent(self) -> None:
        self._drop_files()
        self.open_buffer()

    @rule(lost=st.integers(1, 600))
    def cut_the_agents_power(self, lost: int) -> None:
        """The end of its copy never reached the disk. What is under way then may still arrive."""
        self._drop_files()
        newest = max(self.folder.glob("*.events"))
        with newest.open("rb") as file:
            header = len(file.readline())
        os.truncate(newest, max(header, newest.stat().st_size - lost))
        stream = self.buffer.stream
        self.open_buffer()
        # What the disk lost and the server had not got is gone with the machine; its numbers are given anew.
        for place in list(self.numbered):
            if place[0] == stream and place[1] > self.buffer.last and place not in self.server.kept:
                del self.numbered[place]

    def _drop_files(self) -> None:
        self.lines = [line for line in self.lines if line.stream]
        os.close(self.buffer._file)
        self.buffer._lock.close()

    # -- what holds at every moment ---------------------------------------------------------------

    @invariant()
    def what_was_acknowledged_is_there_or_said(self) -> None:
        for stream, number in self.heard:
            said = self.server.said.get(stream, set())
            assert (stream, number) in self.server.kept or number in said

    @invariant()
    def nothing_is_there_twice(self) -> None:
        marks = list(self.server.kept.values())
        assert len(marks) == len(set(marks))

    @invariant()
    def every_number_is_settled_once_and_a_hole_is_said(self) -> None:
        for name, stream in self.server.streams.items():
            assert stream.acked == stream.kept + stream.dropped + stream.refused + stream.missing
            kept = {seq for where, seq in self.server.kept if where == name}
            assert len(kept) == stream.kept
            missing = set(range(1, stream.acked + 1)) - kept
            assert missing <= self.server.said.get(name, set())
            assert len(missing) == stream.missing

    @invariant()
    def an_event_is_where_its_sender_numbered_it(self) -> None:
        for place, mark in self.server.kept.items():
            # Until its first welcome a sender whose machine lost power does not know which numbers are taken.
            if self.buffer._welcomed or place[1] <= self.buffer._known_last or place[0] != self.buffer.stream:
                assert self.numbered.get(place, mark) == mark

    # -- the end ----------------------------------------------------------------------------------

    def until_quiet(self) -> None:
        """Once everything works, everything is settled and both sides part as friends."""
        self.lines = [self.line] if self.line is not None else []
        self.core.ending = True
        for _ in range(200):
            if self.line is None:
                self.connect()
            self.send(10)
            for on in self.lines:
                while on.to_server:
                    self.server.hear(on, on.to_server.popleft())
            self.server.commit(100)
            self.hear(100)
            if self.core._finished:
                return
        raise AssertionError("it never ends")

    def everything_is_told(self) -> None:
        self.what_was_acknowledged_is_there_or_said()
        self.every_number_is_settled_once_and_a_hole_is_said()
        self.nothing_is_there_twice()
        there = set(self.server.kept.values())
        gone = [place for place, mark in self.numbered.items() if mark not in there]
        for stream, number in gone:
            assert number in self.server.said.get(stream, set()), "what is missing is said"


def mark_of(batch: Batch, seq: int) -> str:
    [read] = [item.read for item in batch.items if isinstance(item, Item) and item.seq == seq]
    assert isinstance(read, Kept)
    mark: str = read.body.tool_call_id  # type: ignore[attr-defined]
    return mark


TestSenderAndServer = Story.TestCase
TestSenderAndServer.settings = settings(
    max_examples=60 * TIMES, stateful_step_count=60, deadline=None, print_blob=True
)
