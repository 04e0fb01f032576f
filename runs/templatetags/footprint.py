"""What templates print: times in the project's zone, and closed words with mark and colour.

    {% load footprint %}
    {% time ms %}         14 Mar 2026, 14:02       a moment of a list; the seconds are in its title
    {% clock ms %}        14:02:09                 a moment within a page that says the day
    {% state member %}    mark + word + colour of any word of rules/vocabulary.py
    {{ ms|duration }}     1.2 s                    in words; "not recorded", "unknown"
    {{ share|percent }}   81 %                     of a share from 0 to 1; "not recorded"
    {% state member word %}    the same mark and colour with another word ("running" for an open call)
    {% count number "ok" %}    how many calls came to an outcome, with its mark and colour

Rows of which a page has hundreds are printed by `rows.py`.

`ms` are UTC milliseconds or None, which prints "not recorded". The zone is the context's `zone`; a live fragment
brings it as a page does.
"""

from __future__ import annotations

from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from runs.rules import words, zones
from runs.rules.vocabulary import Outcome, Told

register = template.Library()


@register.simple_tag(takes_context=True)
def time(context: template.Context, ms: int | None) -> SafeString | str:
    return _moment(context, ms, "%d %b %Y, %H:%M")


@register.simple_tag(takes_context=True)
def clock(context: template.Context, ms: int | None) -> SafeString | str:
    return _moment(context, ms, "%H:%M:%S")


def _moment(context: template.Context, ms: int | None, looks: str) -> SafeString | str:
    moment = None if ms is None else zones.moment(ms, str(context.get("zone", "UTC")))
    if moment is None:
        return words.NOT_RECORDED
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(timespec="milliseconds"),
        f"{moment:%d %b %Y, %H:%M:%S} {moment.tzname()}",
        f"{moment:{looks}}",
    )


@register.filter
def duration(ms: object) -> str:
    return words.duration_words(ms)


@register.filter
def percent(share: float | None) -> str:
    return words.NOT_RECORDED if share is None else f"{share:.0%}".replace("%", " %")


@register.simple_tag
def state(member: Told, word: str = "") -> str:
    return _state(member.mark, member.colour, word or member.word)


@register.simple_tag
def count(number: int, outcome: str) -> str:
    """How many calls came to an outcome (its wire word), with mark and colour where there are some."""
    member = Outcome(outcome)
    return _count(number, member.mark, member.colour)


# Closed words and small numbers: the same few pieces stand in every row of every page, so they are printed once.


@lru_cache(maxsize=512)
def _state(mark: str, colour: str, word: str) -> str:
    return render_to_string("parts/state.html", {"mark": mark, "colour": colour, "word": word})


@lru_cache(maxsize=512)
def _count(number: int, mark: str, colour: str) -> str:
    return render_to_string("parts/count.html", {"count": number, "mark": mark, "colour": colour})
