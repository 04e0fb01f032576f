"""What the Tool choice page asks, over every model call that tool-choice rows tell of.

Sets only, no row is read alone. Each question is one pass over the project's calls: a million take seconds, so answers
are kept while nothing new has come in (`tool_choice`, by the project's position).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec
from django.db import connection

from runs.models import ID_BITS, Answer, KeptEvent, Project
from runs.rules.choice_replay import Shape, read_shape, shape_of
from runs.rules.kept import decode_body
from runs.store.ask import ask

NEWEST: Final = 50
"""So many calls a list of them shows."""
NEWEST_BODIES: Final = 20_000
"""So many of the newest rows are read for an always-serve list that was not the recorded one."""
NEWEST_EVENTS: Final = 1_000
"""So many events are looked through for tools' descriptions."""
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
MOST_STEPS: Final = 60


@dataclass(frozen=True, slots=True)
class ChoiceFilter:
    """What the page is narrowed to; what is empty does not narrow. Times are UTC milliseconds."""

    since_ms: int | None = None
    until_ms: int | None = None
    agent: str = ""
    tool: str = ""  # chosen or called first


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of time: `came` counts calls by what narrowing came to ("narrowed", a reason, "" for not asked to)."""

    from_ms: int
    judged: int
    agreed: int
    came: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Bin:
    """Judged calls by confidence: `tenth` 0 to 9, their mean confidence, and in how many reading and call agreed."""

    tenth: int
    judged: int
    agreed: int
    confidence: float


@dataclass(frozen=True, slots=True)
class CallLine:
    """One model call of a list. `id` orders it."""

    id: int
    answer: str  # slug
    iteration: int
    at_ms: int
    chosen: str | None
    called: str | None
    confidence: float | None


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Everything counted of one filter. `pairs`: (chosen, called first) -> calls; None where there was none."""

    calls: int
    readings: int
    failed: int
    replied: int
    judged: int
    agreed: int
    missed: int
    replayable: int
    input_tokens: int | None
    output_tokens: int | None
    said_cost: int
    step_ms: int
    steps: tuple[Step, ...]
    pairs: Mapping[tuple[str | None, str | None], int]
    agreed_of: Mapping[str, tuple[int, int]]  # the tool first called -> (agreed, judged)
    bins: tuple[Bin, ...]
    latencies: Mapping[int, int]
    shapes: Mapping[Shape, int]


def tool_choice(project_id: int, epoch: int, wanted: ChoiceFilter) -> ToolChoice:
    position = Project.objects.values_list("position", flat=True).get(pk=project_id)
    return _counted(project_id, epoch, wanted, position)


@lru_cache(maxsize=32)
def _counted(project_id: int, epoch: int, wanted: ChoiceFilter, position: int) -> ToolChoice:
    where = _where(project_id, epoch, wanted)
    total = _one(
        "SELECT COUNT(*), SUM(CASE WHEN reading = 'pick' THEN 1 ELSE 0 END), "
        "SUM(CASE WHEN reading = 'pick-error' THEN 1 ELSE 0 END), "
        "SUM(CASE WHEN reply_from <> '' THEN 1 ELSE 0 END), COUNT(agrees), SUM(CASE WHEN agrees THEN 1 ELSE 0 END), "
        "SUM(CASE WHEN missed THEN 1 ELSE 0 END), SUM(CASE WHEN shape <> '' THEN 1 ELSE 0 END), "
        "SUM(input_tokens), SUM(output_tokens), COUNT(input_tokens), MIN(at_ms), MAX(at_ms)",
        where,
    )
    first_ms, last_ms = total[11] or 0, total[12] or 0
    step_ms = _step(last_ms - first_ms)
    judged = "COUNT(agrees), SUM(CASE WHEN agrees THEN 1 ELSE 0 END)"
    pairs: dict[tuple[str | None, str | None], int] = {}
    agreed_of: dict[str, tuple[int, int]] = {}
    of_pair = _all(f"SELECT chosen, called, COUNT(*), {judged}", where, "reading = 'pick'", "chosen, called")
    for chosen, called, count, n, hits in of_pair:
        pairs[chosen, called] = count
        if called is not None and n:
            before = agreed_of.get(called, (0, 0))
            agreed_of[called] = (before[0] + hits, before[1] + n)
    tenth = _whole("confidence * 10")
    return ToolChoice(
        calls=total[0],
        readings=total[1] or 0,
        failed=total[2] or 0,
        replied=total[3] or 0,
        judged=total[4],
        agreed=total[5] or 0,
        missed=total[6] or 0,
        replayable=total[7] or 0,
        input_tokens=total[8],
        output_tokens=total[9],
        said_cost=total[10],
        step_ms=step_ms,
        steps=_steps(
            _all(
                f"SELECT at_ms / {step_ms}, narrowed, skipped, COUNT(*), {judged}",
                where,
                "",
                f"at_ms / {step_ms}, narrowed, skipped",
            ),
            step_ms,
        ),
        pairs=pairs,
        agreed_of=agreed_of,
        bins=_bins(
            _all(
                f"SELECT {tenth}, {judged}, SUM(confidence)",
                where,
                "confidence IS NOT NULL AND agrees IS NOT NULL",
                tenth,
            )
        ),
        latencies=dict(_all("SELECT latency_ms, COUNT(*)", where, "latency_ms IS NOT NULL", "latency_ms")),
        shapes=shapes(project_id, epoch, wanted),
    )


