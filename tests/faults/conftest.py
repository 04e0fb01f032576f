"""What every story of faults has: senders that try again at once, and the record of the same run undisturbed."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.faults.check import Record
from tests.faults.house import Agent, house

Undisturbed = Callable[[Sequence[Agent]], Record]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.faults)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Senders that try again at once: most of a story would be their pauses."""
    monkeypatch.setattr("runs.sender.protocol.FIRST_PAUSE", 0.1)
    monkeypatch.setattr("runs.sender.protocol.LONGEST_PAUSE", 0.4)
    monkeypatch.setattr("runs.sender.protocol.SLOWED_PAUSE", 0.4)


@pytest.fixture(autouse=True)
def databases(django_db_blocker: Any) -> Iterator[None]:
    """The databases here are the servers' own, not the one of the tests."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any) -> Undisturbed:
    """The record of a server that was told the same and met no fault; made once for every number of events."""
    known: dict[tuple[Any, ...], Record] = {}

    def record(agents: Sequence[Agent]) -> Record:
        key = tuple((agent.name, agent.told, agent.lines) for agent in agents)
        if key not in known:
            names = [agent.name for agent in agents]
            with house(tmp_path_factory.mktemp("undisturbed"), names) as home:
                for agent in agents:
                    calm = home.agent(agent.name, lines=agent.lines)
                    calm.tell(agent.told)
                    calm.end()
                home.stop()
                known[key] = home.database.whole()
        return known[key]

    return record
