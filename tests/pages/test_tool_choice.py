"""The Tool choice page: a project whose figures are known in closed form shows exactly these."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.http import QueryDict

from runs.models import Project
from runs.pages.access import Visit, visit_of
from runs.pages.tool_choice import ToolChoicePage, build
from runs.rules.tool_choice import ALWAYS_SERVED_TOOLS
from tests.lines import line
from tests.people import People
from tests.sample import Drawn
from tests.wire import Wire, make_token, run, send_all

TOOLS = [f"tool_{number}" for number in range(10)]
# Of a hundred calls: what was called, and how sure the reading was that tool_0 fits. Nothing was narrowed.
CALLED = (
    *[("tool_0", 0.95)] * 45,
    *[(None, 0.95)] * 5,
    *[("tool_0", 0.55)] * 20,
    *[("tool_1", 0.55)] * 25,
    *[("tool_3", 0.55)] * 5,
)


def rows(number: int, called: str | None, confidence: float) -> list[dict[str, Any]]:
    """Two rows of the number-th call. Its iteration has none right before it, so that no miss holds another call."""
    iteration = 1 + 2 * (number // 10)
    pick = {
        "kind": "pick", "iteration": iteration, "source": "classifier", "classifier": {"name": "lexical"},
        "offered": TOOLS, "ranked": [{"name": name, "score": 1} for name in TOOLS], "chosen": "tool_0",
        "confidence": confidence, "latencyMs": number + 1, "usage": {"inputTokens": 100, "outputTokens": 2},
        "served": [*TOOLS, "present"], "narrowed": False, "doors": list(ALWAYS_SERVED_TOOLS),
        "wire": [*TOOLS, "present"],
    }  # fmt: skip
    outcome: dict[str, Any] = {
        "kind": "outcome",
        "iteration": iteration,
        "called": [called] if called else [],
    }
    if called:
        outcome["firstAgrees"] = called == "tool_0"
    return [pick, outcome]


def tell(project: Project, calls: Any = CALLED) -> None:
    """Ten answers, a run each; call n belongs to answer n modulo 10."""
    lines = [
        line("agent.turn_start", {"userPrompt": "?"}, run=f"run-{answer}", agentName="desk")
        for answer in range(10)
    ]
    for number, (called, confidence) in enumerate(calls):
        lines += [
            line("footprint.tool_choice.row", row, run=f"run-{number % 10}")
            for row in rows(number, called, confidence)
        ]
    token = make_token(project)

    async def story() -> None:
        async with Wire(token) as wire:
            await send_all(wire, lines)

    run(story)


def seen_by_omar(people: People) -> Visit:
    return visit_of(people.omar, people.northwind.key)


def page_of(people: People, **query: object) -> ToolChoicePage:
    asked = QueryDict(mutable=True)
    asked.update({name: str(value) for name, value in query.items()})
    return build(seen_by_omar(people), asked)


def tops(page: ToolChoicePage) -> dict[int, tuple[int, int, int, int | None]]:
    return {
        line.at.top: (line.at.narrowed, line.at.saved, line.at.missed, line.answers)
        for line in page.replay.tops
    }


@pytest.mark.django_db(transaction=True)
class TestInClosedForm:
    @pytest.fixture(autouse=True)
    def told(self, people: People) -> None:
        tell(people.northwind)

    def test_agreement(self, people: People) -> None:
        page = page_of(people)
        assert (page.counted.calls, page.counted.readings, page.agreed.hits, page.agreed.n) == (
            100,
            100,
            65,
            95,
        )
        by_tool = {tool.name: (tool.agreed.hits, tool.agreed.n) for tool in page.tools}
        assert by_tool == {"tool_0": (65, 65), "tool_1": (0, 25), "tool_3": (0, 5)}
        assert [(step.agreed.hits, step.agreed.n, step.not_asked) for step in page.steps] == [(65, 95, 100)]

    def test_chosen_and_called(self, people: People) -> None:
        page = page_of(people)
        pairs = {(pair.chosen, pair.called): pair.calls for pair in page.pairs}
        assert pairs == {
            ("tool_0", "tool_0"): 65, ("tool_0", "tool_1"): 25, ("tool_0", "tool_3"): 5, ("tool_0", None): 5,
        }  # fmt: skip
        swapped = [(two.one, two.other, two.swapped, two.among) for two in page.twins]
        assert swapped == [("tool_0", "tool_1", 25, 90), ("tool_0", "tool_3", 5, 70)]
        assert (page.quiet_count, len(page.quiet)) == (5, 5)

    def test_calibration(self, people: People) -> None:
        page = page_of(people)
        bins = [(one.low, round(one.confidence, 6), one.agreed.hits, one.agreed.n) for one in page.bins]
        assert bins == [(0.5, 0.55, 20, 50), (0.9, 0.95, 45, 45)]
        assert page.gap == pytest.approx((0.15 * 50 + 0.05 * 45) / 95)

    def test_cost(self, people: People) -> None:
        page = page_of(people)
        assert (page.median_ms, page.slow_ms) == (50, 95)
        assert (page.counted.input_tokens, page.counted.output_tokens) == (10_000, 200)

    def test_what_if(self, people: People) -> None:
        found = tops(page_of(people))
        assert list(found) == list(range(1, 10))
        assert found[1] == (100, 900, 30, 10)
        assert found[2] == found[3][:1] + (800,) + found[3][2:] == (100, 800, 5, 5)
        assert found[4] == (100, 600, 0, 0)
        assert found[9] == (100, 100, 0, 0)

    def test_characters_are_told_where_descriptions_are_kept(self, people: People) -> None:
        assert page_of(people).replay.described is None
        token = make_token(people.northwind)
        listed = [
            {"name": "tool_0", "description": "x" * 30},
            {"name": "tool_1", "description": "x" * 50},
            {"name": "a"},
        ]

        async def story() -> None:
            async with Wire(token, stream="another") as wire:
                start = line("stream.llm_start", {"iteration": 1, "tools": listed}, run="run-0")
                await send_all(wire, [start])

        run(story)
        replay = page_of(people).replay
        assert replay.described is not None and replay.described.tools == 2
        assert replay.tops[0].characters == 900 * 40
        html = people.browser("omar").get(f"/p/{people.northwind.key}/tool-choice/").content.decode()
        assert "Characters, about" in html and "had 40 each on average" in html

    def test_what_if_with_a_floor(self, people: People) -> None:
        assert tops(page_of(people, floor=70))[1] == (50, 450, 0, 0)

    def test_what_if_one_more_is_always_served(self, people: People) -> None:
        page = page_of(people, always="tool_1")
        assert tops(page)[1] == (100, 800, 5, 5)
        assert [call.called for call in page_of(people, always="tool_1", top=1).replay.lacking] == [
            "tool_3"
        ] * 5
        assert page.replay.newest_only and page.replay.over == 100

    def test_the_calls_behind_a_figure(self, people: People) -> None:
        page = page_of(people, top=2)
        assert [call.called for call in page.replay.lacking] == ["tool_3"] * 5
        answer = people.browser("omar").get(page.replay.lacking[0].href)
        assert answer.status_code == 200
        assert b"100 tokens in, 2 out" in answer.content

    @pytest.mark.parametrize("always", ["", "tool_7"])
    def test_every_affected_call_is_linked_screen_by_screen(
        self, people: People, monkeypatch: pytest.MonkeyPatch, always: str
    ) -> None:
        monkeypatch.setattr("runs.store.reads_tool_choice.NEWEST", 7)
        browser, href, found = people.browser("omar"), f"?top=1&always={always}", []
        while href:
            page = build(seen_by_omar(people), QueryDict(href.partition("?")[2].partition("#")[0]))
            found += page.replay.lacking
            href = page.replay.older_href
        assert len(found) == 30
        assert [call.called for call in found].count("tool_1") == 25
        answers = {call.href for call in found}
        assert len(answers) == 10
        assert {browser.get(answer).status_code for answer in answers} == {200}

    def test_filters_combine(self, people: People) -> None:
        assert page_of(people, tool="tool_1").counted.calls == 25
        assert page_of(people, tool="tool_1", agent="nobody").counted.calls == 0
        assert page_of(people, until="2001-01-01").counted.calls == 0
        assert page_of(people, since="2001-01-01", tool="tool_3").counted.calls == 5

    def test_the_page_says_these_figures(self, people: People) -> None:
        html = people.browser("omar").get(f"/p/{people.northwind.key}/tool-choice/").content.decode()
        text = " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())
        for said in ("68 %", "10000 in, 200 out", "best 1 100 900 90 % 30 0 10", "10 % apart"):
            assert said in text
        drawn = {
            found: json.loads(data)
            for found, data in re.findall(r'id="(plot-[\w-]+)"[^>]*>(.*?)</script>', html)
        }
        assert drawn["plot-what-if"]["series"][1]["values"][:2] == [30.0, 5.0]
        assert set(re.findall(r'data-plot="([^"]+)"', html)) == set(drawn)

    def test_what_comes_in_is_counted_at_once(self, people: People) -> None:
        before = page_of(people).counted.calls
        people.northwind.refresh_from_db()
        token = make_token(people.northwind)

        async def story() -> None:
            async with Wire(token, stream="another") as wire:
                told = [line("footprint.tool_choice.row", row, run="new") for row in rows(0, "tool_0", 0.95)]
                await send_all(wire, [line("agent.turn_start", {}, run="new"), *told])

        run(story)
        assert page_of(people).counted.calls == before + 1


@pytest.mark.django_db
class TestWhateverIsAsked:
    def test_nothing_on_record(self, people: People) -> None:
        html = people.browser("omar").get(f"/p/{people.northwind.key}/tool-choice/").content.decode()
        assert "No tool choice is on record yet" in html

    @pytest.mark.parametrize(
        "query",
        [
            "floor=71&top=99999&since=yesterday&until=%00",
            "tool=%00&agent=" + "x" * 5000,
            "always=" + ",".join(["a"] * 3000),
            "top=-1&top=0&floor=%F0%9F%90%91",
            "top=3&always=,,,&tool=<script>alert(1)</script>",
        ],
    )
    def test_an_address_that_says_nothing_readable(self, people: People, sample: Drawn, query: str) -> None:
        got = people.browser("omar").get(f"/p/{people.northwind.key}/tool-choice/?{query}")
        assert got.status_code == 200
        assert "<script>alert" not in got.content.decode()
