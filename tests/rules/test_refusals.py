"""Every code that a door gives has its words, and no other has."""

import re
from pathlib import Path

from runs.rules.refusals import CODES

RUNS = Path(__file__).resolve().parents[2] / "runs"


def test_every_code_that_is_given_has_its_words():
    given = {
        code
        for path in RUNS.rglob("*.py")
        for code in re.findall(r'\bRefused\(\s*"([a-z-]+)"', path.read_text())
    }
    assert given == set(CODES)
