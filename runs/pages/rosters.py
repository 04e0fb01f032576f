"""Rosters: what each delegation tool may inject, what it did inject, and what nobody had declared. For operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_GET

from runs.pages.access import Audience, Visit, project_page
from runs.pages.addresses import answer_href
from runs.pages.frame import show
from runs.pages.roster_what_if import what_if_href
from runs.rules.roster import DelegationPoolRow, ExtraToolDeclaration, delegation_pool_face
from runs.rules.vocabulary import ContentClass, RosterReason
from runs.store import reads_rosters
from runs.store.reads_rosters import DeclaredRoster, Delegation, Refusal, ViolationGroup
from runs.store.words import Words, read_words


@dataclass(frozen=True, slots=True)
class EntryLine:
    """One tool that may be injected. `injected`: in how many of the spawns looked at; 0: never used."""

    name: str
    aliases: tuple[str, ...]
    reach: str
    injected: int


@dataclass(frozen=True, slots=True)
class PoolLine:
    name: str
    aliases: tuple[str, ...]
    reach: str


@dataclass(frozen=True, slots=True)
class InjectedLine:
    """A tool that was injected and that no entry of the latest roster carries."""

    name: str
    aliases: tuple[str, ...]
    reach: str
    times: int


@dataclass(frozen=True, slots=True)
class GroupLine:
    """Violations of one kind. `href`: the newest one's answer, None where it fits none."""

    reason: RosterReason | None
    offender: str
    sentence: str
    count: int
    answers: int
    first_ms: int
    last_ms: int
    href: str | None


@dataclass(frozen=True, slots=True)
class RefusalLine:
    reason: str
    href: str | None
    received_ms: int


@dataclass(frozen=True, slots=True)
class DelegationTool:
    anchor: str
    name: str
    words: str | None
    roster: str  # how its roster stands, in a sentence
    roster_refused: str | None
    entries: tuple[EntryLine, ...]
    never_used: int
    pool: tuple[PoolLine, ...]
    pool_sentence: str
    beyond: tuple[InjectedLine, ...]
    spawns: int
    counted_over: int  # the newest spawns that `injected` and `times` count
    violations: int
    groups: tuple[GroupLine, ...]
    refusals: tuple[RefusalLine, ...]
    what_if_href: str


@dataclass(frozen=True, slots=True)
class RostersPage:
    tools: tuple[DelegationTool, ...]
    violations: int


@require_GET
@project_page(at_least=Audience.OPERATOR)
def rosters(request: HttpRequest, visit: Visit) -> HttpResponse:
    return show(request, visit, "rosters/rosters.html", build(visit), here="rosters")


def build(visit: Visit) -> RostersPage:
    """The page's data. The tools with violations come first."""
    of = (visit.project.id, visit.project.epoch)
    declared = {roster.tool: roster for roster in reads_rosters.latest_rosters(*of)}
    spawns, refusals = reads_rosters.newest_delegations(*of), reads_rosters.newest_refusals(*of)
    groups, violation_counts = reads_rosters.violation_groups(*of), reads_rosters.count_violations(*of)
    spawn_counts, words = reads_rosters.count_delegations(*of), read_words(*of)
    names = {*declared, *spawn_counts, *violation_counts, *(refusal.tool for refusal in refusals)}
    tools = [
        _tool(
            visit.project.key,
            name,
            words,
            declared.get(name),
            [spawn for spawn in spawns if spawn.tool == name],
            spawn_counts.get(name, 0),
            [group for group in groups if group.tool == name],
            violation_counts.get(name, 0),
            [refusal for refusal in refusals if refusal.tool == name],
        )
        for name in names
    ]
    tools.sort(key=lambda tool: (-tool.violations, tool.name))
    return RostersPage(tuple(tools), sum(violation_counts.values()))


