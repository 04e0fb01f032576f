"""A buffer with a copy on disk: after the agent's process ends, the next one goes on with the same stream.

The folder holds segments, `<generation>-<first number>.events`. The first line of each names the stream and its
instance; every further line is a number, a space and the event (a number alone: nothing to send). Lines are only ever
appended, each in one write; a segment is deleted when all of it is settled or dropped, the newest never, because it
remembers the last number given. Every process begins one, and until the server has answered it, that says `known`:
the highest number that can have reached the server.

What survives what: every line is handed to the operating system before it is sent, so a killed process loses nothing.
Nothing is forced to the disk until the buffer closes (it would make the agent wait), so a power cut can lose the last
seconds; the next start notices by the server's answer and opens a new stream instead of using a number twice.
The folder should be on a local disk. One process at a time: a second one gets `FolderInUse`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from runs.sender.buffer import MAX_BYTES, MAX_EVENTS, Buffer

try:
    import fcntl
except (
    ImportError
):  # pragma: no cover - Windows has other locks; there the folder is the caller's to keep apart
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("footprint.sender")

SEGMENTS: Final = 8  # a full buffer is about this many files


class FolderInUse(OSError):
    """Another process keeps its events in this folder."""


class DiskBuffer(Buffer):
    """A `Buffer` that is also a folder. Raises OSError when the folder cannot be used."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        name: str = "agent",
        max_events: int = MAX_EVENTS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(name=name, max_events=max_events, max_bytes=max_bytes)
        self.folder = Path(folder)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _lock(self.folder / "lock")
        self._generation = 1
        self._segments: deque[tuple[Path, int]] = deque()  # with the number before their first
        self._file = -1
        self._written = 0
        self._unsure: int | None = None  # the `known` of the newest segment
        self._load()

    @property
    def on_disk(self) -> bool:
        """False after the disk refused a write: from then on events are kept in memory alone."""
        return self._file >= 0

    def close(self) -> None:
        if self._file >= 0:
            os.fsync(self._file)
            os.close(self._file)
            self._file = -1
        self._lock.close()

    def finish(self) -> None:
        for path, _ in self._segments:
            path.unlink(missing_ok=True)
        self._segments.clear()

    # -- reading what an earlier process left ---------------------------------------------------

    def _load(self) -> None:
        paths = sorted(self.folder.glob("*-*.events"))
        generations: dict[str, list[Path]] = {}
        for path in paths:
            generations.setdefault(path.name.partition("-")[0], []).append(path)
        newest = max(generations, default="0")
        self._generation = int(newest) if newest.isdigit() and int(newest) else 1
        for path in (path for name, group in generations.items() if name != newest for path in group):
            path.unlink()  # of a stream that was given up; deleting it was interrupted
        named = False
        for path in generations.get(newest, ()):
            named = self._load_segment(path, named) or named
        self._known_last = self.last if self._unsure is None else self._unsure
        self._make_room()
        self._unsure = self._known_last if named else None
        self._open_segment()

    def _load_segment(self, path: Path, named: bool) -> bool:
        """Take in one segment up to the first line that is not whole, and cut it there. False: it is not one."""
        size = path.stat().st_size
        good = 0
        with path.open("rb") as file:
            header = file.readline()
            identity = _identity(header)
            if identity is None or (named and identity[:2] != (self.stream, self.instance)):
                path.unlink()
                return False
            self.stream, self.instance, before, self._unsure = identity
            if not named:
                self.acked = before
            self.last = max(self.last, before)
            good = file.tell()
            for number, line, end in _events(file, good):
                if number <= self.last:
                    break
                self.last, good = number, end
                if line is not None:
                    self._waiting.append((number, line))
                    self.bytes += len(line)
        if good < size:
            log.warning("The end of a segment of events was torn; %d bytes are left out.", size - good)
            os.truncate(path, good)
        self._segments.append((path, before))
        return True

    # -- writing --------------------------------------------------------------------------------

    def _open_segment(self) -> None:
        if self._file >= 0:
            os.close(self._file)  # not forced to the disk: the agent waits for this
            self._file = -1
        before = self.last
        path = self.folder / f"{self._generation:06d}-{before + 1:015d}.events"
        # Under another name until it says whose it is: it may take the place of one that holds nothing but that.
        begun = self.folder / "begun"
        self._file = os.open(begun, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC, 0o600)
        header = {"stream": self.stream, "instance": self.instance, "before": before}
        if self._unsure is not None:
            header["known"] = self._unsure
        self._written = _write_all(self._file, json.dumps(header).encode() + b"\n", 0)
        begun.replace(path)
        if not self._segments or self._segments[-1][0] != path:
            self._segments.append((path, before))

    def _remember(self, number: int, line: bytes | None) -> None:
        if self._file < 0:
            return
        data = b"%d\n" % number if line is None else b"%d %s\n" % (number, line)
        try:
            self._written = _write_all(self._file, data, self._written)
            if self._written >= max(self.max_bytes // SEGMENTS, 1):
                self._open_segment()
        except OSError as problem:
            self._leave_disk(problem)

    def _forget(self, through: int) -> None:
        while len(self._segments) > 1 and self._segments[1][1] <= through:
            path, _ = self._segments.popleft()
            path.unlink(missing_ok=True)

    def _confirmed(self) -> None:
        """Forced to the disk: what is sent from here on must not be taken for unsent after a power cut."""
        if self._file < 0 or self._unsure is None:
            return
        self._unsure = None
        try:
            os.fsync(self._file)
            self._open_segment()
            os.fsync(self._file)
        except OSError as problem:
            self._leave_disk(problem)

    def _renamed(self) -> None:
        self._unsure = None  # nobody knows the new name
        if self._file < 0:
            return
        self._generation += 1
        given_up, self._segments = self._segments, deque()
        try:
            self._open_segment()
        except OSError as problem:
            self._leave_disk(problem)
        for path, _ in given_up:
            path.unlink(missing_ok=True)

    def _leave_disk(self, problem: OSError) -> None:
        log.error("Events are kept in memory only from here on: the disk said %s.", problem.strerror)
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


def _lock(path: Path) -> IO[bytes]:
    file = path.open("wb")
    if sys.platform != "win32":  # there the folder is the caller's to keep apart
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise FolderInUse(f"Another process keeps its events in {path.parent.name}.") from None
    return file


def _identity(header: bytes) -> tuple[str, str, int, int | None] | None:
    """Stream, instance, the number before the first, and `known` where the server had not answered."""
    try:
        value = json.loads(header)
        stream, instance, before, known = (
            *(value["stream"], value["instance"], value["before"]),
            value.get("known"),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    good = isinstance(stream, str) and isinstance(instance, str) and isinstance(before, int)
    good = good and (known is None or isinstance(known, int))
    return (stream, instance, before, known) if good and header.endswith(b"\n") else None


def _events(file: IO[bytes], position: int) -> Iterator[tuple[int, bytes | None, int]]:
    """Number, event and the place after each whole line, up to the first that is not whole."""
    for text in file:
        position += len(text)
        number, _, line = text.rstrip(b"\n").partition(b" ")
        whole = text.endswith(b"\n") and number.isdigit()
        if not whole or (line and not (line.startswith(b"{") and line.endswith(b"}"))):
            return
        yield int(number), line or None, position


def _write_all(file: int, data: bytes, written: int) -> int:
    """Append all of it, or (a full disk) none of it. Returns the file's new length."""
    try:
        done = os.write(file, data)
        while done < len(data):
            done += os.write(file, data[done:])
    except OSError:
        os.ftruncate(file, written)
        raise
    return written + len(data)
