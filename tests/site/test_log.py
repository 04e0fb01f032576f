"""The log as JSON: one object a line, and the same promise as in the plain one."""

import json
import logging

import pytest

from footprint_site import log
from tests.canaries import canary, found_in

FORMATTERS = {"plain": log.WithoutContent, "json": log.JsonLines}


def record(**extra):
    """What a room logs when something went wrong that quoted what an agent said."""
    try:
        try:
            raise ValueError(canary())
        except ValueError as error:
            raise RuntimeError(canary(), {canary(): canary()}) from error
    except RuntimeError as error:
        info = (RuntimeError, error, error.__traceback__)
    logger = logging.getLogger("footprint.writer")
    return logger.makeRecord(
        logger.name, logging.ERROR, __file__, 1, "batch of %d not stored", (7,), info, "somewhere", extra
    )


@pytest.mark.parametrize("looks", FORMATTERS)
def test_neither_says_what_was_said(looks):
    """Not in an exception, not in its cause, not in what a library puts beside a record."""
    said = FORMATTERS[looks]().format(
        record(project=3, request=canary(), rows=[canary()], args_of={canary(): canary()})
    )
    assert found_in(said) == []
    assert "batch of 7 not stored" in said
    assert "builtins.ValueError (its message is not logged)" in said


def test_a_line_is_one_object():
    line = log.JsonLines().format(record(project=3, rows=12, request=canary()))
    assert "\n" not in line
    told = json.loads(line)
    assert told["time"].endswith("+00:00")
    assert (told["level"], told["logger"], told["message"]) == (
        "ERROR",
        "footprint.writer",
        "batch of 7 not stored",
    )
    assert (told["project"], told["rows"]) == (3, 12)
    assert told["exception"][0] == "builtins.RuntimeError (its message is not logged)"
    assert "in record" in told["exception"][1]
    assert told.keys() == {
        "time",
        "level",
        "logger",
        "message",
        "process",
        "project",
        "rows",
        "exception",
    }
