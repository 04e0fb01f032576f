"""What is depended on: bounded above, told why, and audited."""

import importlib.machinery
import importlib.util
import re
import tomllib
from types import ModuleType

import pytest

from tests.server_process import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
REQUIRED = [
    *PROJECT["project"]["dependencies"],
    *(one for extra in PROJECT["project"]["optional-dependencies"].values() for one in extra),
]
OTHERS = [one for one in REQUIRED if not one.startswith("footprint[")]


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("audit", str(ROOT / ".ci" / "audit"))
    spec = importlib.util.spec_from_loader("audit", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("requirement", OTHERS)
def test_every_dependency_has_a_range_and_a_reason(requirement: str) -> None:
    found = re.fullmatch(r"([\w.-]+)(\[\w+\])?>=[\d.]+,<[\d.]+", requirement)
    assert found is not None, f"{requirement}: expected name>=from,<below"
    reasons = (ROOT / "docs" / "decisions" / "002-dependencies.md").read_text()
    named = [name.strip() for row in re.findall(r"^\| ([^|]+) \|", reasons, re.M) for name in row.split(",")]
    assert found[1] in named, f"say in docs/decisions/002-dependencies.md why {found[1]} is needed"


def test_a_known_vulnerability_fails_and_is_named(audit: ModuleType) -> None:
    report = """{"dependencies": [
        {"name": "good", "version": "1", "vulns": []},
        {"name": "bad", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1", "3"]}, {"id": "GHSA-2"}]}
    ]}"""
    assert audit.read(report, "") == (
        1,
        ["bad 2: PYSEC-1, fixed in 2.1, 3", "bad 2: GHSA-2, not fixed yet"],
    )


def test_nothing_known_is_said_with_how_many_were_asked_about(audit: ModuleType) -> None:
    packages = [{"name": "a", "version": "1", "vulns": []}, {"name": "b", "skip_reason": "not found"}]
    assert audit.verdict({"dependencies": packages}) == (
        0,
        ["No vulnerability is known of 1 installed packages (1 are not known to the service)."],
    )


def test_without_a_service_one_line_says_so_and_nothing_fails(audit: ModuleType) -> None:
    said = (0, ["Not audited: no service that knows vulnerabilities answers here."])
    assert audit.verdict({"dependencies": [{"name": "a", "skip_reason": "not found"}]}) == said
    assert audit.read("", "ERROR:pip_audit._cli:Could not connect to PyPI's vulnerability feed") == said


def test_an_audit_that_does_not_work_is_no_audit(audit: ModuleType) -> None:
    code, lines = audit.read("", "Traceback\nNo module named pip_audit")
    assert (code, lines) == (1, ["pip-audit did not work: No module named pip_audit"])
