"""Several server processes on one database: when their tests can run, and waiting for what they do."""

import os
import time
from collections.abc import Callable

import pytest

from tests.server_process import ServerProcess

SOON = 40.0

NEEDS_BOTH = pytest.mark.skipif(
    not (os.environ.get("DATABASE_URL", "").startswith("postgres") and os.environ.get("REDIS_URL")),
    reason="several processes need PostgreSQL and Redis: set DATABASE_URL and REDIS_URL (.ci/run does)",
)


def until(found: Callable[[], bool], what: str, *servers: ServerProcess) -> None:
    """Wait until it is so; what should have been and what the servers said, when it never is."""
    end = time.monotonic() + SOON
    while not found():
        assert time.monotonic() < end, f"never: {what}\n" + "\n".join(server.output for server in servers)
        time.sleep(0.02)
