"""Websockets that do what rooms may do to a server that wants to stop."""

import asyncio
import json

from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.urls import path

from footprint_site.open_sockets import OpenSockets

FAREWELL = json.dumps({"type": "closing", "code": 1012, "reason": "the server restarts"})


class Echo(AsyncWebsocketConsumer):
    async def receive(self, text_data=None, bytes_data=None):
        await self.send(str(len(text_data)))


class Stubborn(AsyncWebsocketConsumer):
    """Does not let go when its client is gone."""

    async def disconnect(self, code):
        await asyncio.sleep(3600)


class Refusing(AsyncWebsocketConsumer):
    async def connect(self):
        await self.accept()
        await self.close(code=1009, reason="a frame above the limit")


application = OpenSockets(
    ProtocolTypeRouter(
        {
            "http": get_asgi_application(),
            "websocket": URLRouter(
                [
                    path("echo/", Echo.as_asgi()),
                    path("refusing/", Refusing.as_asgi()),
                    path("stubborn/", Stubborn.as_asgi()),
                ]
            ),
        }
    ),
    farewells={"/echo/": FAREWELL},
)
