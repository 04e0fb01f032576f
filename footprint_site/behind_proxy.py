"""What a proxy of ours says about the visitor: the address it came from, and whether it came by https.

Only with FOOTPRINT_PROXY=1: anybody can send these headers, so they count only where a proxy of ours writes them. Of
several addresses the last is the one our proxy saw itself; those before it are what the visitor claims.
"""

from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]
Application = Callable[[Message, Any, Any], Awaitable[None]]

SECURE = {"http": "https", "websocket": "wss"}


class BehindProxy:
    """Wraps an ASGI application; `trusted` False leaves everything as the connection itself has it."""

    def __init__(self, application: Application, *, trusted: bool) -> None:
        self._application = application
        self._trusted = trusted

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if self._trusted and scope["type"] in SECURE:
            address = _last(scope, b"x-forwarded-for")
            if address:
                scope = {**scope, "client": [address, 0]}
            if _last(scope, b"x-forwarded-proto").lower() in ("https", "wss"):
                scope = {**scope, "scheme": SECURE[scope["type"]]}
        await self._application(scope, receive, send)


def _last(scope: Message, name: bytes) -> str:
    """The last of a header's values, the one the nearest proxy wrote; "" without any."""
    values = [value for header, value in scope["headers"] if header.lower() == name]
    return values[-1].decode("latin-1").rpartition(",")[2].strip() if values else ""
