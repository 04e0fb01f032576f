"""A browser that follows a running answer: rows appear without a reload, nothing below them moves, a restart heals."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server_process import ROOT, server_process

pytestmark = pytest.mark.browser

# Runs in a process of its own on the server's database: the sample, and on request a further call with its ring.
WRITER = """
import os, sys
import django
django.setup()
from django.db import transaction
from tests.people import gather
from tests.sample import make, Pen, LOOK_UP
from runs import models
with transaction.atomic():  # the server's sweeper would call the old sample silent, and take positions of its own
    people = gather(); drawn = make(people.northwind)
    models.Project.objects.update(silent_after_s=2_000_000_000)
answer = drawn["running"].answer
stream = models.Stream.objects.create(project=people.northwind, name="live-zz", instance="l")
pen = Pen(people.northwind, stream)
pen.position, pen.number = people.northwind.position, people.northwind.row_number
models.Answer.objects.update(version=pen.position)
browser = people.browser("rhea")
print(people.northwind.key, answer.slug, browser.cookies["sessionid"].value, flush=True)
for line in sys.stdin:
    with transaction.atomic():
        answer.refresh_from_db(); pen.counts[answer.id] = answer.calls
        call = pen.call(answer, LOOK_UP, line.strip())
        models.Answer.objects.filter(pk=answer.pk).update(version=call.version)
        pen.done()
    print(call.number, flush=True)
"""

SHIFT = """
window.__shift = 0;
new PerformanceObserver(function (list) {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.__shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


class Writer:
    def __init__(self, data: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER],
            cwd=ROOT,
            env={
                "FOOTPRINT_DATA": str(data),
                "DJANGO_SETTINGS_MODULE": "footprint_site.settings",
                "PATH": "/usr/bin",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.key, self.slug, self.session = self._line().split()

    def call(self, outcome: str = "ok") -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(outcome + "\n")
        self._process.stdin.flush()
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the writer ended"
        return line

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def writing(data: Path) -> Iterator[list[Writer]]:
    writers: list[Writer] = []
    yield writers
    for writer in writers:
        writer.close()


def rows(page: Any) -> list[int]:
    return [int(row.get_attribute("data-number")) for row in page.locator("#call-rows > li").all()]


def test_a_followed_answer_in_a_browser(page: Any, data: Path, writing: list[Writer]) -> None:
    port = 0
    with server_process("serve", data=data) as server:
        url = server.url  # the database is there as soon as this is
        writing.append(writer := Writer(data))
        port = int(url.rsplit(":", 1)[1])
        page.context.add_cookies([{"name": "sessionid", "value": writer.session, "url": url}])
        page.add_init_script(SHIFT)
        page.goto(f"{url}/p/{writer.key}/answers/{writer.slug}/")
        page.wait_for_selector("#live-state[data-state=live]")
        # Another process writes and cannot ring here (no Redis): the slow tick finds it.
        number = writer.call("error")
        page.wait_for_selector(f"#call-{number}[data-outcome=error]", timeout=9_000)
        for _ in range(12):
            number = writer.call()
        page.wait_for_selector(f"#call-{number}", timeout=9_000)
        assert rows(page) == list(range(1, number + 1))
        assert page.evaluate("window.__shift") < 0.05
    page.wait_for_selector("#live-state[data-state=reconnecting]", timeout=9_000)
    page.console_errors.clear()
    number = writer.call("not-run")
    with server_process("serve", "--port", str(port), data=data):
        page.wait_for_selector(f"#call-{number}[data-outcome=not-run]", timeout=25_000)
        assert rows(page) == list(range(1, number + 1))
        assert page.evaluate("window.__shift") < 0.05
        page.goto("about:blank")
    page.console_errors.clear()  # while the server was away, Chromium reported each refused connection
