"""A server as people start it, with people and a token of its own; stopped, killed and started again on one port."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runs.sender import Sender
from tests.browser.visitor import Visitor
from tests.server_database import ServerDatabase, server_database
from tests.server_process import ServerProcess, run_on

SEED = """
import json
from runs.store.tokens import create_token
from tests.people import gather
people = gather()
names = ("ada", "omar", "rhea", "root")
print(json.dumps({
    "key": people.northwind.key,
    "token": create_token(people.northwind.pk, "the tests", None)[1],
    "sessions": {name: people.browser(name).cookies["sessionid"].value for name in names},
}))
"""


@dataclass
class House:
    database: ServerDatabase
    chromium: Any
    server: ServerProcess = field(init=False)
    url: str = ""
    key: str = ""
    token: str = ""
    sessions: dict[str, str] = field(default_factory=dict)

    def start(self) -> None:
        port = self.url.rpartition(":")[2] or "0"
        environment = dict(self.database.environment)
        if "REDIS_URL" in os.environ:
            environment["REDIS_URL"] = os.environ["REDIS_URL"]
        self.server = ServerProcess(["serve", "--port", port], self.database.data, environment)
        self.url = self.server.url

    def stop(self) -> None:
        assert self.server.stop(signal.SIGTERM) == 0, self.server.output
        assert "Traceback" not in self.server.output, self.server.output

    def kill(self) -> None:
        self.server.kill()

    def seed(self) -> None:
        told = json.loads(run_on(self.server, SEED))
        self.key, self.token, self.sessions = told["key"], told["token"], told["sessions"]

    def address(self, place: str = "") -> str:
        return f"{self.url}/p/{self.key}/{place}"

    def sender(self, token: str = "") -> Sender:
        """The shipped sender, as an agent's process has it. Close it, or use it with `with`."""
        return Sender(self.url, token=token or self.token, name="support")

    @contextmanager
    def visit(self, name: str | None, **options: Any) -> Iterator[Visitor]:
        """A browser of its own in which this person is logged in; at the end nothing may have gone wrong in it."""
        context = self.chromium.new_context(**options)
        if name is not None:
            cookie = {"name": "sessionid", "value": self.sessions[name], "url": self.url}
            context.add_cookies([cookie])
        visitor = Visitor(context, self.address())
        try:
            yield visitor
        finally:
            context.close()
        assert not visitor.errors, f"{name}'s browser reported: {visitor.errors}"


@contextmanager
def house(chromium: Any) -> Iterator[House]:
    with (
        tempfile.TemporaryDirectory(prefix="footprint-") as folder,
        server_database(Path(folder)) as database,
    ):
        home = House(database, chromium)
        home.start()
        try:
            home.seed()
            yield home
        finally:
            home.server.kill()
        assert "Traceback" not in home.server.output, home.server.output
