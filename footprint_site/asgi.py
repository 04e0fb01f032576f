"""One application for pages and websockets.

To add a websocket: one line in `sockets`, its rows in tests/pages/test_roles_of_sockets.py, and a line in `farewells`
when its clients should be told in a frame that the server restarts (all are closed with 1012).
"""

import os
from typing import Any

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import SessionMiddlewareStack
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import URLPattern, path, re_path

from footprint_site.behind_proxy import BehindProxy
from footprint_site.known_hosts import KnownHosts
from footprint_site.open_sockets import OpenSockets
from footprint_site.page_threads import PageThreads

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "footprint_site.settings")
django = get_asgi_application()  # sets Django up: the rooms' modules are imported below this line
pages = PageThreads(django, settings.FOOTPRINT["page_threads"])

from footprint_site.health import Health  # noqa: E402
from runs.intake import frames  # noqa: E402
from runs.intake.socket import IngestSocket  # noqa: E402
from runs.live.socket import LiveSocket  # noqa: E402


async def _nothing_here(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """An address that has no websocket. Closed before it is accepted: the client sees HTTP 403."""
    await receive()
    await send({"type": "websocket.close"})


nothing_here: Any = _nothing_here  # Django's types know views only
ingest: Any = IngestSocket.as_asgi()
live: Any = SessionMiddlewareStack(
    LiveSocket.as_asgi()
)  # whose session it is, it asks itself, before every send
sockets: list[URLPattern] = [
    path("ws/ingest/", ingest),
    path("ws/live/", live),
    re_path("", nothing_here),
]
farewells: dict[str, str] = {
    "/ws/ingest/": frames.closing(frames.RESTARTING, "the server restarts; connect again and resume"),
}

application = OpenSockets(
    BehindProxy(
        ProtocolTypeRouter({"http": Health(pages), "websocket": KnownHosts(URLRouter(sockets))}),
        trusted=settings.BEHIND_PROXY,
    ),
    farewells=farewells,
)
