"""`/health/live` and `/health/ready`, for whoever starts, restarts and balances servers. No log-in, closed words only.

live    the process answers: 200
ready   it can serve and take in: 200, or 503 with what cannot. The database answers a question; the writer settles
        something (it may take FOOTPRINT_READY_SECONDS, as long as a busy database may); Redis, where there is one,
        takes a message

Answered before Django, so that no page under way holds it up. The parts are asked once a second at most, whoever asks
how often.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from channels.layers import InMemoryChannelLayer, get_channel_layer
from django.conf import settings
from django.db import connection

from runs.intake import service

log = logging.getLogger("footprint.health")

OK, FAILS, STUCK, UNUSED = "ok", "fails", "stuck", "unused"
LIVE: Final = "/health/live"
READY: Final = "/health/ready"
ASKED_AGAIN_AFTER_S = 1.0
ANSWERED_WITHIN_S = 2.0

Application = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


class Health:
    """Answers for the two addresses, and hands everything else on."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._parts = _Parts()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["path"] not in (LIVE, READY) or scope["method"] not in ("GET", "HEAD"):
            await self._application(scope, receive, send)
            return
        told = {"state": "live"} if scope["path"] == LIVE else await self._parts.told()
        body = json.dumps(told).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"cache-control", b"no-store"),
            (b"content-length", str(len(body)).encode()),
        ]
        status = 503 if told["state"] == "not-ready" else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


class _Parts:
    """What the server is made of, each asked with a time of its own."""

    def __init__(self) -> None:
        # A thread and a connection of its own: it waits for no page and no socket.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="health")
        self._question: asyncio.Future[Any] | None = None  # to the database, not yet answered
        self._errand: asyncio.Future[Any] | None = None  # the writer's, not yet done
        self._errand_given = 0.0
        self._look: asyncio.Task[dict[str, str]] | None = None
        self._looked = 0.0

    async def told(self) -> dict[str, str]:
        loop = asyncio.get_running_loop()
        look = self._look
        if look is None or (look.done() and loop.time() - self._looked > ASKED_AGAIN_AFTER_S):
            self._looked = loop.time()
            look = self._look = loop.create_task(self._ask())
        return await asyncio.shield(look)  # one who leaves does not end it for the others

    async def _ask(self) -> dict[str, str]:
        database, writer, redis = await asyncio.gather(self._database(), self._writer(), self._redis())
        parts = {"database": database, "writer": writer, "redis": redis}
        ready = all(state in (OK, UNUSED) for state in parts.values())
        if not ready:
            log.warning("Not ready: %s", ", ".join(f"{part} {state}" for part, state in parts.items()))
        return {"state": "ready" if ready else "not-ready", **parts}

    async def _database(self) -> str:
        if self._question is None or self._question.done():
            self._question = asyncio.get_running_loop().run_in_executor(self._thread, _answers)
        try:
            return await asyncio.wait_for(asyncio.shield(self._question), ANSWERED_WITHIN_S)
        except TimeoutError:
            return STUCK

    async def _writer(self) -> str:
        """An errand of its own, in turn with what senders bring: done, it settles."""
        loop = asyncio.get_running_loop()
        if self._errand is None or self._errand.done():
            writer = service.running().writer
            if not writer.lives:
                return FAILS
            self._errand = asyncio.wrap_future(writer.call(lambda: None))
            self._errand_given = loop.time()
        try:
            await asyncio.wait_for(asyncio.shield(self._errand), ANSWERED_WITHIN_S)
        except TimeoutError:
            long = loop.time() - self._errand_given > settings.FOOTPRINT["ready_seconds"]
            return STUCK if long else OK
        except Exception:
            return FAILS
        return OK

    async def _redis(self) -> str:
        layer = get_channel_layer()
        if layer is None or isinstance(layer, InMemoryChannelLayer):
            return UNUSED
        try:
            await asyncio.wait_for(
                layer.group_send("health", {"type": "footprint.health"}), ANSWERED_WITHIN_S
            )
        except Exception:  # whatever a broken connection raises, and the time-out
            return FAILS
        return OK


def _answers() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT epoch FROM runs_project LIMIT 1")
            cursor.fetchone()
    except Exception:  # a driver may raise more than Django's errors while a server goes away
        connection.close()
        return FAILS
    return OK
