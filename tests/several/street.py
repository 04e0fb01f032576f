"""Several servers on one database, each with an address of its own, so that a story can say which one it means."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cable import Cable
from tests.faults.house import Agent, token
from tests.server_database import ServerDatabase, server_database
from tests.server_process import ServerProcess

PROJECT = "northwind"


@dataclass
class Street:
    database: ServerDatabase
    servers: list[ServerProcess] = field(default_factory=list)
    project: int = 0

    def agent(self, name: str, cable: Cable, **options: object) -> Agent:
        """One of several agents of the one project: each has its own stream and all have the same token."""
        agent = Agent(name, cable, **options)  # type: ignore[arg-type]
        agent.sender.token = token(PROJECT)
        return agent


@contextlib.contextmanager
def street(
    folder: Path,
    count: int = 2,
    environment: Mapping[str, str] | None = None,
    *,
    arguments: Sequence[str] = (),
    project: bool = True,
) -> Iterator[Street]:
    """So many servers, and a project."""
    with server_database(folder) as database, contextlib.ExitStack() as ends:
        built = Street(database)
        more = {**database.environment, "REDIS_URL": os.environ["REDIS_URL"], **(environment or {})}
        for number in range(count):
            migrated = ["--no-migrate"] if number else []
            server = ServerProcess(["serve", "--port", "0", *migrated, *arguments], folder, more)
            ends.callback(server.kill)
            built.servers.append(server)
            assert server.url  # the database is there by then
        if project:
            built.project = database.make_project(PROJECT.encode().hex().ljust(64, "0"), token(PROJECT))
        yield built


def port_of(server: ServerProcess) -> int:
    return int(server.url.rpartition(":")[2])


@contextlib.contextmanager
def cable_to(server: ServerProcess) -> Iterator[Cable]:
    cable = Cable()
    cable.plug(port_of(server))
    try:
        yield cable
    finally:
        cable.close()
