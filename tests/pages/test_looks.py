"""Agreements on the looks, checked: contrast of every token, and nothing inline that the policy would refuse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template.loader import render_to_string
from django.test import Client

from tests.people import People

ROOT = Path(settings.BASE_DIR)
TOKENS = (ROOT / "static/css/tokens.css").read_text()
COLOURS = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", TOKENS)
}
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["ground", "panel"])
@pytest.mark.parametrize("name", ["text", "muted", "accent", "ok", "error", "not-run"])
def test_every_colour_of_text_can_be_read(theme: int, ground: str, name: str) -> None:
    assert contrast(COLOURS[name][theme], COLOURS[ground][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_what_can_be_filled_in_has_an_edge_and_the_main_button_its_words(theme: int) -> None:
    assert contrast(COLOURS["control"][theme], COLOURS["ground"][theme]) >= 3
    assert contrast(COLOURS["on-accent"][theme], COLOURS["accent"][theme]) >= 4.5


def test_the_outcomes_have_the_agreed_colours() -> None:
    agreed = {"ok": "#0061a8 #58a6ff", "error": "#b34700 #ff9b5e", "not-run": "#6b1f5c #f2c4e8"}
    assert {name: " ".join(COLOURS[name]) for name in agreed} == agreed


@pytest.mark.parametrize("path", sorted((ROOT / "static/css").glob("*.css")), ids=lambda path: path.name)
def test_colours_are_said_in_tokens_only(path: Path) -> None:
    if path.name != "tokens.css":
        assert not re.findall(r"#[0-9a-fA-F]{3,8}\b(?![\w-]*\s*\{)", path.read_text())


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_nothing_in_a_template_is_inline(path: Path) -> None:
    text = path.read_text()
    for forbidden in (
        r"\sstyle=",
        r"<style",
        r"\son\w+=",
        r"hx-on",
        r"javascript:",
        r"\|\s*safe\b",
        r"autoescape off",
    ):
        assert not re.search(forbidden, text), (
            f"{forbidden} in {path}: the policy refuses it, or it lets markup through"
        )
    assert all(" src=" in tag for tag in re.findall(r"<script[^>]*>", text))


def test_a_failure_is_said_calmly_and_without_a_database(client: Client) -> None:
    page = render_to_string("500.html")
    assert "This page could not be loaded" in page
    assert "Nothing that was acknowledged to an agent is lost." in page


def test_a_form_that_expired_is_said_so(people: People) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(people.rhea)
    answer = browser.post("/theme/", {"theme": "dark"})
    assert answer.status_code == 403
    assert "had expired or did not come from this site" in answer.content.decode()
