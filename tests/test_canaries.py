"""What is not on the allow-list is never seen again: not in the database, a log, a page, a frame or an exception."""

import json
import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from django.db import connection
from websockets.sync.client import connect

from runs.models import KeptEvent, Project
from runs.rules.kept import Kept, keep
from tests import recordings
from tests.canaries import found_in, planted, refused_lines
from tests.people import People, gather
from tests.server_process import make_token_on, server_process
from tests.walk import addresses, read
from tests.wire import HELLO, Wire, make_token, run

pytestmark = pytest.mark.django_db(transaction=True)


class Everything(logging.Handler):
    """All that any logger says, with the messages of exceptions."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.said: list[str] = []
        self.setFormatter(logging.Formatter("%(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record))


@pytest.fixture
def log() -> Iterator[Everything]:
    """Every logger there is at DEBUG, also those that pass nothing on."""
    heard = Everything()
    loggers = [logging.getLogger(), *(logging.getLogger(name) for name in logging.root.manager.loggerDict)]
    before = [(one, one.level) for one in loggers]
    for one in loggers:
        one.setLevel(logging.DEBUG)
        one.addHandler(heard)
    excepthook = threading.excepthook
    threading.excepthook = lambda args: heard.said.append(repr(args))
    # with this, Django logs every statement with its parameters
    connection.force_debug_cursor = True
    try:
        yield heard
    finally:
        connection.force_debug_cursor = False
        threading.excepthook = excepthook
        for one, level in before:
            one.removeHandler(heard)
            one.setLevel(level)


class Heard(Wire):
    """Keeps every frame that went out."""

    said: list[str]

    async def hear(self) -> dict[str, Any]:
        frame = await super().hear()
        self.said = [*getattr(self, "said", ()), json.dumps(frame)]
        return frame


def lines_of(name: str) -> list[str]:
    """The recording in canaries, with one event of each refused kind in its middle."""
    told = [planted(line) for line in recordings.lines(name)]
    run_id = json.loads(told[0])["meta"].get("runId", "r")
    middle = len(told) // 2
    return told[:middle] + refused_lines(run_id) + told[middle:]


def everything_stored() -> str:
    """All that the database holds: its files' bytes, or every row of every table as text."""
    if connection.vendor == "sqlite":
        name = Path(str(connection.settings_dict["NAME"]))
        files = [path for path in name.parent.glob(name.name + "*") if path.is_file()]
        assert any(path.name.endswith("-wal") for path in files)
        return "".join(path.read_bytes().decode("latin-1") for path in files)
    with connection.cursor() as cursor:
        texts = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            texts += [row[0] for row in cursor.fetchall()]
    return "\n".join(texts)


def send(project: Project, names: list[str], *, a_frame: int = 100) -> list[str]:
    """Send each recording as a stream of its own, and one event of every kind in bare mode; what was answered."""
    token = make_token(project)
    said: list[str] = []

    async def story() -> None:
        for name in names:
            lines = lines_of(name)
            async with Heard(token, stream=name[:60]) as wire:
                await wire.hello(last=len(lines))
                for first in range(1, len(lines) + 1, a_frame):
                    await wire.events(first, lines[first - 1 : first - 1 + a_frame])
                    await wire.until_acked(min(len(lines), first - 1 + a_frame))
                said.extend(wire.said)
        for closing in ("not the protocol zq00000000000000zq", '{"type":"zq00000000000000zq"}'):
            async with Heard(token, stream="closing") as wire:
                await wire.hello()
                await wire.say(closing)
                await wire.until_closed()
                said.extend(wire.said)
        bare = refused_lines("bare")
        async with Heard(token) as wire:
            await wire.say(planted(recordings.lines(names[0])[0]))
            for line in bare:
                await wire.say(line)
            while len(wire.refused) < 15:
                await wire.hear()
            said.extend(wire.said)

    run(story)
    return said


def test_no_canary_is_seen_again(log: Everything) -> None:
    people: People = gather()
    said = send(people.northwind, recordings.names())

    assert KeptEvent.objects.count() > 1_500
    assert any('"refused"' in frame for frame in said)
    for frame in said:
        assert found_in(frame) == []
    assert found_in(everything_stored()) == []
    assert log.said
    for record in log.said:
        assert found_in(record) == []

    read_pages = 0
    for who in ("ada", "root"):
        browser = people.browser(who)
        for address in addresses(people.northwind):
            status, text = read(browser, address)
            assert status < 500, address
            assert found_in(text) == [], address
            read_pages += status == 200
    assert read_pages > 10


def test_an_event_that_the_database_cannot_store_says_nothing_in_the_log(
    log: Everything, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst case of a log: a batch is rejected by the database, whose errors quote rows."""
    from runs.store import incoming

    people = gather()
    append = incoming.append

    def rejecting(project_id: int, events: list[Any], *rest: Any) -> None:
        if any("turn_end" in str(event) for event in events):
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO runs_keptevent (id) VALUES (%s)", [1])
        append(project_id, events, *rest)

    monkeypatch.setattr(incoming, "append", rejecting)
    said = send(people.northwind, recordings.names()[:3])
    assert any("unstorable" in frame for frame in said)
    assert any("unstorable" in record for record in log.said)
    for text in (*said, *log.said, everything_stored()):
        assert found_in(text) == []


def test_no_exception_on_the_way_holds_a_canary() -> None:
    """Also exceptions that are caught: whoever reports them (a debugger, a crash reporter) sees nothing."""
    passed: list[str] = []

    def trace(frame: Any, kind: str, told: Any) -> Any:
        if kind == "exception":
            passed.append(f"{told[0].__name__}: {told[1]}")
        return trace

    lines = [*refused_lines("r"), *(planted(line) for line in recordings.lines(recordings.names()[0]))]
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        results = [keep(line) for line in lines]
    finally:
        sys.settrace(before)
    assert passed
    assert any(isinstance(read, Kept) for read in results)
    for text in passed:
        assert found_in(text) == []


@pytest.mark.parametrize("looks", ["plain", "json"])
def test_a_real_server_says_and_stores_nothing_of_them(tmp_path: Path, looks: str) -> None:
    environment = {"FOOTPRINT_LOG": "DEBUG", "FOOTPRINT_LOG_FORMAT": looks}
    with server_process(data=tmp_path, environment=environment) as server:
        url = server.websocket_url + "/ws/ingest/"
        token = make_token_on(server)
        lines = lines_of(recordings.names()[0])
        with connect(url, additional_headers={"Authorization": f"Bearer {token}"}) as client:
            client.send(json.dumps(HELLO))
            client.send("\n".join(['{"type":"events","first":1}', *lines]))
            frames: list[str] = []
            while not frames or json.loads(frames[-1]).get("through", 0) < len(lines):
                frames.append(str(client.recv(timeout=20)))
        with urlopen(server.url + "/metrics") as answer:
            frames.append(answer.read().decode())
        files = [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
        assert any("-wal" in path.name for path in tmp_path.iterdir())
        for text in (*frames, *files):
            assert found_in(text) == []
        assert server.stop() == 0
        assert found_in(server.output) == []