def _tool(
    key: str,
    name: str,
    words: Words,
    declared: DeclaredRoster | None,
    spawns: list[Delegation],
    spawn_count: int,
    groups: list[ViolationGroup],
    violation_count: int,
    refusals: list[Refusal],
) -> DelegationTool:
    entries = _entries(declared, spawns)
    pool, pool_sentence = _pool(declared)
    return DelegationTool(
        anchor="delegation-" + blake2b(name.encode(), digest_size=8).hexdigest(),
        name=name,
        words=words.display_name_of(name),
        roster=_roster_sentence(declared),
        roster_refused=declared.sentence if declared is not None and declared.sentence else None,
        entries=entries,
        never_used=sum(entry.injected == 0 for entry in entries),
        pool=pool,
        pool_sentence=pool_sentence,
        beyond=_beyond(declared, spawns),
        spawns=spawn_count,
        counted_over=len(spawns),
        violations=violation_count,
        groups=tuple(
            GroupLine(
                RosterReason.known(group.reason),
                group.offender,
                group.sentence,
                group.count,
                group.answers,
                group.first_ms,
                group.last_ms,
                _href(key, group.answer),
            )
            for group in groups
        ),
        what_if_href=what_if_href(key, name),
        refusals=tuple(
            RefusalLine(_why_refused(row.reason), _href(key, row.answer), row.received_ms) for row in refusals
        ),
    )


def _roster_sentence(declared: DeclaredRoster | None) -> str:
    if declared is None:
        return "It never declared what it may inject, so its spawns cannot be checked."
    if declared.sentence:
        return "Its latest declaration is not a roster, so its spawns cannot be checked."
    if not declared.has_factory:
        return "It has no factory: it injects nothing of its own."
    if declared.entries is None:
        return "It has a factory and declared no roster, so its spawns cannot be checked."
    if not declared.entries:
        return "Its roster is empty: it may inject nothing."
    return "At most these tools may be injected."


def _entries(declared: DeclaredRoster | None, spawns: list[Delegation]) -> tuple[EntryLine, ...]:
    if declared is None or not declared.entries:
        return ()
    return tuple(
        EntryLine(
            entry.name,
            entry.aliases,
            _reach(entry.content_origin, "any class"),
            sum(any(product.name in _spellings(entry) for product in spawn.products) for spawn in spawns),
        )
        for entry in declared.entries
    )


def _pool(declared: DeclaredRoster | None) -> tuple[tuple[PoolLine, ...], str]:
    """The face a child's tools are narrowed from, or why it cannot be known."""
    if declared is None:
        return (), "Its pool is not recorded."
    # Without a pool of its own it narrows from what it inherited: spawning only ever removes from that.
    own = declared.static_pool if declared.static_pool is not None else declared.inherited
    face = delegation_pool_face(own or (), declared.has_factory, declared.entries)
    if face is None:
        return (
            (),
            "Its pool does not exist until the call happens: what a child may get cannot be known beforehand.",
        )
    if not face:
        return (), "Its pool is empty." if own is not None else "Its pool is not recorded."
    own_words = "its own tools" if declared.static_pool is not None else "the tools it inherited"
    return tuple(
        _pool_line(row) for row in face
    ), f"A child’s tools are narrowed from {own_words} and its roster."


def _beyond(declared: DeclaredRoster | None, spawns: list[Delegation]) -> tuple[InjectedLine, ...]:
    """What was injected and stands in no entry of the latest roster, the most frequent first."""
    covered = {name for entry in (declared.entries or () if declared else ()) for name in _spellings(entry)}
    products = [p for spawn in spawns for p in dict.fromkeys(spawn.products) if p.name not in covered]
    counted = Counter(products).most_common()
    return tuple(
        InjectedLine(p.name, p.aliases, _reach(ContentClass.read(p.content_origin), ""), times)
        for p, times in counted
    )


def _why_refused(reason: str) -> str:
    known = RosterReason.known(reason)
    return known.word if known is not None else "for a reason of its own"


def _pool_line(row: DelegationPoolRow) -> PoolLine:
    return PoolLine(row.name, row.aliases, _reach(row.content_origin, "external (not declared)"))


def _reach(content_class: ContentClass | None, otherwise: str) -> str:
    return otherwise if content_class is None else content_class.word


def _spellings(entry: ExtraToolDeclaration) -> Iterable[str]:
    return (entry.name, *entry.aliases)


def _href(key: str, slug: str | None) -> str | None:
    return None if slug is None else answer_href(key, slug)


urlpatterns = [
    path("", rosters, name="rosters"),
]
