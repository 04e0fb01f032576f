"""Pages share a few threads, and so a few database connections."""

import asyncio
import threading

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async

from footprint_site.page_threads import PageThreads


def counting(threads: list[str]):
    async def page(scope, receive, send):
        async with ThreadSensitiveContext():  # as Django does
            for _ in range(2):
                await asyncio.sleep(0)
                threads.append(await sync_to_async(lambda: threading.current_thread().name)())
        if scope["path"] == "/broken/":
            raise RuntimeError

    return page


async def test_one_after_another_they_use_the_same_thread():
    threads = []
    pages = PageThreads(counting(threads), count=3)
    for _ in range(10):
        await pages({"path": "/"}, None, None)
    assert len(set(threads)) == 1


async def test_many_at_once_never_use_more_than_there_are():
    threads = []
    pages = PageThreads(counting(threads), count=3)
    await asyncio.gather(*(pages({"path": "/"}, None, None) for _ in range(30)))
    assert len(threads) == 60
    assert len(set(threads)) == 3


async def test_a_page_that_fails_gives_its_thread_back():
    pages = PageThreads(counting([]), count=1)
    for _ in range(3):
        with pytest.raises(RuntimeError):
            await pages({"path": "/broken/"}, None, None)
    await pages({"path": "/"}, None, None)
