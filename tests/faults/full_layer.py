"""A channel layer whose every queue is full."""

import asyncio
from typing import Any

from channels.exceptions import ChannelFull
from channels.layers import BaseChannelLayer


class FullLayer(BaseChannelLayer):
    async def new_channel(self, prefix: str = "specific") -> str:
        return f"{prefix}.1"

    async def group_add(self, group: str, channel: str) -> None:
        """Whoever wants to hear is let in, and never hears a word."""

    async def receive(self, channel: str) -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        raise ChannelFull

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        raise ChannelFull

    async def flush(self) -> None:
        """It stays full."""
