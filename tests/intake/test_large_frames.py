"""Frames far over the limit, on a real server: closed with a reason, memory bounded, others answered meanwhile."""

import asyncio
import json
import threading
import time
from pathlib import Path

from websockets.asyncio.client import connect as async_connect
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.lines import turn
from tests.server_process import ServerProcess, make_token_on, server_process
from tests.wire import HELLO

MEGABYTE = 1024 * 1024


def most_memory(server: ServerProcess) -> int:
    """The most memory the process ever had at once, in bytes."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def open_stream(url: str, token: str, stream: str) -> ClientConnection:
    client = connect(f"{url}/ws/ingest/", additional_headers={"Authorization": f"Bearer {token}"})
    client.send(json.dumps({**HELLO, "stream": stream, "last": 100}))
    assert json.loads(client.recv(timeout=20))["type"] == "welcome"
    return client


def test_fifty_megabytes_at_once_harm_nobody() -> None:
    with server_process() as server:
        token = make_token_on(server)
        with open_stream(server.websocket_url, token, "light") as light:
            before = most_memory(server)
            ended: list[int | None] = []

            async def bring_much(number: int) -> None:
                # asyncio: this client still hears while it speaks, so that it sees why it was closed
                headers = {"Authorization": f"Bearer {token}"}
                url = f"{server.websocket_url}/ws/ingest/"
                async with async_connect(url, additional_headers=headers) as heavy:
                    await heavy.send(json.dumps({**HELLO, "stream": f"heavy-{number}"}))
                    try:
                        await heavy.send('{"type":"events","first":1}\n' + "x" * (50 * MEGABYTE))
                        while True:
                            await heavy.recv()
                    except ConnectionClosed as closed:
                        ended.append(closed.rcvd.code if closed.rcvd else None)

            bringing = [
                threading.Thread(target=asyncio.run, args=(bring_much(number),)) for number in range(3)
            ]
            for one in bringing:
                one.start()
            waits = []
            for seq, event in enumerate(turn(calls=5), 1):
                started = time.monotonic()
                light.send(f'{{"type":"events","first":{seq}}}\n{event}')
                while json.loads(light.recv(timeout=20)) != {"type": "ack", "through": seq}:
                    pass
                waits.append(time.monotonic() - started)
            for one in bringing:
                one.join(40)
            assert ended == [1009] * 3
            assert max(waits) < 5
            assert most_memory(server) - before < 150 * MEGABYTE
        assert server.stop() == 0
        assert "Traceback" not in server.output
