"""The log tells what happened and where, never what was said.

An exception's message may carry content: a database error quotes the row it refused, a decoder the text it could
not read. So a traceback is printed with its places and the exceptions' types, without their messages.
"""

import logging
import time
import traceback
from types import TracebackType


class SaidOnce(logging.Filter):
    """For a library that tells the same trouble every second with all its places: once a minute, and its type."""

    def __init__(self, seconds: float = 60.0) -> None:
        super().__init__()
        self._seconds = seconds
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now - self._said.get(record.msg, -self._seconds) < self._seconds:
            return False
        self._said[record.msg] = now
        if record.exc_info and record.exc_info[0] is not None:
            record.msg = f"{record.msg} ({record.exc_info[0].__name__})"
            record.exc_info = None
        return True


class WithoutContent(logging.Formatter):
    """One line a record; below it, for an exception, its places."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%Y-%m-%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """A library may print an exception as part of its sentence: there, too, its type only."""
        if isinstance(record.args, tuple) and any(isinstance(arg, BaseException) for arg in record.args):
            record = logging.makeLogRecord(record.__dict__)
            record.args = tuple(
                type(arg).__name__ if isinstance(arg, BaseException) else arg for arg in record.args or ()
            )
        return super().format(record)

    def formatException(  # noqa: N802 - the name is logging's
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
    ) -> str:
        lines: list[str] = []
        error = ei[1]
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            kind = type(error)
            lines.append(f"{kind.__module__}.{kind.__qualname__} (its message is not logged)")
            for frame in traceback.extract_tb(error.__traceback__):
                lines.append(f"  {frame.filename}:{frame.lineno} in {frame.name}")
            error = error.__cause__ or error.__context__
        return "\n".join(lines)
