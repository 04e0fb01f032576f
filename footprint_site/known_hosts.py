"""Browsers that open a websocket under a name that is not ours are turned away, as Django does for pages.

A page of another site can make its own name point to this machine; for the browser it is then the same origin. A sender
that is no browser (it has no Origin) may use any name: its token says enough.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

Message = dict[str, Any]
Application = Callable[[Message, Any, Any], Awaitable[None]]


class KnownHosts:
    """Wraps the websockets' application. Closed before it is accepted: the browser sees HTTP 403."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        if b"origin" in headers and not _is_ours(headers.get(b"host", b"")):
            await receive()
            await send({"type": "websocket.close"})
            return
        await self._application(scope, receive, send)


def _is_ours(host: bytes) -> bool:
    domain, _ = split_domain_port(host.decode("latin-1").lower())
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
