"""Rows of which a page has hundreds, printed without template nodes, each of which costs as much as a row here.

    {% load rows %}
    {% options listed %}                 the <option>s of a select
    {% call_row call more %}             one call of an answer; `more` for operators
    {% menu_tools menu %} {% ranks ranked %}    a model call's menu, and its ranking
    {% timeline_bars bars %} {% timeline_rows bars %}    the plot's bars, and the same as rows of its table

Everything is escaped by `_line`, but what is marked as safe. The template parts that hold these tags are what pages
and live fragments include, as with any other part.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe

from runs.templatetags.footprint import clock, state

register = template.Library()


def _line(pattern: str, *values: Any) -> SafeString:
    """`django.utils.html.format_html`, which for its lazy translations takes three times as long."""
    return mark_safe(
        pattern.format(
            *(value.__html__() if hasattr(value, "__html__") else escape(str(value)) for value in values)
        )
    )


def _lines(pattern: str, rows: Iterable[Iterable[Any]]) -> SafeString:
    return mark_safe("".join(_line(pattern, *row) for row in rows))


@register.simple_tag
def options(listed: Iterable[Any]) -> SafeString:
    """The `<option>`s of a select, from things with `value`, `label` and `chosen`: a tool filter has hundreds."""
    return _lines(
        '<option value="{}"{}>{}</option>',
        ((option.value, _SELECTED if option.chosen else "", option.label) for option in listed),
    )


_SELECTED = mark_safe(" selected")


@register.simple_tag
def menu_tools(menu: Iterable[Any]) -> SafeString:
    """The numbered menu of a model call: `MenuItem`s as list items. Forty tools a call."""
    return _lines(
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
    return _lines(
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


@register.simple_tag(takes_context=True)
def call_row(context: template.Context, call: Any, more: Any = None) -> SafeString:
    """A `SeenCall`, and for operators the `OperatorCall` around it."""
    return _line(
        '<li class="call" id="call-{}" data-number="{}" data-outcome="{}"><span class="call-number muted">{}</span>'
        '<span class="call-words"><span{}>{}</span>{}{}</span><span class="call-state">{}</span>'
        '<span class="call-time muted">{}</span><span class="call-took muted">{}</span></li>',
        *(call.number, call.number, call.outcome, call.number),
        *(
            "" if call.named else _MUTED,
            call.words,
            _LATE if call.late else "",
            _behind(more) if more else "",
        ),
        *(state(call.outcome, call.word), clock(context, call.opened_ms), call.took),
    )


def _behind(more: Any) -> SafeString:
    return _line(
        '<span class="sub"><code>{}</code> <code class="muted">{}</code>{}{}{}{}</span>',
        more.tool or "an end without a start",
        more.call_id,
        _line(" <span>model call {}</span>", more.iteration) if more.iteration else "",
        _line(" <span>{}</span>", more.status.word) if more.status else "",
        _line(" <span>leg {}</span>", more.leg) if more.leg > 1 else "",
        _line(' <code class="muted">{}</code>', more.path) if more.path else "",
    )


_MUTED = mark_safe(' class="muted"')
_LATE = mark_safe(' <span class="sub">came after the run had ended</span>')


@register.simple_tag
def timeline_bars(bars: Iterable[Any]) -> SafeString:
    return _lines(
        '<g transform="translate(0 {})"><title>{}{}{}</title><text class="timeline-label" x="0" y="15">{}</text>'
        '<rect class="shape-{}" x="{}" y="5" width="{}" height="12" rx="2"/><text x="{}" y="15">{} {}</text></g>',
        (
            (
                *(bar.y, bar.label, f": {bar.word}" if bar.word else "", f", {bar.took}" if bar.took else ""),
                *(bar.short, bar.colour, bar.x, bar.width, bar.words_x, bar.mark, bar.took),
            )
            for bar in bars
        ),
    )


@register.simple_tag
def timeline_rows(bars: Iterable[Any]) -> SafeString:
    return _lines(
        '<tr><th scope="row">{}</th><td data-label="Outcome">{} {}</td>'
        '<td data-label="Began after" class="number">{}</td><td data-label="Took" class="number">{}</td></tr>',
        (
            (
                _line('<a href="#{}">{}</a>', bar.anchor, bar.label) if bar.anchor else bar.label,
                *(bar.mark, bar.word, bar.starts, bar.took or "not ended"),
            )
            for bar in bars
        ),
    )
