"""Chains: the runs that a deletion takes together.

A run goes with the runs its answers went on in, the runs those began in, and the runs that retried one of these: a
retry carries on what the failed run asked and called, and without that run nothing would say any more that it began
unseen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Q

from runs.models import Answer, Leg, Run


@dataclass(slots=True)
class Chain:
    runs: list[Run] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


def chains_of(run_ids: Iterable[int]) -> list[Chain]:
    """The chains of these runs, whole. A handful of queries a round, and a round for each link of the longest."""
    runs: dict[int, Run] = {}
    answers: dict[int, Answer] = {}
    head = _Heads()
    new = set(run_ids)
    while new:
        runs |= Run.objects.in_bulk(list(new))
        legs = Leg.objects.filter(run__in=new).values_list("answer", flat=True)
        found = Answer.objects.filter(Q(run__in=new) | Q(pk__in=list(legs)))
        answers |= {answer.pk: answer for answer in found}
        linked = [(answer.run_id, answer.run_id) for answer in found]
        shared = Leg.objects.filter(answer__in=[answer.pk for answer in found])
        linked += [(answers[answer].run_id, run) for answer, run in shared.values_list("answer", "run")]
        retries = Run.objects.filter(retry_of__in=new).values_list("retry_of", "pk")
        linked += [(failed, run) for failed, run in retries if failed is not None]
        for one, other in linked:
            head.join(one, other)
        new = {run for _, run in linked} - set(runs)
    chains: dict[int, Chain] = {}
    for run in runs.values():
        chains.setdefault(head.of(run.pk), Chain()).runs.append(run)
    for answer in answers.values():
        chains[head.of(answer.run_id)].answers.append(answer)
    return list(chains.values())


class _Heads:
    """Which runs belong together, by one of them."""

    def __init__(self) -> None:
        self._heads: dict[int, int] = {}

    def of(self, run: int) -> int:
        while (above := self._heads.get(run, run)) != run:
            run = above
        return run

    def join(self, one: int, other: int) -> None:
        self._heads[self.of(other)] = self.of(one)
