"""Looks into the data of a server process from outside: `python -m tests.js.server_data begin` or another verb.

`begin` makes a project and prints a token of it; `record` prints the answers of every stream as JSON, by the name that
the stream's sender chose; `pages` prints each answer's page as JSON, as a reader and as an operator see it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.server_process import ROOT


def begin(data: Path) -> str:
    return _ask(data, "begin").strip()


def record(data: Path) -> dict[str, list[dict[str, Any]]]:
    told: dict[str, list[dict[str, Any]]] = json.loads(_ask(data, "record"))
    return told


def pages(data: Path) -> list[dict[str, str]]:
    told: list[dict[str, str]] = json.loads(_ask(data, "pages"))
    return told


def _ask(data: Path, verb: str) -> str:
    environment = {
        key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "REDIS_URL")
    }
    return subprocess.run(
        [sys.executable, "-m", "tests.js.server_data", verb],
        cwd=ROOT,
        env={
            **environment,
            "FOOTPRINT_DATA": str(data),
            "DJANGO_SETTINGS_MODULE": "footprint_site.settings",
        },
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=60,
    ).stdout


def _answer(verb: str) -> str:
    import django

    django.setup()
    from runs.models import Project, Stream
    from tests.record.story import answers_of
    from tests.wire import make_project, make_token

    if verb == "begin":
        return make_token(make_project())
    project = Project.objects.get()
    if verb == "pages":
        return json.dumps(_pages(project))
    streams = Stream.objects.filter(project=project).values_list("name", flat=True)
    return json.dumps({name.rpartition("-")[0]: answers_of(project, stream=name) for name in streams})


def _pages(project: Any) -> list[dict[str, str]]:
    from django.contrib.auth import get_user_model
    from django.test import Client

    from runs.models import Answer, Membership

    browsers = {}
    for role in ("reader", "operator"):
        user = get_user_model().objects.create_user(role)
        Membership.objects.create(project=project, user=user, role=role)
        browsers[role] = Client(HTTP_HOST="127.0.0.1")
        browsers[role].force_login(user)
    return [
        {
            role: browser.get(f"/p/{project.key}/answers/{slug}/").content.decode()
            for role, browser in browsers.items()
        }
        for slug in Answer.objects.order_by("id").values_list("slug", flat=True)
    ]


if __name__ == "__main__":
    print(_answer(sys.argv[1]))
