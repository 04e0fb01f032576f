"""The writer and the sweeper when things are not as usual: silence, a locked database, events that cannot be stored."""

import asyncio
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, connection, connections, transaction

from runs.intake import service, settle, socket
from runs.models import Answer, Hole, KeptEvent, Note, Project, Stream, ToolCall
from runs.record.entries import Entry, EventEntry
from runs.sender import Run
from tests import recordings
from tests.record.story import whole_record
from tests.wire import PATIENCE_S, Wire, make_project, make_token, run, send_all

pytestmark = pytest.mark.django_db(transaction=True)


def told_by_run(tell: Callable[[Run], None], run_id: str = "run-1") -> list[str]:
    events: list[Any] = []
    tell(Run(events.append, run_id=run_id, agent_id="support"))
    return [json.dumps(event) for event in events]


def unfinished(agent: Run) -> None:
    agent.turn_start("Where is my order?")
    agent.llm_start(["lookup_order"])
    agent.llm_end(1)
    agent.tool_start("lookup_order", "call-1")


async def until(found: Callable[[], bool]) -> None:
    """Until the database says so; asked from a thread with a connection of its own."""
    async with asyncio.timeout(PATIENCE_S):
        while not await sync_to_async(found)():
            await asyncio.sleep(0.05)


def ending() -> str:
    return Answer.objects.get().ending


# -- silence --


def test_a_run_without_a_word_is_silent_until_the_next_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "SWEEP_EVERY_S", 0.1)
    project = make_project(silent_after_s=1)
    token, lines = make_token(project), told_by_run(unfinished)
    more = told_by_run(lambda agent: agent.tool_end("call-1"))[1:]  # without who the agent is, which was said

    async def story() -> None:
        async with Wire(token) as wire:  # and then the sender is killed: no bye, the call is open
            await send_all(wire, lines)
        await until(lambda: ending() == "silent")

    async def and_back() -> None:
        async with Wire(token) as wire:
            await send_all(wire, [*lines, *more])
            await until(lambda: ending() == "running")
        await until(lambda: ending() == "silent")

    run(story)
    assert list(Note.objects.values_list("kind", "run", "limit_s")) == [("silent", "run-1", 1)]
    answer = Answer.objects.get()
    assert (answer.complete, answer.open, ToolCall.objects.get().outcome) == (False, 1, "open")

    run(and_back)
    assert list(Note.objects.values_list("kind", flat=True)) == ["silent", "silent"]
    assert ToolCall.objects.get().outcome == "ok"


