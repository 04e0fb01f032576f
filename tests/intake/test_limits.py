"""What one token, one address and one project may use up, told through the real socket."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from runs.intake import doors as doors_module
from runs.intake import service, writer
from runs.intake.doors import doors
from runs.models import KeptEvent, Note, Project, Stream, Token
from runs.rules.today import DAY_MS
from runs.store.tokens import revoke_token
from tests.lines import turn
from tests.record.story import answers_of
from tests.wire import Wire, make_project, make_token, run

pytestmark = pytest.mark.django_db(transaction=True)


def noise(count: int) -> list[str]:
    return turn()[:1] * count


# -- rates --------------------------------------------------------------------------------------


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each connection did not read on, on a clock that stands still; nobody really waits."""
    rested: list[float] = []
    pause_after = doors_module.Visitor.pause_after

    def noted(self: doors_module.Visitor, events: int, size: int) -> float:
        rested.append(pause_after(self, events, size))
        return 0.0

    monkeypatch.setattr(doors_module.Visitor, "pause_after", noted)
    monkeypatch.setattr(doors, "clock", lambda: 100.0)
    return rested


def test_who_is_too_fast_is_held_back_and_loses_nothing(
    project: Project, token: str, limits: Any, rests: list[float]
) -> None:
    limits(events_per_second=20)  # 40 at once, a window of 100

    async def story() -> None:
        async with Wire(token) as wire:
            welcome = await wire.hello()
            assert welcome["limits"]["window"] == 100
            await wire.events(1, noise(40))
            await wire.until_acked(40)
            await wire.events(41, noise(10))
            await wire.until_acked(50)
            await wire.say('{"type":"lost","from":51,"to":60}')
            await wire.until_acked(60)

    run(story)
    assert rests == [0.0, 0.5, 0.55]
    assert KeptEvent.objects.count() == 50


def test_nothing_is_read_while_a_connection_rests(project: Project, token: str, limits: Any) -> None:
    limits(events_per_second=1)

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, noise(5))
            await wire.events(6, noise(100))  # far over the window, and nobody looks
            await wire.until_acked(5)
            assert await wire.is_quiet()
            await wire.vanish()

    run(story)
    assert KeptEvent.objects.count() == 5


def test_connections_of_one_token_share_its_rate_and_other_tokens_do_not(
    project: Project, token: str, limits: Any, rests: list[float]
) -> None:
    limits(events_per_second=1)
    other = make_token(project)

    async def story() -> None:
        for number, secret in enumerate([token, token, other]):
            async with Wire(secret, stream=f"s{number}") as wire:
                await wire.hello()
                await wire.events(1, noise(2))
                await wire.until_acked(2)

    run(story)
    assert rests == [0.0, 2.0, 0.0]


def test_a_token_may_have_limits_of_its_own(project: Project, token: str) -> None:
    Token.objects.update(events_per_s=4, bytes_per_s=20_000)

    async def story() -> dict[str, int]:
        async with Wire(token) as wire:
            limits: dict[str, int] = (await wire.hello())["limits"]
            return limits

    assert run(story) == {"window": 20, "frameBytes": 100_000, "eventBytes": 100_000}


def test_a_tokens_own_limit_is_never_above_the_servers(project: Project, token: str, limits: Any) -> None:
    limits(events_per_second=2)
    Token.objects.update(events_per_s=100)

    async def story() -> int:
        async with Wire(token) as wire:
            return int((await wire.hello())["limits"]["window"])

    assert run(story) == 10


# -- connections --------------------------------------------------------------------------------


def test_too_many_connections_of_a_token_are_told_so_and_come_in_later(project: Project, token: str) -> None:
    Token.objects.update(connections=2)

    async def story() -> None:
        async with Wire(token, stream="a") as first, Wire(token, stream="b", instance="2") as second:
            await first.hello()
            await second.hello()
            async with Wire(token, stream="c", instance="3", header=False) as third:
                await third.hello()
                assert await third.until_closed() == 4429
                assert third.closing is not None
                assert third.closing["reason"] == (
                    "at most 2 connections may use this token at once; try again later"
                )
            await second.bye(0)
            async with Wire(token, stream="c", instance="3") as third:
                assert (await third.hello())["acked"] == 0

    run(story)
    assert doors.connections.total() == doors.strangers.total() == 0


def test_strangers_are_few_an_address_and_are_forgotten_when_they_leave(token: str, limits: Any) -> None:
    limits(waiting_per_address=2)

    async def story() -> None:
        async with Wire(token, header=False) as first, Wire(token, header=False):
            async with Wire(token, header=False) as third:
                assert await third.until_closed() == 4429
                assert third.closing is not None
                assert "at most 2 connections of one address may wait" in third.closing["reason"]
            await first.hello()  # no stranger any more
            async with Wire(token, header=False, stream="other", instance="2") as third:
                assert (await third.hello())["acked"] == 0

    run(story)
    assert doors.strangers.total() == 0


def test_strangers_are_bounded_in_all(token: str, limits: Any) -> None:
    limits(waiting=1)

    async def story() -> None:
        async with Wire(token, header=False), Wire(token, header=False) as second:
            assert await second.until_closed() == 4429
            assert second.closing is not None
            assert second.closing["reason"].startswith("at most 1 connections may wait")

    run(story)


