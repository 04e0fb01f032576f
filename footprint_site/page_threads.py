"""A few threads for the pages, kept, and with them their database connections.

Django gives each request of an asynchronous server a thread of its own and ends it afterwards. A connection belongs to
a thread: every page would open one anew, and on PostgreSQL leave it behind until it is collected. Here a page takes a
thread that has worked before; when all are busy it waits for one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import ThreadSensitiveContext


class PageThreads:
    def __init__(self, application: Callable[..., Awaitable[None]], count: int) -> None:
        self._application = application
        self._free: asyncio.LifoQueue[ThreadPoolExecutor] = (
            asyncio.LifoQueue()
        )  # the last used is the warmest
        for number in range(count):
            self._free.put_nowait(ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"page-{number}"))

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        thread = await self._free.get()
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self._application(scope, receive, send)
        finally:
            self._free.put_nowait(thread)
