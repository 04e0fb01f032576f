"""What the Rosters page asks: each delegation tool's declaration, what it injected, what was wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from django.db.models import Count, Max, Min, QuerySet

from runs.models import ID_BITS, Roster, Spawn, Violation
from runs.rules.roster import ExtraToolDeclaration, ToolProduct
from runs.rules.vocabulary import ContentClass

NEWEST_SPAWNS = 2_000  # what was injected is counted over this many
NEWEST_GROUPS = 200
NEWEST_REFUSALS = 50


@dataclass(frozen=True, slots=True)
class DeclaredRoster:
    """A delegation tool's latest declaration. `entries` None: no roster, or (`sentence`) one that is not a roster."""

    tool: str
    has_factory: bool
    entries: tuple[ExtraToolDeclaration, ...] | None
    static_pool: tuple[ToolProduct, ...] | None
    inherited: tuple[ToolProduct, ...] | None
    sentence: str
    declared_times: int


@dataclass(frozen=True, slots=True)
class Delegation:
    """One spawn: what was injected. `answer` is a slug, None where the spawn fits no answer."""

    tool: str
    answer: str | None
    products: tuple[ToolProduct, ...]
    denied: tuple[str, ...]
    received_ms: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A delegation the host itself refused."""

    tool: str
    reason: str
    answer: str | None
    received_ms: int


@dataclass(frozen=True, slots=True)
class ViolationGroup:
    """Violations of one delegation tool by one reason and one offending name. `sentence` and `answer` (a slug, None
    where it fits no answer) are the newest one's."""

    tool: str
    reason: str
    offender: str
    count: int
    answers: int
    first_ms: int
    last_ms: int
    sentence: str
    answer: str | None


def latest_rosters(project_id: int, epoch: int) -> list[DeclaredRoster]:
    rows = Roster.objects.filter(project_id=project_id, epoch=epoch)
    latest = dict(rows.order_by().values("tool").annotate(at=Max("id")).values_list("tool", "at"))
    times = dict(rows.order_by().values("tool").annotate(n=Count("id")).values_list("tool", "n"))
    return [
        DeclaredRoster(
            tool=row.tool,
            has_factory=row.has_factory,
            entries=None if row.entries is None else tuple(map(_entry, json.loads(row.entries))),
            static_pool=_products(row.static_pool),
            inherited=_products(row.inherited),
            sentence=row.sentence,
            declared_times=times[row.tool],
        )
        for row in rows.filter(pk__in=latest.values()).order_by("tool")
    ]


def newest_delegations(project_id: int, epoch: int) -> list[Delegation]:
    """The newest spawns of all tools, newest first."""
    rows = _newest_spawns(project_id, epoch, refused=False)[:NEWEST_SPAWNS]
    columns = ("tool", "answer__slug", "products", "denied", "received_ms")
    return [
        Delegation(tool, answer, _products(products) or (), tuple(json.loads(denied or "[]")), ms)
        for tool, answer, products, denied, ms in rows.values_list(*columns)
    ]


def newest_refusals(project_id: int, epoch: int) -> list[Refusal]:
    rows = _newest_spawns(project_id, epoch, refused=True)[:NEWEST_REFUSALS]
    return [
        Refusal(*row) for row in rows.values_list("tool", "refused_reason", "answer__slug", "received_ms")
    ]


def count_delegations(project_id: int, epoch: int) -> Mapping[str, int]:
    spawns = Spawn.objects.filter(project_id=project_id, epoch=epoch, refused=False).order_by()
    return dict(spawns.values("tool").annotate(n=Count("id")).values_list("tool", "n"))


def violation_groups(project_id: int, epoch: int) -> list[ViolationGroup]:
    """The groups with the newest violations, newest first."""
    rows = Violation.objects.filter(project_id=project_id, epoch=epoch).order_by()
    grouped = (
        rows.values("tool", "reason", "offender")
        .annotate(
            n=Count("id"),
            answers=Count("answer", distinct=True),
            first=Min("received_ms"),
            last=Max("received_ms"),
            newest=Max("id"),
        )
        .order_by("-newest")[:NEWEST_GROUPS]
    )
    groups = list(grouped)
    newest = {
        pk: (sentence, slug)
        for pk, sentence, slug in Violation.objects.filter(
            pk__in=[group["newest"] for group in groups]
        ).values_list("pk", "sentence", "answer__slug")
    }
    return [
        ViolationGroup(
            group["tool"], group["reason"], group["offender"], group["n"], group["answers"],
            group["first"], group["last"], *newest[group["newest"]],
        )
        for group in groups
        if group["newest"] in newest
    ]  # fmt: skip


def count_violations(project_id: int, epoch: int) -> Mapping[str, int]:
    rows = Violation.objects.filter(project_id=project_id, epoch=epoch).order_by().values("tool")
    return dict(rows.annotate(n=Count("id")).values_list("tool", "n"))


def _newest_spawns(project_id: int, epoch: int, *, refused: bool) -> QuerySet[Spawn]:
    """Newest first. Ids follow positions and begin with the project's, so the table itself is the index."""
    ids = {"id__gt": project_id << ID_BITS, "id__lt": (project_id + 1) << ID_BITS}
    return Spawn.objects.filter(**ids, epoch=epoch, refused=refused).order_by("-id")


def _entry(item: Mapping[str, object]) -> ExtraToolDeclaration:
    product = _product(item)
    return ExtraToolDeclaration(product.name, product.aliases, ContentClass.known(product.content_origin))


@lru_cache(maxsize=1_000)  # a tool injects the same few, spawn after spawn
def _products(text: str | None) -> tuple[ToolProduct, ...] | None:
    return None if text is None else tuple(map(_product, json.loads(text)))


def _product(item: Mapping[str, object]) -> ToolProduct:
    aliases, origin = item.get("aliases"), item.get("contentOrigin")
    return ToolProduct(
        str(item.get("name", "")),
        tuple(map(str, aliases)) if isinstance(aliases, list) else (),
        origin if isinstance(origin, str) else None,
    )