def test_silence_is_noticed_after_a_restart_too(monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project(silent_after_s=1)
    token = make_token(project)

    async def story() -> None:
        async with Wire(token) as wire:
            await send_all(wire, told_by_run(unfinished))

    async def later() -> None:
        service.running()
        await until(lambda: ending() == "silent")

    run(story)
    assert ending() == "running"
    monkeypatch.setattr(service, "SWEEP_EVERY_S", 0.1)
    run(later)
    assert Note.objects.get().kind == "silent"


def test_a_turn_that_waits_for_a_person_never_goes_silent() -> None:
    project = make_project(silent_after_s=0)
    token = make_token(project)

    def asked(agent: Run) -> None:
        unfinished(agent)
        agent.pause("call-1")

    async def story() -> None:
        async with Wire(token) as wire:
            await send_all(wire, told_by_run(asked))
            await asyncio.sleep(0.05)
            await asyncio.wrap_future(service.running().writer.call(service.sweep_once))

    run(story)
    assert ending() == "asked"
    assert not Note.objects.exists()


# -- a database that cannot be written --


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database's own patience with a lock is 0.2 s, so that the writer's is seen."""
    options = connections.settings["default"].setdefault("OPTIONS", {})
    if connection.vendor == "sqlite":
        monkeypatch.setitem(options, "init_command", "PRAGMA busy_timeout=200")
    else:
        monkeypatch.setitem(options, "options", "-c lock_timeout=200")


@asynccontextmanager
async def locked(project: Project) -> Any:
    """Another connection holds what the writer needs."""
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                Project.objects.select_for_update().get(pk=project.pk)
                held.set()
                release.wait(PATIENCE_S)
        finally:
            connection.close()

    holder = asyncio.create_task(asyncio.to_thread(hold))
    await asyncio.to_thread(held.wait)
    try:
        yield
    finally:
        release.set()
        await holder


@pytest.mark.usefixtures("short_patience")
def test_while_the_database_is_locked_nothing_is_acknowledged_and_nothing_refused() -> None:
    project = make_project()
    token, lines = make_token(project), recordings.lines("tool_throws.jsonl")

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello(last=len(lines))
            async with locked(project):
                await wire.events(1, lines)
                await asyncio.sleep(2)
                assert await wire.is_quiet()
                assert await sync_to_async(KeptEvent.objects.count)() == 0
            await wire.until_acked(len(lines))
            assert wire.refused == []

    run(story)
    assert Stream.objects.get().acked == len(lines)
    assert not Note.objects.exists()


@pytest.mark.usefixtures("short_patience")
def test_a_hello_waits_for_a_locked_database_and_is_not_told_that_its_token_is_wrong(settings: Any) -> None:
    settings.FOOTPRINT = {**settings.FOOTPRINT, "hello_seconds": 1}
    project = make_project()
    token, lines = make_token(project), recordings.lines("plain_answer.jsonl")

    async def story() -> None:
        async with Wire(token) as wire:
            async with locked(project):
                hello = asyncio.create_task(wire.hello(last=len(lines)))
                await asyncio.sleep(2)
                assert not hello.done()
            assert (await hello)["acked"] == 0
            await wire.events(1, lines)
            await wire.until_acked(len(lines))

    run(story)


@pytest.mark.usefixtures("short_patience")
def test_a_sender_that_leaves_while_its_hello_waits_takes_nobody_with_it() -> None:
    project = make_project()
    token, lines = make_token(project), recordings.lines("plain_answer.jsonl")

    async def story() -> None:
        async with locked(project):
            first = Wire(token, stream="impatient")
            await first.__aenter__()
            hello = asyncio.create_task(first.hello(last=1))
            await asyncio.sleep(0.5)
            hello.cancel()
            await first.vanish()
        async with Wire(token) as wire:
            await send_all(wire, lines)

    run(story)
    assert Stream.objects.get(name="stream-1").acked == len(lines)


@pytest.mark.skipif(not os.environ.get("DATABASE_URL"), reason="SQLite has no connection to lose")
def test_a_database_server_that_drops_the_connection_is_asked_again() -> None:
    project = make_project()
    token, lines = make_token(project), recordings.lines("tool_throws.jsonl")

    def own_number() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            number: int = cursor.fetchone()[0]
            return number

    def drop(number: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [number])

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello(last=len(lines))
            for first in range(1, len(lines) + 1, 10):
                await wire.events(first, lines[first - 1 : first + 9])
                await wire.until_acked(min(first + 9, len(lines)))
                writer = service.running().writer
                await sync_to_async(drop)(await asyncio.wrap_future(writer.call(own_number)))
            assert wire.refused == []

    run(story)
    assert Stream.objects.get().acked == len(lines)


def test_a_database_that_cannot_be_asked_for_the_token_is_no_wrong_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = make_token(make_project())

    def unreachable(secret: str) -> None:
        raise OperationalError("where, and as whom")

    async def story() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(socket, "find_token", unreachable)
            async with Wire(token) as wire:
                assert await wire.until_closed() == 1011
                assert "where" not in str(wire.closing)
        async with Wire(token) as wire:
            assert (await wire.hello())["acked"] == 0

    run(story)


# -- events that cannot be stored --


@contextmanager
def poison(monkeypatch: pytest.MonkeyPatch, is_poison: Callable[[Entry], bool]) -> Iterator[None]:
    fold_all = settle.fold_all

    def fold_or_fail(book: Any, entries: list[Entry]) -> None:
        if any(is_poison(entry) for entry in entries):
            raise ArithmeticError("what was said")
        fold_all(book, entries)

    with monkeypatch.context() as patched:
        patched.setattr(settle, "fold_all", fold_or_fail)
        yield


def asks(text: str) -> Callable[[Entry], bool]:
    def is_poison(entry: Entry) -> bool:
        return isinstance(entry, EventEntry) and any(said.text == text for said in entry.kept.texts)

    return is_poison


def test_what_cannot_be_stored_is_refused_and_the_rest_of_its_batch_kept(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    project = make_project()
    token = make_token(project)
    lines = [
        line
        for n in range(30)
        for line in told_by_run(lambda a, n=n: a.turn_start(f"Question {n}"), f"run-{n}")
    ]
    bad = {2 * n + 2 for n in (0, 7, 8, 29)}

    async def story() -> None:
        async with Wire(token) as wire:
            await send_all(wire, lines)
            assert [(told["seq"], told["code"]) for told in wire.refused] == [
                (n, "unstorable") for n in sorted(bad)
            ]

    with poison(monkeypatch, lambda e: any(asks(f"Question {n}")(e) for n in (0, 7, 8, 29))):
        run(story)

    kept = list(KeptEvent.objects.order_by("id").values_list("seq", flat=True))
    assert kept == [seq for seq in range(1, len(lines) + 1) if seq not in bad]
    refused = Note.objects.order_by("id").values_list("kind", "first", "run", "code")
    assert list(refused) == [("refused", n, f"run-{n // 2 - 1}", "unstorable") for n in sorted(bad)]
    assert Stream.objects.get().acked == len(lines)
    assert not Hole.objects.exists()
    assert "what was said" not in caplog.text


@pytest.mark.parametrize(
    ("statement", "values"),
    [("INSERT INTO runs_text (id) VALUES (%s)", [None]), ("SELECT nothing FROM runs_text", [])],
    ids=["a constraint", "a statement"],
)
def test_what_the_database_rejects_is_refused_and_not_tried_for_ever(
    monkeypatch: pytest.MonkeyPatch, statement: str, values: list[Any]
) -> None:
    project = make_project()
    token, append = make_token(project), settle.incoming.append

    def reject(project_id: int, events: list[Any], *rest: Any) -> None:
        append(project_id, events, *rest)
        if any(event[3] == 5 for event in events):
            with connection.cursor() as cursor:
                cursor.execute(statement, values)

    lines = recordings.lines("plain_answer.jsonl")
    lines[4] = told_by_run(lambda agent: None)[0]
    monkeypatch.setattr(settle.incoming, "append", reject)

    async def story() -> None:
        async with Wire(token) as wire:
            await send_all(wire, lines)
            assert [(told["seq"], told["code"]) for told in wire.refused] == [(5, "unstorable")]

    run(story)
    assert Stream.objects.get().acked == len(lines)


def test_what_cannot_even_be_refused_ends_its_connection_and_is_brought_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No fault of the event: nothing is acknowledged, nothing behind it is taken for the far side of a hole."""
    project, other = make_project(), make_project("Southwind")
    token, other_token = make_token(project), make_token(other)
    lines = recordings.lines("tool_throws.jsonl")
    broken = threading.Event()
    broken.set()
    lock = settle.incoming.lock_project

    def lock_or_fail(project_id: int) -> Any:
        if project_id == project.pk and broken.is_set():
            raise ArithmeticError
        return lock(project_id)

    async def story() -> None:
        async with Wire(token) as wire, Wire(other_token) as bystander:
            await wire.hello(last=len(lines))
            await bystander.hello(last=len(lines))
            monkeypatch.setattr(settle.incoming, "lock_project", lock_or_fail)
            for first in range(1, len(lines) + 1, 10):
                await wire.events(first, lines[first - 1 : first + 9])
            assert await wire.until_closed() == 1011
            assert wire.acked == 0
            await bystander.events(1, lines)
            await bystander.until_acked(len(lines))
        broken.clear()
        async with Wire(token) as wire:
            await send_all(wire, lines)
            assert wire.refused == []

    run(story)
    assert set(Stream.objects.values_list("acked", "missing")) == {(len(lines), 0)}


# -- many at once --


def test_many_senders_share_a_commit_and_each_keeps_its_order() -> None:
    projects = [make_project(f"Project {n}") for n in range(3)]
    tokens = [make_token(project) for project in projects]
    lines = recordings.lines("interleaved_two_runs.jsonl")
    groups: list[int] = []

    async def story() -> None:
        service.running()
        settle_group = service.running().writer._settle
        service.running().writer._settle = lambda group: (groups.append(len(group)), settle_group(group))

        async def send(number: int) -> None:
            async with Wire(tokens[number % 3], stream=f"stream-{number}") as wire:
                await send_all(wire, lines, a_frame=5)

        await asyncio.gather(*(send(number) for number in range(9)))

    run(story)
    assert max(groups) > 1, "they were together in a transaction"
    for stream in Stream.objects.all():
        seqs = list(KeptEvent.objects.filter(stream=stream).order_by("id").values_list("seq", flat=True))
        assert seqs == sorted(seqs)
        assert (stream.acked, stream.missing, stream.kept) == (len(lines), 0, len(seqs))
    assert not Note.objects.exists()
    assert Answer.objects.count() == 9 * len({json.loads(line)["meta"]["runId"] for line in lines})


def test_one_batch_on_two_connections_at_once_counts_once() -> None:
    lines = recordings.lines("tool_call_id_reuse.jsonl")
    calm, project = make_project(), make_project(secret="0" * 64)
    Project.objects.filter(pk=calm.pk).update(secret="0" * 64)

    async def twice() -> None:
        token = await sync_to_async(make_token)(project)
        async with Wire(token) as first, Wire(token) as second:
            await asyncio.gather(first.hello(last=len(lines)), second.hello(last=len(lines)))

            async def send(wire: Wire) -> None:
                await wire.events(1, lines)
                while wire.acked < len(lines) and wire.code is None:
                    await wire.hear()

            await asyncio.gather(send(first), send(second))
            assert 4409 in (first.code, second.code)
            assert len(lines) in (first.acked, second.acked)

    async def once() -> None:
        token = await sync_to_async(make_token)(calm)
        async with Wire(token) as wire:
            await send_all(wire, lines)

    run(twice)
    run(once)
    assert counted(project) == counted(calm)
    assert without_streams(whole_record(project)) == without_streams(whole_record(calm))


def test_a_connection_cut_before_the_ack_sends_everything_again_and_it_counts_once() -> None:
    lines = recordings.lines("tool_call_id_reuse.jsonl")
    project = make_project()
    token = make_token(project)

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello(last=len(lines))
            await wire.events(1, lines)
        async with Wire(token, stream="stream-1") as wire:
            await wire.hello(last=len(lines))
            await wire.events(1, lines)  # as a sender that did not look at `acked`
            await wire.until_acked(len(lines))

    run(story)
    assert Stream.objects.get().acked == len(lines)
    assert KeptEvent.objects.count() == Stream.objects.get().kept
    assert not Note.objects.exists()


def without_streams(record: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Two projects' streams have different ids."""
    return {
        table: [{name: value for name, value in row.items() if name != "stream_id"} for row in rows]
        for table, rows in record.items()
    }


def counted(project: Project) -> dict[str, Any]:
    project.refresh_from_db()
    stream = Stream.objects.get(project=project)
    return {
        "position": project.position,
        "dropped": project.dropped_events,
        "unknown": project.unknown_events,
        "kept": stream.kept,
        "events": KeptEvent.objects.filter(project=project).count(),
        "notes": Note.objects.filter(project=project).count(),
        "calls": sorted(ToolCall.objects.filter(project=project).values_list("tool", "call_id", "outcome")),
    }
