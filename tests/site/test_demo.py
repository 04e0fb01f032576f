"""`manage.py demo`: one command to a dashboard with people, a project and a running agent."""

import http.cookiejar
import re
import signal
import sys
import time
import urllib.parse
import urllib.request

import pytest
from django.contrib.auth import get_user_model

from footprint_site.agent_process import AgentProcess
from runs.store import demo
from tests.server_process import server_process


def log_in(url: str, name: str, password: str) -> str:
    """The address a browser ends at."""
    jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    browser = urllib.request.build_opener(jar)
    form = browser.open(url + "/log-in/").read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form).group(1)
    fields = {"username": name, "password": password, "csrfmiddlewaretoken": token, "next": "/log-in/"}
    return browser.open(url + "/log-in/", urllib.parse.urlencode(fields).encode()).geturl()


def test_it_prints_an_address_and_log_ins_that_work_and_starts_again_on_the_same_data(tmp_path):
    passwords = []
    for number in (signal.SIGINT, signal.SIGTERM):
        with server_process("demo", "--port", "0", data=tmp_path) as server:
            assert server.url
            while "Stop both with Ctrl-C" not in server.output:
                time.sleep(0.01)
            logins = re.findall(r"(ada|omar|rhea) +(admin|operator|reader) +password (\S+)", server.output)
            assert [login[:2] for login in logins] == [
                ("ada", "admin"),
                ("omar", "operator"),
                ("rhea", "reader"),
            ]
            for name, _, password in logins:
                with_next = log_in(server.url, name, password)
                assert with_next.endswith("/log-in/")
            passwords.append(logins[0][2])
            assert server.stop(number) == 0
    assert passwords[0] == passwords[1]


@pytest.mark.django_db
def test_real_people_of_the_same_name_are_left_alone():
    get_user_model().objects.create_user("ada", "ada@example.org", "a password of her own")
    with pytest.raises(demo.NotADemo, match="already has a user named 'ada'"):
        demo.prepare("demo password")
    assert get_user_model().objects.get(username="ada").check_password("a password of her own")


async def test_the_agent_is_started_again_when_it_dies_and_stopped_at_the_end(monkeypatch, tmp_path):
    import asyncio

    from footprint_site import agent_process

    monkeypatch.setattr(agent_process, "LOOKED_AFTER_EVERY", 0.01)
    monkeypatch.setattr(agent_process, "LONGEST_PAUSE", 0.01)
    starts = tmp_path / "starts"
    code = (
        f"import os, time; file = open({str(starts)!r}, 'a'); file.write(os.environ['FOOTPRINT_TOKEN'] + '\\n'); "
        "file.close(); time.sleep(3600)"
    )
    agent = AgentProcess([sys.executable, "-c", code], token="fp_demo")
    agent.start()

    async def started(times: int) -> int:
        for _ in range(2000):
            if starts.exists() and starts.read_text().splitlines() == ["fp_demo"] * times:
                return agent.pid
            await asyncio.sleep(0.01)
        raise AssertionError(f"not started {times} times")

    first = await started(1)
    agent._process.kill()
    second = await started(2)
    assert second != first

    await agent.stop()
    assert agent._process.poll() is not None
