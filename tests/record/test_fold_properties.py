"""What holds of any record, whatever came in whatever order."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from runs.intake.settle import write_entries
from runs.models import Stream
from runs.record.entries import Entry, NoteEntry
from runs.rules.kept import Kept, keep, keep_object
from runs.rules.tool_ledger import (
    AnswerToolCall,
    ToolCallLedger,
    ToolEndBracket,
    append_tool_call,
    ledger_at_check,
    start_tool_call,
    tool_outcome_of,
)
from runs.rules.vocabulary import Ending, Outcome, ToolStatus
from runs.store import incoming
from runs.store.rows import AnswerRow
from tests import recordings
from tests.record.memory import SECRET, MemoryRecord, rows_in_database
from tests.record.random_events import arrivals, told
from tests.wire import make_project

SHORT = [name for name in recordings.names() if len(recordings.lines(name)) <= 110]


@st.composite
def shuffled_recordings(draw: st.DrawFn) -> MemoryRecord:
    """The kept events of one or two recordings in any order, with some lost and some twice."""
    lines = [
        line
        for name in draw(st.lists(st.sampled_from(SHORT), min_size=1, max_size=2))
        for line in recordings.lines(name)
    ]
    events = [event for event in map(keep, lines) if isinstance(event, Kept)]
    random = draw(st.randoms(use_true_random=False))
    reach = draw(st.sampled_from([0, 2, 4, 12]))
    if not reach:
        random.shuffle(events)
    else:  # near to the real order
        places = [place + random.uniform(0, reach) for place in range(len(events))]
        events = [event for _, event in sorted(zip(places, events, strict=True), key=lambda pair: pair[0])]
    return MemoryRecord().send(events[: draw(st.integers(0, len(events)))])


records = st.one_of(
    arrivals().map(told), arrivals().map(lambda b: told(b, ledger_limit=2)), shuffled_recordings()
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(records, st.sampled_from(["silent", "unnumbered", "refused", "gap"]))
def test_any_sequence_is_taken_and_its_counters_are_the_rows_recounted(
    record: MemoryRecord, note: str
) -> None:
    check(record)
    for stream in record.streams.values():
        for run in ("run-1", "run-2", ""):
            record.fold(
                [NoteEntry(record.project.next_position(), stream.id, note, 1, 1, run, "", "", 900, 0)]
            )
    check(record)


def check(record: MemoryRecord) -> None:
    for answer in record.answers:
        _check_calls(record, answer)
        _check_completeness(answer)
    _check_runs(record)


def _check_calls(record: MemoryRecord, answer: AnswerRow) -> None:
    calls = record.book.calls_of_answer.get(answer.id, [])
    counted = Counter(call.outcome for call in calls)
    assert answer.calls == len(calls) + answer.unlisted
    assert (
        answer.worked + answer.failed + answer.never_ran + answer.open + answer.unlisted_open == answer.calls
    )
    assert answer.open == counted["open"] == sum(call.state != "closed" for call in calls)
    assert [call.number for call in calls] == list(range(1, len(calls) + 1))
    assert len(calls) <= record.book.project.ledger_limit
    for listed, total in (
        (counted["ok"], answer.worked),
        (counted["error"], answer.failed),
        (counted["not-run"], answer.never_ran),
    ):
        assert listed <= total <= listed + answer.unlisted
    for call in calls:
        assert (call.closed_position is not None) == (call.state == "closed")
        assert call.tool is not None or "unmatched" in answer.reasons
    amounts = [value for name in answer.columns() if isinstance(value := getattr(answer, name), int)]
    assert min(amounts) >= 0
    assert answer.undispatched <= answer.requested


def _check_completeness(answer: AnswerRow) -> None:
    reasons = set(answer.reasons.split(",")) - {""}
    ending = Ending(answer.ending)
    assert answer.complete == (not reasons)
    assert ("not-ended" in reasons) == (not ending.ended)
    assert set(answer.sticky.split(",")) - {""} <= reasons
    if answer.open or answer.unlisted_open:
        assert "still-open" in reasons
    if answer.undispatched:
        assert "undispatched" in reasons
    if ending is Ending.UNKNOWN:
        assert "not-observed" in reasons
    if answer.unlisted:
        assert reasons & {"too-many", "oversized"}


def _check_runs(record: MemoryRecord) -> None:
    book = record.book
    for run in book.runs.values():
        own = [answer for answer in record.answers if answer.run_id == run.id]
        assert sorted(answer.number for answer in own) == list(range(1, run.answers + 1))
        for path in {answer.path for answer in own}:
            ordinals = [answer.ordinal for answer in own if answer.path == path]
            assert ordinals == list(range(len(ordinals)))
        assert run.calls == sum(answer.calls for answer in own)
        assert run.failed_calls == sum(answer.failed for answer in own)
        assert run.incomplete == sum(not a.complete and Ending(a.ending).ended for a in own)
        assert run.missed == sum(answer.missed for answer in own)
        assert run.violations == sum(answer.violations for answer in own)
        if run.finished:
            # A leg of an answer that has gone on in another run does not hold this one open.
            open_here = [
                a for a in book.answers_of_run.get(run.id, ()) if a.current_run == run.id and not a.late
            ]
            # A turn that asked a person goes on when its run says more, even after the run's own last word.
            goes_on = run.late > 0
            assert all(Ending(a.ending) is not Ending.RUNNING or a.legs > 1 or goes_on for a in open_here)
    slugs = [answer.slug for answer in record.answers]
    assert len(slugs) == len(set(slugs))


# -- batches --------------------------------------------------------------------------------------


def save_in_batches(entries: list[Entry], streams: list[str], cuts: list[int], ledger_limit: int) -> Any:
    """The entries folded in books that are opened from the database and saved again at every cut."""
    project = make_project(secret=SECRET, ledger_limit=ledger_limit)
    ids = {
        number: Stream.objects.create(project=project, name=name, instance="i", opened_ms=0, last_ms=0).pk
        for number, name in enumerate(streams, 1)
    }
    placed = [replace(entry, stream_id=ids[entry.stream_id]) for entry in entries]
    edges = [0, *sorted(cut % (len(placed) + 1) for cut in cuts), len(placed)]
    for start, end in pairwise(edges):
        with transaction.atomic():
            locked = incoming.lock_project(project.pk)
            assert locked is not None
            write_entries(locked, placed[start:end], [], [], [])
            incoming.save_project(locked)
    return project


@pytest.mark.django_db
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(records, st.lists(st.integers(0, 200), max_size=12))
def test_batch_boundaries_do_not_matter(record: MemoryRecord, cuts: list[int]) -> None:
    with transaction.atomic():
        project = save_in_batches(
            record.entries, list(record.streams), cuts, record.book.project.ledger_limit
        )
        assert rows_in_database(project) == record.rows()
        transaction.set_rollback(True)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "name", ["checkin_approved.jsonl", "parallel_agents_merge.jsonl", "crash_then_resume_on_error.jsonl"]
)
def test_a_recording_in_batches_of_one_gives_the_same_rows(name: str) -> None:
    record = MemoryRecord().send(map(keep, recordings.lines(name)))
    project = save_in_batches(record.entries, list(record.streams), list(range(200)), 10_000)
    assert rows_in_database(project) == record.rows()


@pytest.mark.django_db
def test_an_event_without_a_run_finds_the_turn_it_is_about_in_a_later_batch() -> None:
    """`resilience.*` comes after the run and names none; the text it tells of was replaced."""
    record = MemoryRecord().send(map(keep, recordings.lines("output_schema_fallback_no_meta.jsonl")))
    assert record.answers[0].replaced
    project = save_in_batches(record.entries, list(record.streams), list(range(30)), 10_000)
    assert rows_in_database(project) == record.rows()


@pytest.mark.django_db
def test_a_pause_that_comes_after_its_turns_end_pauses_nothing() -> None:
    events = [
        event
        for event in map(keep, recordings.lines("ask_human_pause_resume.jsonl"))
        if isinstance(event, Kept)
    ]
    place = next(i for i, event in enumerate(events) if event.type == "pause.request")
    events[place : place + 2] = [events[place + 1], events[place]]
    record = MemoryRecord().send(events)
    check(record)
    assert [call.state for call in record.book.calls_of_answer[record.answers[0].id]] == ["open"]
    project = save_in_batches(record.entries, list(record.streams), [place + 1], 10_000)
    assert rows_in_database(project) == record.rows()


# -- the ledger rule ------------------------------------------------------------------------------

starts = st.tuples(
    st.just("start"),
    st.sampled_from(["a", "b", "c", "x" * 257]),
    st.sampled_from(["look", "send", "y" * 257]),
)
ends = st.tuples(
    st.just("end"),
    st.sampled_from(["a", "b", "c", "x" * 257]),
    st.fixed_dictionaries(
        {},
        optional={
            "error": st.just(True),
            "notExecuted": st.just(True),
            "status": st.sampled_from(["success", "pending", "denied"]),
        },
    ),
)


def event(kind: str, payload: dict[str, Any], run: str = "run-1", path: str = "") -> Kept:
    stage = f"{path}/stage#1" if path else "stage#1"
    read = keep_object(
        {
            "type": f"agentfootprint.{kind}",
            "payload": payload,
            "meta": {"runId": run, "runtimeStageId": stage},
        }
    )
    assert isinstance(read, Kept), read
    return read


@settings(max_examples=200, deadline=None)
@given(st.lists(starts | ends, max_size=14), st.integers(0, 2), st.integers(1, 6))
def test_the_rows_agree_with_the_ledger_rule(brackets: list[Any], more: int, limit: int) -> None:
    """Within one turn: the calls as the rule lists them, and incomplete whenever the rule says so."""
    asked = sum(bracket[0] == "start" for bracket in brackets) + more
    events = [event("agent.turn_start", {}), event("stream.llm_start", {"iteration": 1})]
    events.append(event("stream.llm_end", {"iteration": 1, "toolCallCount": asked}))
    ledger: ToolCallLedger | None = ToolCallLedger()
    waiting: list[tuple[str, str]] = []  # (call id, tool) of the calls begun, as an agent would remember them
    strays = 0
    for kind, call_id, told_of in brackets:
        if kind == "start":
            events.append(event("stream.tool_start", {"toolName": told_of, "toolCallId": call_id}))
            waiting.append((call_id, told_of))
            ledger = start_tool_call(ledger, call_id, limit)
            continue
        events.append(event("stream.tool_end", {"toolCallId": call_id, **told_of}))
        begun = next((w for w in waiting if w[0] == call_id), None)
        if begun is None:
            strays += 1  # a row without a name: outside the rule's view
            continue
        waiting.remove(begun)
        status = ToolStatus.known(told_of.get("status"))
        bracket = ToolEndBracket("error" in told_of, "notExecuted" in told_of, False, status)
        call = AnswerToolCall(begun[1], call_id, tool_outcome_of(bracket, ran=True))
        ledger = append_tool_call(ledger, call, limit, settled=status is not ToolStatus.PENDING)
    events.append(event("agent.turn_end", {"iterationCount": 1}))
    record = MemoryRecord(ledger_limit=limit).send(events)
    check(record)
    (answer,) = record.answers
    view = ledger_at_check(ledger, more)
    if view.incomplete or strays:
        assert not answer.complete
    else:
        assert answer.complete
    beyond = {"too-many", "oversized", "unmatched"}
    if not beyond & set(answer.reasons.split(",")):
        rows = record.book.calls_of_answer.get(answer.id, [])
        listed = sorted(
            (row for row in rows if row.state == "closed"), key=lambda row: row.closed_position or 0
        )
        ours = [AnswerToolCall(row.tool or "", row.call_id, Outcome(row.outcome)) for row in listed]
        assert tuple(ours) == view.calls
