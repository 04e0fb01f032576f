"""The server: daphne in this process, with the signals in our hands.

Left alone, daphne crashes on SIGTERM while a websocket is open (Python 3.11), drops connections that send more than
1 MiB without a word, cannot close with 1009 or 1012 and loses close reasons, and closes every websocket after a day.
Here a stop goes in order: no new connections, whoever helps this process is stopped, every websocket is closed with
1012 while pages under way are finished, the reactor stops.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from daphne.server import Server, twisted_loop  # first: it installs the asyncio reactor
from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings
from twisted.internet import defer, reactor

from footprint_site.open_sockets import OpenSockets
from footprint_site.starting import allow_many_connections
from footprint_site.text_frame import text_frame
from runs.intake import service

log = logging.getLogger("footprint.server")

PING_SECONDS = 20  # a half-open connection is noticed after PING + PONG seconds
PONG_SECONDS = 30
LONGEST_REASON = 123  # bytes of a close frame's reason (RFC 6455)
FINISHED_WITHIN = 5.0  # seconds for websockets and pages under way; then they are cancelled
STOPPED_WITHIN = 20.0  # seconds; then the process ends, whatever still runs


def serve(
    application: OpenSockets,
    listening: socket.socket,
    on_start: Callable[[], None] = lambda: None,
    on_stop: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT. `on_start` is called on the server's loop when connections are accepted,
    `on_stop` before any of them is closed."""
    allow_many_connections()
    _Footprint(application, listening, on_start, on_stop).run()


class _Footprint(Server):
    def __init__(
        self,
        application: OpenSockets,
        listening: socket.socket,
        on_start: Callable[[], None],
        on_stop: Callable[[], Awaitable[None]] | None,
    ) -> None:
        # Twice our own limit, so that a frame too large is refused by us, with a code and a reason.
        largest = 2 * settings.FOOTPRINT["frame_bytes"]
        super().__init__(
            application=application,
            endpoints=["adopted below"],
            signal_handlers=False,
            ready_callable=self._ready,
            server_name="footprint",
            websocket_timeout=-1,
            websocket_max_message_size=largest,
            websocket_max_frame_size=largest,
            ping_interval=PING_SECONDS,
            ping_timeout=PONG_SECONDS,
            verbosity=1,
            **(_PROXY_HEADERS if settings.BEHIND_PROXY else {}),
        )
        self.endpoints: list[str] = []  # the listening socket is handed over instead
        self._listening = listening
        self._on_start = on_start
        self._on_stop = on_stop
        self._port: Any = None
        self._stopping = False
        self._stop_task: asyncio.Task[None] | None = None

    def _ready(self) -> None:
        self.ws_factory.protocol = _WebSocket
        # A frame against the protocol is answered with a close code instead of a dropped connection.
        self.ws_factory.setProtocolOptions(failByDrop=False)
        self._port = reactor.adoptStreamPort(
            self._listening.fileno(), self._listening.family, self.http_factory
        )
        self._listening.close()  # the port has its own copy
        for number in (signal.SIGTERM, signal.SIGINT):
            twisted_loop.add_signal_handler(number, self._asked_to_stop)
        # What lives now lives on: full collections need not look at it again (they stall for 40 ms otherwise).
        gc.collect()
        gc.freeze()
        twisted_loop.call_soon(self._start)

    def _start(self) -> None:
        service.running()  # the writer, and the sweeper: runs go silent also while nobody reports
        self._on_start()

    def _asked_to_stop(self) -> None:
        if self._stopping:  # asked twice: now
            self.stop()
            return
        self._stopping = True
        _end_anyway_after(STOPPED_WITHIN)
        self._stop_task = twisted_loop.create_task(self._stop_in_order())

    async def _stop_in_order(self) -> None:
        try:
            await defer.maybeDeferred(self._port.stopListening).asFuture(twisted_loop)
            if self._on_stop is not None:
                await self._on_stop()
            closed, _ = await asyncio.gather(
                self.application.close_all(FINISHED_WITHIN), self._pages_under_way(FINISHED_WITHIN)
            )
            if not closed:
                log.warning("%d websockets did not close in time", len(self.application))
            await asyncio.to_thread(service.stop)  # what was brought is settled before the process ends
        except Exception:
            log.exception("Stopping did not go in order")
        finally:
            self.stop()

    async def _pages_under_way(self, within: float) -> None:
        deadline = twisted_loop.time() + within
        while self._running_applications() and twisted_loop.time() < deadline:
            await asyncio.sleep(0.01)

    def _running_applications(self) -> list["asyncio.Future[None]"]:
        instances = [details.get("application_instance") for details in self.connections.values()]
        return [instance for instance in instances if instance is not None and not instance.done()]

    def kill_all_applications(self) -> "defer.Deferred[Any]":
        """Daphne's own expects each connection to have its application still, and fails where one is gone."""
        running = self._running_applications()
        for instance in running:
            instance.cancel()
        if not running:
            return defer.succeed(None)
        waiting = twisted_loop.create_task(asyncio.wait(running, timeout=2))
        return defer.Deferred.fromFuture(waiting)


class _WebSocket(WebSocketProtocol):
    """Closes with any code the registry has, and says why.

    Daphne hands the code to autobahn's `sendClose`, which raises on all but 1000 and 3000-4999, and drops the reason.
    """

    def handle_reply(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.close" and self.state == self.STATE_OPEN:
            reason = (message.get("reason") or "").encode()[:LONGEST_REASON].decode(errors="ignore")
            self.sendCloseFrame(code=message.get("code") or 1000, reasonUtf8=reason.encode())
            return
        if message["type"] == "websocket.send" and message.get("text") and self.state == self.STATE_OPEN:
            self.transport.write(text_frame(message["text"]))  # a quarter of what autobahn's way there costs
            return
        super().handle_reply(message)


_PROXY_HEADERS = {
    "proxy_forwarded_address_header": "X-Forwarded-For",
    "proxy_forwarded_proto_header": "X-Forwarded-Proto",
}


def _end_anyway_after(seconds: float) -> None:
    def end() -> None:
        log.error("Not stopped after %d seconds: ending anyway", seconds)
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
