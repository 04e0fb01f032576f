"""The log tells what happened and where, never what was said.

An exception's message may carry content: a database error quotes the row it refused, a decoder the text it could
not read. So a traceback is printed with its places and the exceptions' types, without their messages. What a record
brings in `extra` is printed as JSON only where it is a number: an id or a count.
"""

from __future__ import annotations

import logging
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final

from pythonjsonlogger.json import JsonFormatter

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
OURS: Final = ("time", "level", "logger", "message", "process", "exception")


class WithoutContent(logging.Formatter):
    """One line a record; below it, for an exception, its places."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%Y-%m-%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        return super().format(_with_types_only(record))

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802 - the name is logging's
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


class JsonLines(JsonFormatter, WithoutContent):  # type: ignore[misc]  # its exceptions may be lists, and are
    """One JSON object a line: time (UTC), level, logger, message, process, exception, and the numbers of `extra`."""

    def __init__(self) -> None:
        JsonFormatter.__init__(
            self,
            ["time", "levelname", "name", "message", "process"],
            rename_fields={"levelname": "level", "name": "logger", "exc_info": "exception"},
            exc_info_as_array=True,  # of the places above
        )

    def format(self, record: logging.LogRecord) -> str:
        record = _with_types_only(record)
        record.time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return super().format(record)

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value for name, value in log_data.items() if name in OURS or isinstance(value, int | float)
        }


def _with_types_only(record: logging.LogRecord) -> logging.LogRecord:
    """The record; where a library prints exceptions as part of its sentence, one with their types instead."""
    if not isinstance(record.args, tuple) or not any(isinstance(arg, BaseException) for arg in record.args):
        return record
    changed = logging.makeLogRecord(record.__dict__)
    changed.args = tuple(type(arg).__name__ if isinstance(arg, BaseException) else arg for arg in record.args)
    return changed
