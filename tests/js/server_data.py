"""Looks into the data of a server process from outside: `python -m tests.js.server_data begin` or `... record`.

`begin` makes a project and prints a token of it; `record` prints the answers of every stream as JSON, by the name that
the stream's sender chose.
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
    streams = Stream.objects.filter(project=project).values_list("name", flat=True)
    return json.dumps({name.rpartition("-")[0]: answers_of(project, stream=name) for name in streams})


if __name__ == "__main__":
    print(_answer(sys.argv[1]))
