"""How often each page asks the database: one number a page and role, whatever the number of rows.

Asked twice, since the app's words are read once a process and version; the second time counts. The record then
grows (answers, calls, tool choices, spawns, names), and the number has to stay. A number that goes down is a reason
to be glad and to write it here; one that goes up, to look again.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs import models
from tests.people import People
from tests.sample import DELEGATE, LOOK_UP, Drawn, Pen, pen_for

# Address -> queries of a reader, of an operator or admin. None: the page is not theirs (test_roles.py).
COUNTS: dict[str, tuple[int | None, int]] = {
    "/": (3, 3),
    "runs/": (10, 12),
    "runs/?before=ffffff": (10, 12),
    "runs/?after=ffffff": (11, 13),
    "runs/?ending=answered": (11, 13),
    "runs/?failed=1&ending=answered": (11, 13),
    "runs/?session=s0001desk": (10, 12),
    "runs/?since=2026-09-01&until=2026-12-01": (12, 14),
    "runs/?ending=answered&session=s0001desk&since=2026-09-01": (13, 15),
    "runs/?tool=lookup_order_zz": (None, 12),
    "runs/?tool=lookup_order_zz&ending=answered&session=s0001desk": (None, 14),
    "runs/new/?after=0": (4, 4),
    "runs/{run}/": (9, 15),
    "answers/{answer}/": (11, 19),
    "answers/{answer}/?words=then": (14, 22),
    "answers/{answer}/?only=ok": (11, 19),
    "answers/{answer}/calls/?after=1": (11, 19),
    "answers/{answer}/choices/": (None, 12),
    "answers/{answer}/events/": (None, 7),
    "tools/": (None, 6),
    "tools/one/?tool=lookup_order_zz": (None, 7),
    "tool-choice/": (None, 11),
    "tool-choice/?floor=70&top=1&agent=agent_zz": (None, 12),
    "rosters/": (None, 14),
    "rosters/what-if/?tool=delegate_zz": (None, 9),
}


@pytest.mark.parametrize("address", COUNTS)
def test_a_page_asks_as_often_whatever_there_is(address: str, people: People, sample: Drawn) -> None:
    told = sample["choices"]
    url = address.format(run=told.run.slug, answer=told.answer.slug)
    url = url if url == "/" else f"/p/{people.northwind.key}/{url}"
    for project in (
        people.northwind,
        people.elsewhere,
    ):  # two projects each: the first page is a list of them
        models.Membership.objects.get_or_create(
            project=project, user=people.omar, defaults={"role": "operator"}
        )
        models.Membership.objects.get_or_create(
            project=project, user=people.rhea, defaults={"role": "reader"}
        )
    counted = _counted(people, url)
    _grow(people, told.answer)
    assert counted == _counted(people, url), "the number of queries grows with the rows"
    if COUNTS[address][0] is None:
        counted = (None, counted[1])
    assert counted == COUNTS[address]


def _counted(people: People, url: str) -> tuple[int, int]:
    return _asked(people.browser("rhea").get, url), _asked(people.browser("omar").get, url)


def _asked(get: Callable[[str], object], url: str) -> int:
    get(url)
    with CaptureQueriesContext(connection) as queries:
        get(url)
    return len(queries)


def _grow(people: People, answer: models.Answer) -> None:
    """More of everything: of the answer that is asked for, of its run and of the project."""
    pen: Pen = pen_for(people.elsewhere)
    pen.project, pen.stream, pen.number, pen.position = people.northwind, answer.stream, 100_000, 100_000
    answer.refresh_from_db()
    pen.counts[answer.id] = answer.calls
    for number in range(120):
        pen.call(answer, LOOK_UP, ("ok", "error", "not-run")[number % 3])
    for iteration in range(10, 30):
        menu = {"offered": [LOOK_UP], "served": [LOOK_UP], "narrowed": True}
        pen.choice(answer, "pick", iteration, menu, narrowed=True)
        pen.counted(
            answer, iteration, reading="pick", chosen=LOOK_UP, narrowed=True, shape="3.3.2.0", misses_to=1
        )
    run = answer.run
    for _ in range(30):
        pen.call(pen.answer(run, "Again?", "Yes."), LOOK_UP, "error")
    for number in range(30):
        pen.call(pen.answer(pen.run("more", agent="agent_zz"), "More?", "Yes."), LOOK_UP, "error")
        models.Spawn.objects.create(
            **pen.row(), stream=pen.stream, run=run, answer=answer, tool=DELEGATE, position=pen.at(), received_ms=0,
            products=json.dumps([{"name": f"notes-{number}"}]), child_run=f"child-{number}",
        )  # fmt: skip
    pen.sees(*(f"tool_{number}" for number in range(300)))
