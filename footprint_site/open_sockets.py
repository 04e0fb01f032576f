"""Every open websocket, so that a stopping server can say goodbye to all of them.

This wraps the whole application, so no room has to take part and none can forget to. A room sees what it sees when a
client leaves: `websocket.disconnect`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

REASON = "the server restarts"
RESTARTING = 1012  # RFC 6455's registry: "service restart"; senders resume, pages reconnect


class OpenSockets:
    def __init__(self, application: Application, farewells: Mapping[str, str] | None = None) -> None:
        """`farewells`: path -> the text frame its clients get before the close."""
        self._application = application
        self._farewells = farewells or {}
        self._open: set[_Socket] = set()
        self._closing = False

    def __len__(self) -> int:
        return len(self._open)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self._application(scope, receive, send)
            return
        socket = _Socket(send, self._farewells.get(scope.get("path", "")))
        self._open.add(socket)
        try:
            await self._application(scope, receive, self._watched(socket))
        finally:
            self._open.discard(socket)

    async def close_all(self, within: float) -> bool:
        """Close every socket with 1012 and wait until each room is done with its own, at most `within` seconds.

        Returns whether all were. Who arrives from now on is closed as soon as it is accepted.
        """
        self._closing = True
        for socket in list(self._open):
            await socket.say_goodbye()
        deadline = asyncio.get_running_loop().time() + within
        while self._open:
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(0.01)
        return True

    def _watched(self, socket: "_Socket") -> Send:
        async def send(message: Message) -> None:
            await socket.send(message)
            if self._closing:
                await socket.say_goodbye()

        return send


class _Socket:
    """One connection: knows whether it may still be spoken to."""

    def __init__(self, send: Send, farewell: str | None) -> None:
        self._send = send
        self._farewell = farewell
        self._accepted = False
        self._closed = False

    async def send(self, message: Message) -> None:
        if self._closed:
            return  # the room did not know yet
        if message["type"] == "websocket.accept":
            self._accepted = True
        elif message["type"] == "websocket.close":
            self._closed = True
        await self._send(message)

    async def say_goodbye(self) -> None:
        if not self._accepted or self._closed:
            return
        self._closed = True
        if self._farewell is not None:
            await self._send({"type": "websocket.send", "text": self._farewell})
        await self._send({"type": "websocket.close", "code": RESTARTING, "reason": REASON})
