"""`python -m runs.sender.demo_agent --url http://127.0.0.1:8000`: agents of a shop's support desk, without end.

They send through the shipped sender, as a real agent would; the token is read from FOOTPRINT_TOKEN. Ends with Ctrl-C
or SIGTERM, after `--runs` answers, or with the process that started it (its end of our stdin).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import stat
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from typing import Any, Final

from runs.sender.client import AsyncSender
from runs.sender.demo_desk import Desk
from runs.sender.demo_scenes import SCENES, pipeline
from runs.sender.demo_shop import AGENTS, DECLARED, FOLLOW_UPS, GREETINGS, TOPICS, Agent, Facts
from runs.sender.events import app_meta, tools_declared
from runs.sender.run import Run

AT_ONCE: Final = 2  # conversations that go on side by side
ROOM: Final = 10_000  # events that may wait before the demo does
PROVIDER: Final = "northwind-models"


class Demo:
    """Plays conversations. The same seed plays the same ones, whatever the pace; `clock` and `sleep` are seconds."""

    def __init__(
        self,
        emit: Callable[[object], None],
        *,
        seed: int,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._emit = emit
        self._seed = seed
        self._sleep = sleep
        self._clock = clock

    async def play(self, answers: int | None, at_once: int = AT_ONCE) -> None:
        """Conversation after conversation, a few side by side, until there were so many answers (None: for ever)."""
        self._emit(tools_declared(DECLARED, app_meta(int(self._clock() * 1000))))
        left = iter(range(answers)) if answers is not None else _endless()
        places = iter(range(sys.maxsize))

        async def one_after_another() -> None:
            while await self.conversation(next(places), left):
                pass

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(one_after_another())

    async def conversation(self, place: int, left: Iterator[int]) -> bool:
        """One to three questions of one customer. False when there are no answers left to play."""
        chance = Random(f"{self._seed}/{place}")
        agent = chance.choice(AGENTS)
        facts = Facts.drawn(chance)
        topic = chance.choice(TOPICS).one(chance)
        session = f"session-{chance.getrandbits(48):012x}"
        question = facts.say(chance, GREETINGS) + facts.say(chance, topic.questions)
        for _ in range(chance.choice((1, 1, 2, 3))):
            if next(left, None) is None:
                return False
            await self._turn(agent, session, facts, chance, question, topic)
            await self._sleep(chance.uniform(1, 6))
            question = facts.say(chance, FOLLOW_UPS)
        return True

    async def _turn(
        self, agent: Agent, session: str, facts: Facts, chance: Random, question: str, topic: Any
    ) -> None:
        run_id = f"run-{chance.getrandbits(48):012x}"
        if chance.random() < 0.05:
            whole = Run(self._emit, run_id=run_id, clock=self._clock)
            await pipeline(Desk(whole, agent, facts, chance, self._sleep), topic, question)
            return
        run = Run(
            self._emit,
            run_id=run_id,
            agent_id=agent.id,
            session_id=session,
            provider=PROVIDER,
            model=agent.model,
            clock=self._clock,
        )
        scene = chance.choices([scene for scene, _ in SCENES], [often for _, often in SCENES])[0]
        await scene(Desk(run, agent, facts, chance, self._sleep), topic, question)


async def run(url: str, *, pace: float, answers: int | None, seed: int) -> int:
    """The demo against a server. Returns the process's exit code."""
    async with AsyncSender(url, name="northwind") as sender:

        async def sleep(seconds: float) -> None:
            await asyncio.sleep(seconds * pace)
            while sender.status.buffered > ROOM and sender.status.state != "stopped":
                await asyncio.sleep(0.05)

        playing = asyncio.ensure_future(Demo(sender.emit, seed=seed, sleep=sleep).play(answers))
        leaving = asyncio.ensure_future(_told_to_leave())
        stopped = asyncio.ensure_future(_stopped(sender))
        done, waiting = await asyncio.wait([playing, leaving, stopped], return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        if playing in done:
            playing.result()
        settled = await sender.close(timeout=3.0 if leaving in done else 30.0)
        if not settled:
            print(sender.error or "The server has not confirmed everything.", file=sys.stderr)
        return 0 if settled or leaving in done else 1


async def _stopped(sender: AsyncSender) -> None:
    while sender.status.state != "stopped":
        await asyncio.sleep(0.2)


async def _told_to_leave() -> None:
    """Until a signal asks, or the process that started us is gone."""
    loop = asyncio.get_running_loop()
    leave = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leave.set)
    stdin = _pipe()
    if stdin is not None:

        def read() -> None:
            if not os.read(stdin, 4096):
                loop.remove_reader(stdin)
                leave.set()

        loop.add_reader(stdin, read)
    await leave.wait()


def _pipe() -> int | None:
    """Our stdin where it is a pipe from the process that started us."""
    try:
        stdin = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    return stdin if stat.S_ISFIFO(os.fstat(stdin).st_mode) else None


def _endless() -> Iterator[int]:
    while True:
        yield 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m runs.sender.demo_agent", description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="the dashboard's address, http or ws")
    parser.add_argument("--pace", type=float, default=1.0, help="2 is twice as slow, 0 does not wait at all")
    parser.add_argument("--runs", type=int, help="end after so many answers (default: never)")
    parser.add_argument("--seed", type=int, help="play the same conversations again")
    given = parser.parse_args(arguments)
    seed = given.seed if given.seed is not None else time.time_ns()
    return asyncio.run(run(given.url, pace=max(given.pace, 0.0), answers=given.runs, seed=seed))


if __name__ == "__main__":
    sys.exit(main())