def shapes(project_id: int, epoch: int, wanted: ChoiceFilter) -> dict[Shape, int]:
    """How many calls have each shape: all that a what-if is made of."""
    found = _all("SELECT shape, COUNT(*)", _where(project_id, epoch, wanted), "shape <> ''", "shape")
    return {read_shape(word): count for word, count in found}


def affected_answers(
    project_id: int, epoch: int, wanted: ChoiceFilter, tops: list[int], floor: int
) -> dict[int, int]:
    """For each N: how many answers hold a call that would have missed. `floor`: in twentieths.

    Of calls in a row that lack something the first misses: an answer misses where one of its calls lacks something.
    """
    sql, values = _where(project_id, epoch, wanted)
    found = ask(
        "SELECT most, COUNT(*) FROM (SELECT MAX(misses_to) AS most FROM runs_choicecall "
        f"WHERE {sql} AND misses_to > 0 AND sure >= %s GROUP BY answer_id) AS a GROUP BY most",
        *values,
        floor,
    )
    return {top: sum(count for most, count in found if most >= top) for top in tops}


def lacking(
    project_id: int, epoch: int, wanted: ChoiceFilter, top: int, floor: int, before: int | None
) -> list[CallLine]:
    """The calls that would have lacked what was called, were the best `top` served; newest first, before an id."""
    older = "" if before is None else " AND c.id < %s"
    values = [top, floor] if before is None else [top, floor, before]
    return _lines(project_id, epoch, wanted, f"c.misses_to >= %s AND c.sure >= %s{older}", *values)


def missed(project_id: int, epoch: int, wanted: ChoiceFilter) -> list[CallLine]:
    """The newest calls that asked for a tool they were not shown."""
    return _lines(project_id, epoch, wanted, "c.missed")


def sure_without_call(
    project_id: int, epoch: int, wanted: ChoiceFilter, confidence: float
) -> tuple[int, list[CallLine]]:
    """Replies that called nothing though the reading was at least this sure: how many, and the newest."""
    condition = "reading = 'pick' AND reply_from <> '' AND calls = 0 AND confidence >= %s"
    sql, values = _where(project_id, epoch, wanted)
    (count,) = ask(f"SELECT COUNT(*) FROM runs_choicecall WHERE {sql} AND {condition}", *values, confidence)[
        0
    ]
    named = condition.replace("reading", "c.reading").replace("reply_from", "c.reply_from")
    return count, _lines(project_id, epoch, wanted, named.replace("calls =", "c.calls ="), confidence)


def agents(project_id: int, epoch: int) -> list[str]:
    """The agents whose runs have tool-choice rows, by name."""
    sql, values = _where(project_id, epoch, ChoiceFilter())
    found = ask(
        "SELECT DISTINCT agent FROM runs_run WHERE agent IS NOT NULL AND id IN "
        f"(SELECT DISTINCT run_id FROM runs_choicecall WHERE {sql})",
        *values,
    )
    return sorted(agent for (agent,) in found if agent)


