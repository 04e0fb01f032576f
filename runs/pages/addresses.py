"""Where the pages of one run and one answer are, for the pages that link to them."""

from __future__ import annotations

from django.urls import reverse


def answer_href(key: str, slug: str) -> str:
    return f"{reverse('project', args=[key])}answers/{slug}/"


def run_href(key: str, slug: str) -> str:
    return f"{reverse('project', args=[key])}runs/{slug}/"
