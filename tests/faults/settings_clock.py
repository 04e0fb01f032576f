"""The site's settings on a machine whose clock is off by the seconds that a file says, and where runs are looked for
that went silent all the time."""

import os
import time
from pathlib import Path

from footprint_site.settings import *  # noqa: F403

_true = time.time_ns
_file = Path(os.environ["FOOTPRINT_TEST_CLOCK"])


def _off() -> int:
    said = _file.read_text()
    return _true() + int(said or 0) * 1_000_000_000


time.time_ns = _off


ASGI_APPLICATION = "tests.faults.clock_serve.application"
