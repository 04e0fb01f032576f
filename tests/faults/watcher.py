"""Somebody who keeps an answer's page open: what live.js does, without the browser. `python -m tests.faults.watcher`
does it in a process of its own, which can be stopped and goes on."""

import contextlib
import json
import sys
import threading
import time
from typing import Any

from bs4 import BeautifulSoup
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

ALL = 1_000  # rows that a page is sent at once; no answer here has more


class Watcher:
    """Keeps its rows up to date, connects again a moment after every close, until `leave()`."""

    def __init__(self, url: str, session: str, project: str, slug: str) -> None:
        self.url, self._session = url, session
        self._about: dict[str, Any] = {"page": "answer", "project": project, "slug": slug}
        self._stands: dict[str, int] = {"epoch": 0, "version": 0, "words": 0}
        self.rows: dict[int, str] = {}  # the calls by their number, as a person reads them
        self.closed_with: list[int] = []
        self.shown = threading.Event()
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def leave(self) -> None:
        self._leaving.set()
        self._thread.join(10)

    def _work(self) -> None:
        while not self._leaving.is_set():
            with contextlib.suppress(WebSocketException, OSError):
                self._follow()
            self._leaving.wait(0.2)

    def _follow(self) -> None:
        cookie = {"Cookie": f"sessionid={self._session}"}
        with connect(
            self.url.replace("http", "ws", 1) + "/ws/live/",
            additional_headers=cookie,
            origin=self.url,  # type: ignore[arg-type]
            max_size=None,
        ) as socket:
            self._watch(socket)
            while not self._leaving.is_set():
                try:
                    text = socket.recv(timeout=0.2)
                except TimeoutError:
                    continue
                except WebSocketException:
                    self.closed_with.append(socket.close_code or 1006)
                    raise
                self._hear(json.loads(text), socket)

    def _watch(self, socket: Any) -> None:
        through = max(self.rows, default=ALL)
        socket.send(json.dumps({"type": "watch", "through": through, **self._about, **self._stands}))

    def _hear(self, frame: dict[str, Any], socket: Any) -> None:
        assert frame["type"] != "gone", "the answer cannot be seen"
        if frame["type"] == "again":
            self._stands["version"] = 0
            self._watch(socket)
        if frame["type"] != "show":
            return
        self._stands = {name: frame[name] for name in ("epoch", "version", "words")}
        for part in frame["parts"]:
            if part["id"] == "call-rows":
                self.rows.clear()
            if part["id"] == "call-rows" or part.get("in") == "call-rows":
                rows = BeautifulSoup(part["html"], "html.parser").select("[data-number]")
                self.rows.update(
                    {int(str(row["data-number"])): row.get_text(" ", strip=True) for row in rows}
                )
        self.shown.set()


def main() -> None:
    watcher = Watcher(*sys.argv[1:5])
    assert watcher.shown.wait(30)
    print("watching", flush=True)
    rows = int(sys.stdin.readline())
    end = time.monotonic() + 60
    while len(watcher.rows) < rows and time.monotonic() < end:
        time.sleep(0.05)
    print(json.dumps(watcher.rows), flush=True)


if __name__ == "__main__":
    main()
