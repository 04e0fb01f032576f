"""A run: its first word, what every event tells of it, and its end."""

from __future__ import annotations

import msgspec

from runs.record.answers import end_answer, settle
from runs.record.entries import EventEntry
from runs.record.ids import slug
from runs.record.resumes import settle_pauses
from runs.rules.kept import Composition, RunConfigured
from runs.rules.vocabulary import Ending
from runs.store.book import Book
from runs.store.rows import RunRow

RUN_OPENERS = frozenset(["agent.run_configured", "composition.enter"])
MODEL_EVENTS = frozenset(["stream.llm_start", "stream.llm_end"])
MOST_AGENTS_REMEMBERED = 50


def run_of(book: Book, entry: EventEntry) -> RunRow:
    """The event's run, new when this is its first word; what every event tells of it is noted."""
    meta = entry.kept.meta
    run = book.runs.get((entry.stream_id, entry.run_name))
    if run is None:
        run = _new_run(book, entry)
    run.session = run.session or meta.session_id or ""
    if run.session and not run.session_slug:
        run.session_slug = slug(book.project.secret, "session", run.session)
    run.principal = run.principal or meta.principal or ""
    run.tenant = run.tenant or meta.tenant or ""
    run.trace = run.trace or meta.trace_id or ""
    if meta.composition_path and not run.composition and not meta.composition_path[0].startswith("Agent:"):
        run.composition = meta.composition_path[0][:300]
    if meta.wall_clock_ms is not None:
        run.opened_clock_ms = meta.wall_clock_ms if run.opened_clock_ms is None else run.opened_clock_ms
        run.last_clock_ms = meta.wall_clock_ms
    run.last_ms = entry.received_ms
    run.version = max(run.version, entry.position)
    if run.finished:
        run.late += 1
    for answer in book.answers_of_run.get(run.id, ()):
        if answer.ending == Ending.SILENT and answer.current_run == run.id:
            answer.ending = Ending.RUNNING.value
            settle(answer)
            book.changed(answer, entry.position, entry.received_ms)
    return run


def _new_run(book: Book, entry: EventEntry) -> RunRow:
    project, kind = book.project, entry.kept.type
    memory = book.memory(entry.stream_id)
    run = RunRow(
        id=book.new_id(),
        project_id=project.id,
        epoch=project.epoch,
        stream_id=entry.stream_id,
        name=entry.run_name,
        slug=slug(project.secret, "run", book.stream_names[entry.stream_id], entry.run_name),
        first_position=entry.position,
        version=entry.position,
        opened_ms=entry.received_ms,
        last_ms=entry.received_ms,
        # After a hole, a run that does not begin with its own first word may have lost it there.
        gap=memory.gap and kind not in RUN_OPENERS,
    )
    if kind not in MODEL_EVENTS:
        run.begun = "agent"
    agent = ""
    if isinstance(entry.kept.body, RunConfigured):
        agent = entry.kept.body.agent_id or ""
    last_runs: dict[str, int] = msgspec.json.decode(memory.last_runs)
    fitting = last_runs.values() if not agent else [last_runs[a] for a in (agent, "") if a in last_runs]
    run.previous = max(fitting, default=None)
    last_runs.pop(agent, None)
    last_runs[agent] = run.id
    while len(last_runs) > MOST_AGENTS_REMEMBERED:
        last_runs.pop(next(iter(last_runs)))
    memory.last_runs = msgspec.json.encode(last_runs).decode()
    book.touch(memory)
    book.file_run(run)
    return run


def configured(book: Book, run: RunRow, entry: EventEntry) -> None:
    told: RunConfigured = entry.kept.body
    run.agent = run.agent or told.agent_id or ""
    if told.llm is not None:
        run.provider = run.provider or told.llm.provider or ""
        run.model = run.model or told.llm.model or ""


def finish_run(book: Book, run: RunRow, entry: EventEntry) -> None:
    """The run is over. A turn without a last word ends as `unknown`; one that waits for a person still waits."""
    for answer in list(book.answers_of_run.get(run.id, ())):
        if answer.current_run == run.id and answer.ending != Ending.ASKED:
            end_answer(book, answer, Ending.UNKNOWN, entry)
    if not run.finished:
        run.finished = True
        run.ended_ms = entry.received_ms


def disposition(book: Book, run: RunRow, entry: EventEntry) -> None:
    settle_pauses(book, run, entry)
    finish_run(book, run, entry)


def composition_enter(book: Book, run: RunRow, entry: EventEntry) -> None:
    told: Composition = entry.kept.body
    if not entry.path and not run.composition:
        run.composition = f"{told.kind or 'other'}:{told.name or told.id or ''}"[:300]


def composition_exit(book: Book, run: RunRow, entry: EventEntry) -> None:
    if not entry.path:  # the outermost: nested ones lie under a step
        finish_run(book, run, entry)
