"""What a live page is made of: pieces with an id of their own, printed by the template parts the page includes, and the
tag that says what the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string


@dataclass(frozen=True, slots=True)
class Fragment:
    """`html` is one element whose id is `id`. `container`: the id of the list a new one is added to at its end."""

    id: str
    html: str
    container: str = ""


@dataclass(frozen=True, slots=True)
class LiveTag:
    """What an open page says it shows, so that the live socket knows what it lacks."""

    page: str
    project: str
    slug: str
    epoch: int
    version: int
    words: int
    following: bool


def fragment(id: str, template: str, context: Mapping[str, Any], container: str = "") -> Fragment:
    return Fragment(id, render_to_string(template, dict(context)).strip(), container)
