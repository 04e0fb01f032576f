"""What templates print: times in the project's zone, and closed words with mark and colour.

    {% load footprint %}
    {% time ms %}         14 Mar 2026, 14:02       a moment of a list; the seconds are in its title
    {% clock ms %}        14:02:09                 a moment within a page that says the day
    {% state member %}    mark + word + colour of any word of rules/vocabulary.py
    {{ ms|duration }}     1.2 s                    in words; "not recorded", "unknown"
    {% state member word %}    the same mark and colour with another word ("running" for an open call)
    {% count number "ok" %}    how many calls came to an outcome, with its mark and colour

Rows of which a page has hundreds are printed here too (`options`, `menu_tools`, `ranks`): a template's node costs as
much as ten of their lines.

`ms` are UTC milliseconds or None, which prints "not recorded". The zone is the context's `zone`; a live fragment
brings it as a page does.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

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


@register.simple_tag
def options(listed: Iterable[Any]) -> SafeString:
    """The `<option>`s of a select, from things with `value`, `label` and `chosen`: a tool filter has hundreds."""
    return format_html_join(
        "",
        '<option value="{}"{}>{}</option>',
        ((option.value, _SELECTED if option.chosen else "", option.label) for option in listed),
    )


_SELECTED = mark_safe(" selected")


@register.simple_tag
def menu_tools(menu: Iterable[Any]) -> SafeString:
    """The numbered menu of a model call: `MenuItem`s as list items. Forty tools a call, so no template nodes."""
    return format_html_join(
        "",
        '<li class="menu-tool{}"><span class="call-number muted">{}</span><span>{}<code>{}</code></span>'
        '<span class="small">{}{}</span></li>',
        (
            (
                " left-out" if item.state == "left out" else "",
                item.place,
                f"{item.words} " if item.words else "",
                item.tool,
                item.state,
                _AND_CALLED if item.called else "",
            )
            for item in menu
        ),
    )


@register.simple_tag
def ranks(ranked: Iterable[Any]) -> SafeString:
    """A classifier's ranking: `RankBar`s as list items with a bar each."""
    return format_html_join(
        "",
        '<li class="rank"><span class="rank-name">{}<code>{}</code></span><svg class="bar" viewBox="0 0 100 8" '
        'preserveAspectRatio="none" aria-hidden="true"><rect class="bar-ground" width="100" height="8"/>'
        '<rect class="{}" width="{}" height="8"/></svg><span class="number">{}</span>'
        '<span class="small rank-notes">{}</span></li>',
        (
            (
                f"{bar.words} " if bar.words else "",
                bar.tool,
                "bar-value-chosen" if bar.chosen else "bar-value",
                bar.width,
                bar.score,
                _RANK_NOTES[bar.chosen, bar.called],
            )
            for bar in ranked
        ),
    )


_AND_CALLED = mark_safe(" · <strong>called</strong>")
_RANK_NOTES = {
    (False, False): "",
    (True, False): "chosen",
    (False, True): mark_safe("<strong>called</strong>"),
    (True, True): mark_safe("chosen, <strong>called</strong>"),
}