# -- wrong tokens -------------------------------------------------------------------------------


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every token the database is asked for."""
    from runs.intake import socket

    asked: list[str] = []
    find = socket.find_token

    def noted(secret: object) -> Any:
        asked.append(str(secret))
        return find(secret)

    monkeypatch.setattr(socket, "find_token", noted)
    return asked


def test_a_wrong_token_is_asked_for_once(token: str, questions: list[str]) -> None:
    async def story() -> None:
        for _ in range(3):
            async with Wire("fp_wrong", header=False) as wire:
                await wire.hello()
                assert await wire.until_closed() == 4401

    run(story)
    assert questions == ["fp_wrong"]


def test_who_brings_many_wrong_tokens_waits_and_a_known_one_does_not(
    token: str, questions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors_module, "WRONG_AT_ONCE", 3.0)
    monkeypatch.setattr(doors_module, "WRONG_PER_S", 0.001)

    async def story() -> None:
        async with Wire(token, stream="known") as wire:
            await wire.hello()
        for number, code in enumerate([4401, 4401, 4401, 4401, 4429, 4429]):
            async with Wire(f"fp_guess{number}") as wire:
                assert await wire.until_closed() == code
        assert wire.closing is not None
        assert wire.closing["reason"] == "too many wrong tokens came from this address; try again in a minute"
        async with Wire(token, stream="known") as wire:
            assert await wire.hello()

    run(story)
    assert len(questions) == 6


def test_a_token_that_was_right_and_is_revoked_is_wrong_at_once(project: Project, token: str) -> None:
    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
        await sync_to_async(revoke_token)(project.pk, (await sync_to_async(Token.objects.get)()).pk)
        async with Wire(token) as wire:
            assert await wire.until_closed() == 4401

    run(story)


def test_what_is_remembered_of_strangers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors_module, "MOST_REMEMBERED", 5)
    fresh = doors_module.Doors()
    for number in range(20):
        visitor = fresh.visitor({"client": [f"192.0.2.{number}", 1]}, {})
        with pytest.raises(doors_module.WrongToken):
            visitor.be_told(f"fp_{number}", None)
    assert len(fresh.wrong) == len(fresh.tries) == 5


# -- a project's day ----------------------------------------------------------------------------


def test_a_full_day_keeps_the_events_with_the_sender_and_makes_no_hole(
    project: Project, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Project.objects.update(events_per_day=5)
    today = [1_790_000_000_000]
    monkeypatch.setattr("runs.intake.socket.now_ms", lambda: today[0])
    told = [*turn("one"), *turn("two")]
    half = len(turn("one"))

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello(last=len(told))
            await wire.events(1, told[:half])
            await wire.until_acked(half)
            gate = asyncio.Event()
            loop = asyncio.get_running_loop()
            service.running().writer.call(
                lambda: asyncio.run_coroutine_threadsafe(gate.wait(), loop).result(20)
            )
            await wire.events(half + 1, told[half : half + 2])
            await asyncio.sleep(0.05)
            today[0] += DAY_MS  # what came behind the refused batch is of the next day
            await wire.events(half + 3, told[half + 2 :])
            await asyncio.sleep(0.05)
            gate.set()
            assert await wire.until_closed() == 4429
            assert wire.closing is not None
            assert "has taken its events of this day" in wire.closing["reason"]
        async with Wire(token) as wire:
            assert (await wire.hello(last=len(told)))["acked"] == half
            await wire.events(half + 1, told[half:])
            await wire.until_acked(len(told))

    run(story)
    assert not Note.objects.exists()  # no gap, no refusal
    assert Stream.objects.get().missing == 0
    assert [answer["complete"] for answer in answers_of(project)] == [True, True]
    row = Project.objects.get()
    assert (row.day, row.day_events) == (
        today[0] // DAY_MS,
        Stream.objects.get().kept - _kept_of(told[:half]),
    )


def _kept_of(lines: list[str]) -> int:
    from runs.rules.kept import Kept, keep

    return sum(isinstance(keep(line), Kept) for line in lines)


def test_a_bye_is_heard_on_a_full_day(project: Project, token: str) -> None:
    Project.objects.update(events_per_day=1)

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, turn())
            await wire.until_acked(len(turn()))
            await wire.bye(len(turn()))

    run(story)
    assert Project.objects.get().day_events > 1  # the batch that began below the limit


def test_another_projects_day_is_its_own(project: Project, token: str) -> None:
    Project.objects.update(events_per_day=1, day=writer.now_ms() // DAY_MS, day_events=1)
    other = make_token(make_project("Elsewhere"))

    async def story() -> None:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, turn())
            assert await wire.until_closed() == 4429
        async with Wire(other) as wire:
            await wire.hello()
            await wire.events(1, turn())
            await wire.until_acked(len(turn()))

    run(story)


# -- many names ---------------------------------------------------------------------------------


def test_more_names_than_an_event_may_carry_refuse_it_in_words(token: str) -> None:
    from tests.lines import line

    many = [{"name": f"t{number}"} for number in range(5_001)]
    lines = [
        line("stream.llm_start", {"iteration": 1, "tools": many}),
        line("stream.llm_start", {"iteration": 1, "tools": many[:5_000]}),
        line("tool_choice.outcome", {"iteration": 1, "called": ["t"] * 5_001}),
        line("stream.token", {}, compositionPath=["x"] * 5_001),
        line("agent.iteration_start", {}, compositionPath=["x"] * 5_001),
    ]

    async def story() -> list[dict[str, Any]]:
        async with Wire(token) as wire:
            await wire.hello()
            await wire.events(1, lines)
            await wire.until_acked(len(lines))
            return wire.refused

    assert [(frame["seq"], frame["reason"]) for frame in run(story)] == [
        (1, "payload: expected at most 5000 items in tools, got more"),
        (3, "payload: expected at most 5000 items in called, got more"),
        (5, "meta: expected at most 5000 items in compositionPath, got more"),
    ]