@dataclass(frozen=True, slots=True)
class Described:
    """Tools with a description among those lately offered: how many, and their characters on average."""

    tools: int
    characters: float


def described(project_id: int) -> Described | None:
    """Read from the newest events; None where no model call among them kept descriptions."""
    low, high = _ids(project_id)
    newest = KeptEvent.objects.filter(id__gt=low, id__lt=high).order_by("-id").values_list("type", "body")
    lengths: dict[str, int] = {}
    for kind, body in newest[:NEWEST_EVENTS]:
        if kind == "stream.llm_start":
            for tool in decode_body(kind, body).body.tools or ():
                if tool.name and tool.description:
                    lengths.setdefault(tool.name, len(tool.description))
    return Described(len(lengths), sum(lengths.values()) / len(lengths)) if lengths else None


class _Body(msgspec.Struct, rename="camel"):
    """What a replay with another always-serve list reads of a row's body."""

    wire: list[str] | None = None
    doors: list[str] | None = None
    ranked: list[dict[str, Any]] | None = None
    chosen: str | None = None
    confidence: float | None = None
    called: list[str] | None = None


_read_body = msgspec.json.Decoder(_Body).decode


@dataclass(slots=True)
class Replayed:
    """The newest calls had other tools been served whatever the ranking. `worst`: answer's id -> the largest N at which
    one of its calls lacks something; `lacking`: newest first, the calls that do at the N asked for."""

    shapes: Counter[Shape]
    worst: dict[int, int]
    lacking: list[CallLine]

    def affected(self, tops: list[int]) -> dict[int, int]:
        """For each N: how many answers hold a call that would have missed."""
        return {top: sum(most >= top for most in self.worst.values()) for top in tops}


def replay_with(
    project_id: int,
    epoch: int,
    wanted: ChoiceFilter,
    always: frozenset[str],
    floor: int,
    top: int | None,
    before: int | None,
) -> Replayed:
    """`always` was served beside the recorded doors; `floor` in twentieths; `lacking` begins before an id."""
    sql, values = _where(project_id, epoch, wanted)
    rows = ask(
        "SELECT id, answer_id, run_id, iteration, kind, skipped, body FROM runs_choicerow WHERE id > %s AND id < %s "
        f"AND epoch = %s AND origin = 'row' AND answer_id IN (SELECT answer_id FROM runs_choicecall WHERE {sql}) "
        f"ORDER BY id DESC LIMIT {NEWEST_BODIES}",
        *_ids(project_id),
        epoch,
        *values,
    )
    readings: dict[tuple[int, int, int], tuple[str, str, _Body]] = {}
    earlier: dict[tuple[int, int, int], Shape] = {}
    told = Replayed(Counter(), {}, [])
    lacking: list[_Lacking] = []
    for row, answer, run, iteration, kind, skipped, text in reversed(rows):
        at, body = (answer, run, iteration), _read_body(text)
        if kind != "outcome":
            readings[at] = (kind, skipped, body)
            continue
        kind, skipped, reading = readings.pop(at, ("", "", body))
        if reading.wire is None or reading.doors is None:
            continue
        called = body.called or []
        shape = earlier[at] = shape_of(
            wire=reading.wire,
            doors=always | set(reading.doors),
            ranked=[score["name"] for score in reading.ranked or () if score["name"] not in always],
            confidence=reading.confidence,
            called=called,
            held=kind == "pick-error" or skipped == "wrap-up",
            before=earlier.get((answer, run, iteration - 1)),
        )
        told.shapes[shape] += 1
        if shape.sure >= floor and shape.misses_to:
            told.worst[answer] = max(told.worst.get(answer, 0), shape.misses_to)
            if top is not None and shape.misses_to >= top and (before is None or row < before):
                lacking.append((row, answer, iteration, reading.chosen, called[0], reading.confidence))
    told.lacking = _newest_lines(lacking)
    return told


_Lacking = tuple[int, int, int, str | None, str | None, float | None]


def _newest_lines(calls: list[_Lacking]) -> list[CallLine]:
    newest = calls[: -NEWEST - 1 : -1]
    slugs = Answer.objects.in_bulk({call[1] for call in newest})
    return [
        CallLine(row, slugs[answer].slug, iteration, slugs[answer].opened_ms, chosen, called, confidence)
        for row, answer, iteration, chosen, called, confidence in newest
    ]


