"""The settings of a public site, as the README and docs/limits.md name them, in a process of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server_process import ROOT

PUBLIC = {
    "FOOTPRINT_HTTPS": "1",
    "FOOTPRINT_PROXY": "1",
    "FOOTPRINT_HOSTS": "footprint.example.org",
    "SECRET_KEY": "a-long-and-random-secret-of-our-own-0123456789-abcdefghij",
}


def manage(data: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "FOOTPRINT_DATA": str(data), **PUBLIC, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("more", [{}, {"FOOTPRINT_HSTS_SUBDOMAINS": "1", "FOOTPRINT_HSTS_PRELOAD": "1"}])
def test_django_finds_nothing_to_warn_of(tmp_path: Path, more: dict[str, str]) -> None:
    checked = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", **more)
    assert checked.returncode == 0, checked.stderr
    assert "no issues" in checked.stdout + checked.stderr
    assert ("2 silenced" in checked.stdout + checked.stderr) == (not more)


def test_browsers_are_kept_on_https(tmp_path: Path) -> None:
    script = """
import json
from django.test import Client
host = {"host": "footprint.example.org"}
plain = Client().get("/log-in/", headers=host)
client = Client()
secure = client.get("/log-in/", headers={**host, "x-forwarded-proto": "https"})
print(json.dumps([plain.status_code, plain["Location"], secure.status_code,
                  secure["Strict-Transport-Security"], bool(client.cookies["csrftoken"]["secure"])]))
"""
    ran = manage(tmp_path, "shell", "--verbosity", "0", "-c", script)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1]) == [
        *(301, "https://footprint.example.org/log-in/", 200, "max-age=31536000", True)
    ]
