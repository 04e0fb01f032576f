"""What the documents promise is what runs."""

import re
import tomllib

from tests.server_process import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def commands() -> list[str]:
    return re.findall(r"```sh\n(python3 -m venv [^\n]+)\n```", (ROOT / "README.md").read_text())


def test_the_readme_has_the_two_commands():
    look, test = commands()
    assert look.endswith("manage.py demo")
    assert test.endswith("-m pytest -n auto")


def test_the_ci_runs_the_second_command():
    assert commands()[1] in (ROOT / ".ci" / "run").read_text()


def test_every_dependency_is_explained():
    lists = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    named = {re.match(r"[A-Za-z0-9_-]+", line).group() for lines in lists for line in lines} - {"footprint"}
    explained = (ROOT / "docs" / "decisions" / "002-dependencies.md").read_text()
    missing = sorted(
        name for name in named if not re.search(rf"^\|.*\b{re.escape(name)}\b.*\|", explained, re.M)
    )
    assert not missing, f"say why in docs/decisions/002-dependencies.md: {missing}"


def test_the_sender_needs_no_django():
    names = {re.match(r"[A-Za-z0-9_-]+", line).group() for line in PROJECT["dependencies"]}
    assert names == {"msgspec", "websockets"}
