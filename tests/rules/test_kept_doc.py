"""docs/wire.md tells the list as it is, and every close code of the door."""

from pathlib import Path

from runs.intake import frames
from runs.rules.kept_doc import page

WIRE = Path(__file__).parents[2] / "docs" / "wire.md"


def test_the_table_is_the_one_in_use() -> None:
    text = WIRE.read_text("utf-8")
    assert page(text) == text, "the allow-list has changed: make kept-doc"


def test_every_close_code_is_told() -> None:
    numbers = [value for name, value in vars(frames).items() if name.isupper() and isinstance(value, int)]
    codes = {number for number in numbers if 1000 <= number < 5000}
    text = WIRE.read_text("utf-8")
    for code in codes:
        assert f"| {code} |" in text, f"docs/wire.md does not tell what to do on {code}"
