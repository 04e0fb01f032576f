"""The sender in a real browser page, on the dashboard's own origin, with the page loaded anew in the middle."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests import recordings
from tests.js import server_data
from tests.js.test_against_server import expected_answers
from tests.server_process import server_process

pytestmark = pytest.mark.browser

NAME = "sequential_tools.jsonl"
SEND = """
async ({url, token, events, ends, shared, name}) => {
  const {attach} = await import("/static/js/footprint-sender.js");
  const listeners = new Set();
  const agent = {on: (_, listener) => (listeners.add(listener), () => listeners.delete(listener))};
  const sending = attach(agent, {url, token, name: name ?? "page", storage: shared ? localStorage : sessionStorage});
  for (const event of events) for (const listener of listeners) listener(event);
  return ends ? await sending.close() : sending.status;
}
"""


def test_a_page_that_is_loaded_anew_goes_on_with_its_run(page: Any, tmp_path: Path):
    events = [json.loads(line) for line in recordings.lines(NAME)]
    middle = len(events) // 2
    with server_process(data=tmp_path) as server:
        url, token = server.url, server_data.begin(tmp_path)
        page.goto(url + "/log-in/")
        first = page.evaluate(SEND, {"url": url, "token": token, "events": events[:middle], "ends": False})
        page.goto(url + "/log-in/")  # at once: nothing was acknowledged yet
        second = page.evaluate(SEND, {"url": url, "token": token, "events": events[middle:], "ends": True})
        told = server_data.record(tmp_path)
    assert second["stream"] == first["stream"]
    assert second["isSettled"]
    assert told["page"] == expected_answers(NAME)


def test_a_second_tab_on_one_storage_begins_a_stream_of_its_own(page: Any, tmp_path: Path):
    events = [json.loads(line) for line in recordings.lines(NAME)]
    middle = len(events) // 2
    with server_process(data=tmp_path) as server:
        task = {"url": server.url, "token": server_data.begin(tmp_path), "shared": True}
        page.goto(server.url + "/log-in/")
        first = page.evaluate(SEND, {**task, "events": events[:middle], "ends": False})
        other = page.context.new_page()
        other.goto(server.url + "/log-in/")
        second = other.evaluate(SEND, {**task, "events": events, "ends": True, "name": "second"})
        told = server_data.record(tmp_path)
    assert second["stream"] != first["stream"]
    assert second["isSettled"]
    assert told["second"] == expected_answers(NAME)
