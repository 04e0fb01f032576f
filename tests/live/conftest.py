"""Open pages on the real ASGI application, and a hand that changes the record and rings as the writer does."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest_asyncio
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator

from footprint_site.asgi import application
from runs import announce, models
from runs.announce import Changed
from tests.people import People, gather
from tests.sample import Drawn, Pen, make


@dataclass
class Record:
    """The people, the sample and a pen that goes on writing where the sample ended."""

    people: People
    drawn: Drawn
    pen: Pen

    @property
    def project(self) -> models.Project:
        return self.people.northwind

    async def ring(self, answer: models.Answer, **more: Any) -> None:
        run = await models.Run.objects.aget(pk=answer.run_id)
        changed = Changed(
            self.project.id, self.project.epoch, self.pen.position, (run.slug,), (answer.slug,), **more
        )
        await announce.ring(changed)

    async def call(self, answer: models.Answer, tool: str, outcome: str = "ok") -> models.ToolCall:
        call: models.ToolCall = await sync_to_async(self._call)(answer, tool, outcome)
        await self.ring(answer)
        return call

    def _call(self, answer: models.Answer, tool: str, outcome: str) -> models.ToolCall:
        answer.refresh_from_db()
        self.pen.counts[answer.id] = answer.calls
        call = self.pen.call(answer, tool, outcome)
        answer.version = call.version
        answer.save()
        self.pen.done()
        return call

    async def end(self, call: models.ToolCall, outcome: str) -> None:
        """The end of an open call comes."""
        await sync_to_async(self._end)(call, outcome)
        await self.ring(call.answer)

    def _end(self, call: models.ToolCall, outcome: str) -> None:
        call.outcome, call.state, call.version = outcome, "closed", self.pen.at()
        call.save()
        models.Answer.objects.filter(pk=call.answer_id).update(version=call.version)
        call.answer.refresh_from_db()


@pytest_asyncio.fixture
async def record(transactional_db: None) -> AsyncIterator[Record]:
    def write() -> Record:
        people = gather()
        drawn = make(people.northwind)
        stream = models.Stream.objects.create(project=people.northwind, name="live-zz", instance="l")
        pen = Pen(people.northwind, stream)
        pen.position, pen.number = people.northwind.position, people.northwind.row_number
        models.Answer.objects.update(
            version=pen.position
        )  # as the fold has it: no row is newer than its answer
        return Record(people, drawn, pen)

    yield await sync_to_async(write)()


class OpenPage:
    """A page of somebody, as far as the live socket sees one: what it shows, by id."""

    def __init__(self, socket: WebsocketCommunicator, about: dict[str, Any]) -> None:
        self.socket = socket
        self.about = about
        self.parts: dict[str, str] = {}
        self.seen: list[str] = []

    async def watch(self, **more: Any) -> None:
        await self.socket.send_json_to({"type": "watch", **self.about, **more})

    async def hear(self, timeout: float = 3.0) -> dict[str, Any]:
        text = await self.socket.receive_from(timeout)
        self.seen.append(text)
        message: dict[str, Any] = json.loads(text)
        for part in message.get("parts", ()):
            self.parts[part["id"]] = part["html"]
        if message["type"] == "show":
            self.about |= {name: message[name] for name in ("epoch", "version", "words")}
        return message

    async def hear_until(self, part: str, holds: str) -> None:
        for _ in range(30):
            if holds in self.parts.get(part, ""):
                return
            await self.hear()
        raise AssertionError(f"{part} never held {holds!r}: {self.parts.get(part)}")

    async def is_quiet(self) -> bool:
        return await self.socket.receive_nothing(0.3, 0.02)

    async def close(self) -> None:
        await self.socket.disconnect()


@pytest_asyncio.fixture
async def opens(record: Record) -> AsyncIterator[Any]:
    """`page = await opens("rhea", answer)`: the live socket of the page, before its first word unless `says`."""
    pages: list[OpenPage] = []

    async def open_page(
        who: str | None, answer: models.Answer, *, origin: str = "http://testserver", **about: Any
    ) -> OpenPage:
        headers = await sync_to_async(record.people.headers)(who, origin)
        socket = WebsocketCommunicator(application, "/ws/live/", headers)
        connected, _ = await socket.connect(timeout=3)
        await answer.arefresh_from_db()
        words = await models.Project.objects.values_list("words_version", flat=True).aget(
            pk=record.project.pk
        )
        page = OpenPage(
            socket,
            {
                "page": "answer", "project": record.project.key, "slug": answer.slug, "epoch": answer.epoch,
                "version": answer.version, "words": words, "through": answer.calls,
            } | about,
        )  # fmt: skip
        if connected:
            pages.append(page)
        page.connected = connected  # type: ignore[attr-defined]
        return page

    yield open_page
    for page in pages:
        await page.close()
