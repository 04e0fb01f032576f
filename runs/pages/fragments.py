"""A piece of a page with an id of its own: what a live page is sent, printed by the template part the page includes."""

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


def fragment(id: str, template: str, context: Mapping[str, Any], container: str = "") -> Fragment:
    return Fragment(id, render_to_string(template, dict(context)).strip(), container)
