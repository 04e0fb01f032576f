"""One run: its header and answers for every role, and what lies behind it for operators."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_type_hints

import pytest

from runs import models
from runs.pages.run import ReaderRunPage
from runs.pages.runs import NewRuns, ReaderRunsPage
from tests.people import People
from tests.sample import MODELS_SIDE, Drawn, Story, pen_for


def body(people: People, name: str, story: Story) -> str:
    response = people.browser(name).get(f"/p/{people.northwind.key}/runs/{story.run.slug}/")
    assert response.status_code == 200
    # The token against forged forms is new on every page, and may hold any letters.
    return re.sub(r"\b[A-Za-z0-9]{64}\b", "", response.content.decode())


def words(html: str) -> str:
    return " ".join(re.sub("<[^>]+>", " ", html).split())


def test_every_run_of_the_sample_has_a_page_for_every_role(people: People, sample: Drawn) -> None:
    for story in sample.values():
        for name in ("rhea", "omar", "ada", "root"):
            assert f'id="run-head" data-version="{story.run.version}"' in body(people, name, story)


def test_strangers_and_wrong_addresses_get_the_same_404(people: People, sample: Drawn) -> None:
    slug = sample["named"].run.slug
    assert people.browser("sam").get(f"/p/{people.northwind.key}/runs/{slug}/").status_code == 404
    assert people.browser("sam").get(f"/p/{people.elsewhere.key}/runs/{slug}/").status_code == 404
    assert people.browser("rhea").get(f"/p/{people.northwind.key}/runs/nothing/").status_code == 404
    assert people.browser(None).get(f"/p/{people.northwind.key}/runs/{slug}/").status_code == 302


def test_readers_meet_no_word_of_the_models_side(people: People, sample: Drawn) -> None:
    for story in sample.values():
        assert MODELS_SIDE not in body(people, "rhea", story)
    assert MODELS_SIDE in body(people, "omar", sample["choices"])


MODEL_SIDE_FIELDS = {
    "tool",
    "tools",
    "call_id",
    "agent",
    "provider",
    "model",
    "composition",
    "path",
    "name",
    "session",
    "aliases",
    "skill",
    "products",
    "offender",
    "classifier",
    "run_name",
    "child_run",
    "missed",
}


@pytest.mark.parametrize("page", [ReaderRunsPage, ReaderRunPage, NewRuns])
def test_a_readers_page_has_no_field_for_a_registered_name(page: type) -> None:
    waiting, seen = [page], set()
    while waiting:
        shape = waiting.pop()
        seen.add(shape)
        for field in fields(shape):
            is_hash = (shape.__name__, field.name) == ("ReaderFilters", "session")
            assert is_hash or field.name not in MODEL_SIDE_FIELDS
        for hint in get_type_hints(shape).values():
            waiting += [kind for kind in _kinds(hint) if is_dataclass(kind) and kind not in seen]
    assert not any(shape.__name__.startswith("Operator") for shape in seen)


def _kinds(hint: Any) -> list[type]:
    inner = get_args(hint) if get_args(hint) or isinstance(hint, UnionType) else ()
    return [hint] if isinstance(hint, type) and not inner else [kind for arg in inner for kind in _kinds(arg)]


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("named", "✓ The assistant answered."),
        ("asked", "? The assistant asked a person a question and waits."),
        ("stopped", "◐ The assistant stopped early: it had used all the steps it was allowed."),
        ("silent", "… No word since 16:17."),
        ("failed", "✕ Something failed and the turn ended without an answer."),
        ("running", "○ The assistant is still at work."),
        ("bare", "– This run has no answer: the model was called outside of any turn."),
    ],
)
def test_the_verdict_stands_first(people: People, sample: Drawn, name: str, verdict: str) -> None:
    page = words(body(people, "rhea", sample[name]))
    assert verdict in page
    assert page.index(verdict) < page.index("Began")


def test_parts_are_numbered_and_whose_words_they_are_is_said(people: People, sample: Drawn) -> None:
    page = words(body(people, "rhea", sample["parts"]))
    assert page.index("Part 1 Summarise the three returns.") < page.index("Part 2 Three chairs came back.")
    assert "The questions of the later parts are other assistants’ texts" in page
    assert "What was delivered in the end is the last part’s text, or it is not recorded." in page


def test_turns_of_one_run_are_no_parts(people: People) -> None:
    writer = pen_for(people.northwind)
    run = writer.run("talk")
    for ordinal in range(2):
        writer.answer(run, f"Question {ordinal}", "Yes.")
    page = words(body(people, "rhea", Story(run, ())))
    assert "Turn 1 Question 0" in page
    assert "other assistants" not in page


def test_a_retry_leads_to_what_it_retries_and_a_conversation_to_its_runs(
    people: People, sample: Drawn
) -> None:
    page = body(people, "rhea", sample["retry"])
    assert f'href="/p/{people.northwind.key}/runs/{sample["failed"].run.slug}/"' in page
    assert f'href="/p/{people.northwind.key}/runs/?session=s0001desk"' in page


def test_a_leg_is_told_where_the_answer_is_that_it_continues(people: People, sample: Drawn) -> None:
    asked = sample["asked"]
    writer = pen_for(people.elsewhere)
    writer.project, writer.number, writer.position = people.northwind, 100_000, 100_000
    leg = writer.run(
        "leg", leg_of=asked.answer.id, begun="leg", opened_clock_ms=asked.run.last_clock_ms + 65_000
    )
    models.Leg.objects.create(**writer.row(), answer=asked.answer, run=leg, number=2)
    response = people.browser("rhea").get(f"/p/{people.northwind.key}/runs/{leg.slug}/")
    assert response.headers["Location"] == f"/p/{people.northwind.key}/runs/{asked.run.slug}/"
    assert "after a wait of 1 min 5 s" in words(body(people, "rhea", asked))


def test_late_reports_and_holes_are_said(people: People, sample: Drawn) -> None:
    run = sample["named"].run
    models.Run.objects.filter(id=run.id).update(late=2, gap=True)
    page = words(body(people, "rhea", sample["named"]))
    assert "2 reports came after the run had ended. They are kept and change no ending." in page
    assert "was lost on the way" in page


def test_spawns_are_counts_for_readers_and_a_tree_for_operators(people: People, sample: Drawn) -> None:
    reader = words(body(people, "rhea", sample["choices"]))
    assert "The assistant sent out 1 helper with tools of its own." in reader
    assert "1 of the tools they were given was not declared." in reader
    assert "Delegations" not in reader
    page = words(body(people, "omar", sample["choices"]))
    tree = page[page.index("Delegations") : page.index("Timeline")]
    assert (
        "notes_zz internal web_zz external ✕ delegate_zz injected web_zz; its roster declares notes_zz."
        in tree
    )


def test_the_timeline_has_a_table_beside_the_drawing(people: People, sample: Drawn) -> None:
    run = sample["choices"].run
    for seq, (kind, at, payload) in enumerate(
        [
            ("stream.llm_start", 100, {"iteration": 1}),
            ("stream.llm_end", 900, {"iteration": 1, "toolCallCount": 1, "durationMs": 800}),
        ]
    ):
        models.KeptEvent.objects.create(
            id=people.northwind.id << models.ID_BITS | (50_000 + seq),
            project=people.northwind,
            stream=run.stream,
            seq=seq,
            type=kind,
            run=run.name,
            received_ms=run.opened_ms + at,
            body=json.dumps({"m": {"runId": run.name, "wallClockMs": run.opened_ms + at}, "p": payload}),
        )
    page = body(people, "omar", sample["choices"])
    assert "<svg" in page
    table = words(page[page.index("The timeline as a table") :])
    assert "model" in table
    assert "800 ms" in table
    assert "Looking up the order" in table
    assert "<svg" not in body(people, "rhea", sample["choices"])


HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "<div hx-get=/x hx-trigger=load>"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text(people: People, text: str) -> None:
    writer = pen_for(people.northwind)
    run = writer.run("hostile", agent=text, provider=text, model=text, composition=text, tenant=text)
    answer = writer.answer(run, text, text)
    writer.call(answer, text, call_id=text)
    models.Spawn.objects.create(
        **writer.row(), stream=writer.stream, run=run, answer=answer, tool=text, position=writer.at(), received_ms=0,
        products=json.dumps([{"name": text, "aliases": [text], "contentOrigin": text}, {}]),
    )  # fmt: skip
    for name in ("rhea", "omar"):
        assert text not in body(people, name, Story(run, (answer,)))
