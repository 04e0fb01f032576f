"""The roster of extra tools: the upper bound of what a delegation tool may inject into a child agent.

A host declares the tools its factory may inject by name, aliases and content class. Each spawn's products are checked
against it. What comes from a host is never printed or converted: a refusal names the entry's place and the type of
what was found there. What a delegation *sent* by name (its own name, a product's name) is the operator's to see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .json_types import ABSENT, json_type_word, with_article
from .vocabulary import ContentClass, RosterReason

EXTRA_TOOL_NAMES_CODE = "config.extra_tool_names"
"""The one code of every failed declaration; the reason says which way it failed."""

CONTENT_CLASSES: tuple[ContentClass, ...] = tuple(ContentClass)
"""Every content class, nearest to home first."""


@dataclass(frozen=True, slots=True)
class ExtraToolDeclaration:
    """One declared tool. `content_origin` None allows any class."""

    name: str
    aliases: tuple[str, ...] = ()
    content_origin: ContentClass | None = None


@dataclass(frozen=True, slots=True)
class ToolProduct:
    """One tool of a factory or a pool, as it describes itself. Its class as sent: undeclared reads as external."""

    name: str
    aliases: tuple[str, ...] = ()
    content_origin: str | None = None


@dataclass(frozen=True, slots=True)
class DelegationPoolRow:
    """One tool of the face a delegation tool narrows from: its names and its class as declared."""

    name: str
    aliases: tuple[str, ...] = ()
    content_origin: ContentClass | None = None


@dataclass(frozen=True, slots=True)
class RosterProblem:
    """Why one product is not covered. The sentence holds registered names and is for operators alone."""

    reason: RosterReason
    sentence: str


class ExtraToolNamesError(ValueError):
    """A declaration was refused: always with the one `code`, and the `reason` it failed by."""

    code = EXTRA_TOOL_NAMES_CODE

    def __init__(self, message: str, reason: RosterReason) -> None:
        super().__init__(message)
        self.reason = reason


def read_extra_tool_names(value: object, has_factory: bool) -> tuple[ExtraToolDeclaration, ...] | None:
    """The host's declaration from decoded JSON, read once into frozen copies; None when it is `ABSENT`.

    Raises `ExtraToolNamesError` (`shape`) for a roster without a factory, for anything that is not a list of
    ``{name, aliases?, contentOrigin?}``, and for one spelling in two entries (twice within one entry is fine).
    """
    if value is ABSENT:
        return None
    if not has_factory:
        raise _shape("A roster of extra tools needs a factory that may inject them, and there is none.")
    if not isinstance(value, list | tuple):
        raise _shape(f"A roster of extra tools must be a list, and it is {_type_of(value)}.")
    roster: list[ExtraToolDeclaration] = []
    first_place: dict[str, int] = {}
    for place, item in enumerate(value, start=1):
        entry = _read_entry(place, item)
        for spelling in _spellings(entry):
            if first_place.setdefault(spelling, place) != place:
                raise _shape(
                    f"Entry {place} of the roster carries a spelling that entry {first_place[spelling]} carries too."
                )
        roster.append(entry)
    return tuple(roster)


def _read_entry(place: int, item: object) -> ExtraToolDeclaration:
    where = f"entry {place} of the roster"
    if not isinstance(item, dict):
        raise _shape(f"{_capital(where)} must be an object, and it is {_type_of(item)}.")
    name = _read_spelling(f"The name of {where}", item.get("name", ABSENT))
    listed = item.get("aliases", ABSENT)
    if listed is ABSENT:
        listed = ()
    elif not isinstance(listed, list | tuple):
        raise _shape(f"The aliases of {where} must be a list, and they are {_type_of(listed)}.")
    aliases = tuple(_read_spelling(f"Alias {n} of {where}", alias) for n, alias in enumerate(listed, start=1))
    return ExtraToolDeclaration(name, aliases, _read_class(where, item.get("contentOrigin", ABSENT)))


def _read_spelling(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise _shape(f"{where} must be a non-empty string, and it is {_type_of(value)}.")
    if not value:
        raise _shape(f"{where} must be a non-empty string, and it is an empty one.")
    return value


def _read_class(where: str, value: object) -> ContentClass | None:
    if value is ABSENT:
        return None
    content_class = ContentClass.known(value)
    if content_class is None:
        found = "another string" if isinstance(value, str) else _type_of(value)
        raise _shape(f"The content class of {where} must be {_class_words()}, and it is {found}.")
    return content_class


def undeclared_extra_tool(
    roster: Sequence[ExtraToolDeclaration], product: ToolProduct, tool_name: str
) -> RosterProblem | None:
    """Why the roster of the delegation tool `tool_name` does not cover `product`, or None when it does.

    Covered is a product whose every name and alias is carried by one and the same entry, and whose class is no
    further out than that entry's (an entry without a class allows any). Names are checked before the class.
    """
    home: int | None = None
    for spelling in _spellings(product):
        places = [place for place, entry in enumerate(roster, start=1) if spelling in _spellings(entry)]
        if len(places) != 1:
            carried = f"entries {places[0]} and {places[1]} both carry" if places else "no entry carries"
            return _undeclared_name(
                f"{tool_name} injected a tool that answers to {spelling}; {carried} that name in its roster."
            )
        if home is not None and places != [home]:
            return _undeclared_name(
                f"{tool_name} injected a tool that answers to {product.name} and to {spelling}; "
                f"entries {home} and {places[0]} of its roster declare these as two tools."
            )
        home = places[0]
    allowed = None if home is None else roster[home - 1].content_origin
    content_class = ContentClass.read(product.content_origin)
    if allowed is None or not content_class.is_further_out_than(allowed):
        return None
    return RosterProblem(
        RosterReason.UNDECLARED_ORIGIN,
        f"{tool_name} injected {product.name} with {content_class} content; "
        f"its roster declares that tool no further out than {allowed}.",
    )


def first_undeclared_extra_tool(
    roster: Sequence[ExtraToolDeclaration], products: Iterable[ToolProduct], tool_name: str
) -> RosterProblem | None:
    """The problem of the first product the roster does not cover, or None when it covers every one."""
    return next((problem for _, problem in _problems(roster, products, tool_name)), None)


def undeclared_extra_tools(
    roster: Sequence[ExtraToolDeclaration], products: Iterable[ToolProduct], tool_name: str
) -> tuple[tuple[int, RosterProblem], ...]:
    """Every product the roster does not cover, as (its place among `products`, from 0; its problem)."""
    return tuple(_problems(roster, products, tool_name))


def _problems(
    roster: Sequence[ExtraToolDeclaration], products: Iterable[ToolProduct], tool_name: str
) -> Iterable[tuple[int, RosterProblem]]:
    for place, product in enumerate(products):
        problem = undeclared_extra_tool(roster, product, tool_name)
        if problem is not None:
            yield place, problem


def delegation_pool_face(
    static_pool: Iterable[ToolProduct],
    has_factory: bool,
    roster: Sequence[ExtraToolDeclaration] | None,
) -> tuple[DelegationPoolRow, ...] | None:
    """The pool a delegation tool's children are narrowed from: its own tools, then what its factory may inject.

    None when a factory has no declared roster: that pool does not exist until the call happens, and is unknowable.
    Where the tool has no explicit pool, hand in the inherited surface: spawning only ever removes from it. A class a
    tool did not declare, or one outside the vocabulary, stays None here and reads as external.
    """
    if has_factory and roster is None:
        return None
    own = (DelegationPoolRow(t.name, t.aliases, ContentClass.known(t.content_origin)) for t in static_pool)
    declared = roster if has_factory and roster is not None else ()
    injected = (DelegationPoolRow(entry.name, entry.aliases, entry.content_origin) for entry in declared)
    return (*own, *injected)


def _spellings(tool: ExtraToolDeclaration | ToolProduct) -> tuple[str, ...]:
    return (tool.name, *tool.aliases)


def _undeclared_name(sentence: str) -> RosterProblem:
    return RosterProblem(RosterReason.UNDECLARED_NAME, sentence)


def _shape(sentence: str) -> ExtraToolNamesError:
    return ExtraToolNamesError(sentence, RosterReason.SHAPE)


def _type_of(value: object) -> str:
    return with_article(json_type_word(value))


def _class_words() -> str:
    return ", ".join(CONTENT_CLASSES[:-1]) + f" or {CONTENT_CLASSES[-1]}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