# -- the questions' parts --

Where = tuple[str, list[Any]]


def _ids(project_id: int) -> tuple[int, int]:
    """Ids begin with the project's: between these two are its rows, so the table itself is the index."""
    return project_id << ID_BITS, (project_id + 1) << ID_BITS


def _where(project_id: int, epoch: int, wanted: ChoiceFilter, of: str = "") -> Where:
    """The condition of a filter; `of`: how the statement calls the table ("c.")."""
    parts, values = [f"{of}id > %s", f"{of}id < %s", f"{of}epoch = %s"], [*_ids(project_id), epoch]
    if wanted.since_ms is not None:
        parts.append(f"{of}at_ms >= %s")
        values.append(wanted.since_ms)
    if wanted.until_ms is not None:
        parts.append(f"{of}at_ms < %s")
        values.append(wanted.until_ms)
    more: list[Any] = []
    if wanted.tool:
        parts.append(f"({of}chosen = %s OR {of}called = %s)")
        more += [wanted.tool, wanted.tool]
    if wanted.agent:
        parts.append(f"{of}run_id IN (SELECT id FROM runs_run WHERE id > %s AND id < %s AND agent = %s)")
        more += [*_ids(project_id), wanted.agent]
    return " AND ".join(parts), [*values, *more]


def _one(select: str, where: Where) -> tuple[Any, ...]:
    return ask(f"{select} FROM runs_choicecall WHERE {where[0]}", *where[1])[0]


def _all(select: str, where: Where, also: str, by: str) -> list[tuple[Any, ...]]:
    condition = f"{where[0]} AND {also}" if also else where[0]
    return ask(f"{select} FROM runs_choicecall WHERE {condition} GROUP BY {by}", *where[1])


def _lines(
    project_id: int, epoch: int, wanted: ChoiceFilter, condition: str, *values: object
) -> list[CallLine]:
    sql, of_filter = _where(project_id, epoch, wanted, "c.")
    found = ask(
        "SELECT c.id, a.slug, c.iteration, c.at_ms, c.chosen, c.called, c.confidence FROM runs_choicecall c "
        f"JOIN runs_answer a ON a.id = c.answer_id WHERE {sql} AND {condition} ORDER BY c.id DESC LIMIT {NEWEST}",
        *of_filter,
        *values,
    )
    return [CallLine(*line) for line in found]


def _whole(expression: str) -> str:
    """Rounded down. SQLite's CAST cuts; PostgreSQL's rounds to the nearest."""
    cut = f"FLOOR({expression})" if connection.vendor == "postgresql" else expression
    return f"CAST({cut} AS integer)"


def _step(span_ms: int) -> int:
    """Hours, days or weeks: the shortest that do not make more than `MOST_STEPS`; longer spans by years of weeks."""
    for step in (HOUR_MS, DAY_MS, 7 * DAY_MS, 28 * DAY_MS):
        if span_ms <= step * (MOST_STEPS - 1):
            return step
    return 364 * DAY_MS


def _steps(rows: list[tuple[Any, ...]], step_ms: int) -> tuple[Step, ...]:
    at: dict[int, tuple[int, int, dict[str, int]]] = {}
    for bucket, narrowed, skipped, count, judged, agreed in rows:
        n, hits, came = at.get(bucket, (0, 0, {}))
        word = "narrowed" if narrowed else skipped
        came[word] = came.get(word, 0) + count
        at[bucket] = (n + judged, hits + (agreed or 0), came)
    return tuple(Step(bucket * step_ms, *values) for bucket, values in sorted(at.items()))


def _bins(rows: list[tuple[Any, ...]]) -> tuple[Bin, ...]:
    """Confidence is 0 to 1, and 1 belongs to the last tenth; what lies outside is put to the nearest."""
    merged: dict[int, tuple[int, int, float]] = {}
    for tenth, judged, agreed, total in rows:
        place = max(0, min(9, tenth))
        n, hits, before = merged.get(place, (0, 0, 0.0))
        merged[place] = (n + judged, hits + (agreed or 0), before + total)
    return tuple(Bin(t, n, hits, total / n) for t, (n, hits, total) in sorted(merged.items()))
