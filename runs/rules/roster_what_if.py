"""What if another roster had been declared: spawns on record judged by it, entries nothing used, and a tight one.

A roster is an upper bound, so a proposal can be judged against the past exactly. What the past cannot say is what a
factory would inject tomorrow: a tight roster covers what was seen and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .roster import ExtraToolDeclaration, RosterProblem, ToolProduct, undeclared_extra_tools
from .vocabulary import ContentClass


@dataclass(frozen=True, slots=True)
class RefusedSpawn:
    """`place` among the spawns, from 0; every problem of its products."""

    place: int
    problems: tuple[RosterProblem, ...]


@dataclass(frozen=True, slots=True)
class WhatIfRoster:
    """`slack`: entries of the proposal that no product on record answers to."""

    spawns: int
    refused: tuple[RefusedSpawn, ...]
    slack: tuple[ExtraToolDeclaration, ...]


def what_if_roster(
    roster: Sequence[ExtraToolDeclaration], spawns: Sequence[Sequence[ToolProduct]], tool_name: str
) -> WhatIfRoster:
    """`spawns`: the products of each spawn of the delegation tool `tool_name`."""
    refused = []
    used: set[str] = set()
    for place, products in enumerate(spawns):
        problems = undeclared_extra_tools(roster, products, tool_name)
        if problems:
            refused.append(RefusedSpawn(place, tuple(problem for _, problem in problems)))
        for product in products:
            used.update((product.name, *product.aliases))
    slack = tuple(entry for entry in roster if not used & {entry.name, *entry.aliases})
    return WhatIfRoster(len(spawns), tuple(refused), slack)


def tight_roster(products: Iterable[ToolProduct]) -> tuple[ExtraToolDeclaration, ...]:
    """The smallest roster that covers all of these, by name.

    One entry for names that ever belonged to one product; its class is the furthest out that was seen, where none
    declared reads as external.
    """
    names = Counter[str]()
    parent: dict[str, str] = {}
    furthest: dict[str, ContentClass] = {}
    listed = list(dict.fromkeys(products))
    for product in listed:
        names[product.name] += 1
        spellings = (product.name, *product.aliases)
        for spelling in spellings:
            parent.setdefault(spelling, spelling)
        for spelling in spellings[1:]:
            parent[_root(parent, spelling)] = _root(parent, spellings[0])
    for product in listed:
        root, seen = _root(parent, product.name), ContentClass.read(product.content_origin)
        if root not in furthest or seen.is_further_out_than(furthest[root]):
            furthest[root] = seen
    together: dict[str, list[str]] = {}
    for spelling in parent:
        together.setdefault(_root(parent, spelling), []).append(spelling)
    entries = []
    for root, carried in together.items():
        # A name that products call themselves by, rather than one that was only ever an alias.
        name = min(carried, key=lambda spelling: (-names[spelling], spelling))
        aliases = tuple(sorted(spelling for spelling in carried if spelling != name))
        entries.append(ExtraToolDeclaration(name, aliases, furthest[root]))
    return tuple(sorted(entries, key=lambda entry: entry.name))


def _root(parent: Mapping[str, str], spelling: str) -> str:
    while parent[spelling] != spelling:
        spelling = parent[spelling]
    return spelling


def as_json(roster: Iterable[ExtraToolDeclaration]) -> list[dict[str, Any]]:
    """As a host declares it: `[{"name", "aliases"?, "contentOrigin"?}]`."""
    told = []
    for entry in roster:
        one: dict[str, Any] = {"name": entry.name}
        if entry.aliases:
            one["aliases"] = list(entry.aliases)
        if entry.content_origin is not None:
            one["contentOrigin"] = entry.content_origin.value
        told.append(one)
    return told
