"""Origins are read as browsers write them, and nothing else is one."""

import pytest

from runs.rules.origin import origins_problem, read_origin, read_origins


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://app.example", "https://app.example"),
        ("https://app.example/", "https://app.example"),
        ("HTTPS://App.Example:443", "https://app.example"),
        ("http://localhost:5173", "http://localhost:5173"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_an_origin(text, origin):
    assert read_origin(text) == origin


@pytest.mark.parametrize(
    "text",
    ["", "null", "*", "app.example", "https://", "https://*.example", "https://a.example/path", "https://a.example?x",
     "https://user@a.example", "ftp://a.example", "https://a.example:port", "https://a.example:99999", "https://a b",
     "https://[::1", "https://a\u202eb.example", "javascript:alert(1)"],
)  # fmt: skip
def test_no_origin(text):
    assert read_origin(text) is None


def test_a_list_has_one_a_line():
    text = "https://a.example\n\nhttp://b.example:8000\n"
    assert read_origins(text) == {"https://a.example", "http://b.example:8000"}
    assert origins_problem(text) is None
    assert "Line 2" in origins_problem("https://a.example\nsecret words")
    assert "secret" not in origins_problem("https://a.example\nsecret words")
