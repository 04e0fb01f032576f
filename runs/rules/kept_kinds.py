"""How a listed field is read: its *kind*. The table (kept.py) names one beside every field it keeps.

=============  ==================================================================================
``Name``       a required string; longer than 256 UTF-16 units it is emptied and the event `oversized`
``OptName``    a name or nothing; anything that is not a string is "not recorded"
``Names``      a required list of names, those that are too long left out; ``Aliases`` the same or nothing
``Word``       one of a few words (a closed enum), else ``other``
``Flag``       true or absent
``Presence``   that the field is there, never what is in it
``Length``     how many items the list has, never the items
``Count``      a whole number from 0 to 2**63 - 1, required to be one
``OptCount``   the same or "not recorded"
``Millis``     a duration in milliseconds; negative, absurd or unreadable is "not recorded"
``Clock``      milliseconds since 1970; another unit or a broken clock is "not recorded"
``Label``      a description, cut at 2,000 characters
``Text``       question, answer or classifier message: leaves the event as a `SaidText`
``Declared``   a display name as an app declares it: what the rule refuses keeps its problem only
``RosterValue`` a roster of extra tools, read by the roster rule: a refusal keeps its sentence only
=============  ==================================================================================

A kind that may be unreadable is decoded as msgspec's `Raw`, so that its value is looked at only here and in
kept_values.py, never by a decoder that would put it into an exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin, get_type_hints

from msgspec import Meta, Raw, Struct

from runs.rules import roster

MAX_TEXT_BYTES: Final = 32 * 1024
MAX_LABEL_CHARS: Final = 2_000
MAX_ITEMS: Final = 5_000  # of one list; each may become a row
MAX_STAGE_CHARS: Final = 500  # a PostgreSQL index row must hold a path in UTF-8
MAX_INT: Final = 2**63 - 1
# A clock outside these years (milliseconds since 1970) is in another unit or broken: "not recorded".
CLOCK_FROM_MS: Final = 946_684_800_000  # 2000-01-01
CLOCK_TO_MS: Final = 7_258_118_400_000  # 2200-01-01
LONGEST_MS: Final = 10 * 365 * 24 * 3600 * 1000

if TYPE_CHECKING:
    Name = str
    OptName = str | None
    Word = str | None
    Flag = bool
    Presence = bool
    Count = int
    OptCount = int | None
    Millis = int | None
    Clock = int | None
    Label = str | None
    Text = str | None
    Names = list[str]
    Length = int | None
    Declared = str | None
    RosterValue = list[Any] | None
    Aliases = list[str] | None
else:

    def _raw(kind: str) -> Any:
        return Annotated[Raw, Meta(extra={"kind": kind})]

    Name = Annotated[str, Meta(extra={"kind": "name"})]
    OptName = _raw("opt_name")
    Word = _raw("word")
    Flag = _raw("flag")
    Presence = _raw("presence")
    Count = Annotated[int, Meta(ge=0, le=MAX_INT, extra={"kind": "count"})]
    OptCount = _raw("opt_count")
    Millis = _raw("millis")
    Clock = _raw("clock")
    Label = _raw("label")
    Text = _raw("text")
    Names = Annotated[list[str], Meta(extra={"kind": "names"})]
    Length = _raw("length")
    Declared = _raw("declared")
    RosterValue = _raw("roster")
    Aliases = Annotated[list[str] | None, Meta(extra={"kind": "opt_names"})]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The closed words a `Word` field may be; everything else is read as "other".
WORDS: Final[dict[str, frozenset[str]]] = {
    "status": _words("success failure denied invalid partial pending absent ok err break budget_exhausted"),
    "reason": _words(
        "max-iterations cost-budget max_iterations cost_budget shape undeclared_name undeclared_origin"
    ),
    "action": _words(
        "wrapped-up cut-short grounded flagged revision-asked refused retry retry-other fallback "
        "fail-fast fail_fast continue abort warn degrade"
    ),
    "stop_reason": _words(
        "stop tool_use end_turn max_tokens length stop_sequence tool_calls content_filter refusal error"
    ),
    "result": _words("allow deny halt gate_open"),
    "capability": _words("tool_call skill_read memory_read memory_write external_net user_data"),
    "moment": _words("input window before-tool after-tool output"),
    "outcome": _words("allow deny ask ok error not-run"),
    "kind": _words(
        "Sequence Parallel Conditional Loop pick pick-error outcome schema-fail schema-stuck-loop "
        "check-in ask authorization"
    ),
    "stage": _words("__root__ json-parse schema-validate"),
    "scope": _words("run"),
    "posture": _words("assist guard rails observe"),
    "narrowed_skipped": _words("unavailable too-few after-miss wrap-up"),
    "error_kind": _words("schema-fail rate-limit timeout http-5xx http-4xx network auth unknown"),
    "phase": _words("pre-check post-decide input output window"),
    "content_origin": _words("internal workspace external"),
    "source": _words("classifier"),
    "code": frozenset([roster.EXTRA_TOOL_NAMES_CODE]),
    "roster_reason": _words("shape"),
}


class Fields(Struct, rename="camel", omit_defaults=True):
    """Base of every kept shape: camelCase outside, defaults left out when stored."""


def kind_of(annotation: Any) -> tuple[str, type[Fields] | None]:
    """The kind of one annotated field, and the nested struct where it holds one or a list of them."""
    for option in (annotation, *get_args(annotation)):
        for extra in getattr(option, "__metadata__", ()):
            if isinstance(extra, Meta) and extra.extra:
                return extra.extra["kind"], None
        if get_origin(option) is list:
            return "structs", get_args(option)[0]
        if isinstance(option, type) and issubclass(option, Fields):
            return "struct", option
    if float in (annotation, *get_args(annotation)):
        return "number", None
    return "plain", None


def kinds_in(struct: type[Fields]) -> dict[str, tuple[str, type[Fields] | None]]:
    """Every field of the shape with its kind, in the order they stand."""
    return {field: kind_of(hint) for field, hint in get_type_hints(struct, include_extras=True).items()}


def camel(field: str) -> str:
    """The field's name outside: `tool_call_id` is `toolCallId`."""
    head, *rest = field.split("_")
    return head + "".join(part.title() for part in rest)
