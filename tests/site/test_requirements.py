"""A test that needs a browser says how to get one, and fails where it must not be skipped."""

import os
import subprocess
import sys

import pytest

from tests.server_process import ROOT


@pytest.mark.parametrize(("required", "code", "outcome"), [("", 0, "SKIPPED"), ("1", 1, "ERROR")])
def test_without_chromium(tmp_path, required, code, outcome):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/site/test_log_in.py", "-p", "no:cacheprovider"],
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path), "FOOTPRINT_REQUIRE_BROWSER": required},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, done.stdout
    assert outcome in done.stdout
    assert "needs chromium on the PATH; this brings it: sudo apt-get install -y chromium" in done.stdout
