"""A deleted run leaves nothing of it in the database, stays deleted, and a rebuild tells the same."""

import pytest
from django.core.management import call_command

from runs.models import Answer, KeptEvent, Note, Run, Stream, Text, Tombstone
from runs.store.forget import delete_run
from tests import recordings
from tests.record.story import whole_record
from tests.wire import Wire, make_project, make_token, run, send_all

pytestmark = pytest.mark.django_db(transaction=True)

# A pause resumed in a run of its own, within a composition too; a conversation; runs side by side; a retry.
RECORDINGS = [
    "ask_human_pause_resume.jsonl",
    "crash_then_resume_on_error.jsonl",
    "followup_conversation.jsonl",
    "interleaved_two_runs.jsonl",
    "pause_in_the_middle_of_a_batch.jsonl",
    "pause_inside_sequence.jsonl",
    "two_turns_without_followup.jsonl",
]


def told(project):
    """The record without the registered names: those stay after a deletion, since readers must never see one."""
    return {table: rows for table, rows in whole_record(project).items() if "seen" not in table.lower()}


@pytest.mark.parametrize("which", [0, -1])
def test_a_deleted_run_is_gone_stays_gone_and_a_rebuild_tells_the_same(which):
    """The first, or the last, run of each recording, with its chain; the other runs are left as they were."""
    project = make_project()
    token = make_token(project)

    async def story() -> None:
        for name in RECORDINGS:
            async with Wire(token, stream=name) as wire:
                await send_all(wire, recordings.lines(name))

    run(story)
    acked = dict(Stream.objects.values_list("name", "acked"))
    for name in RECORDINGS:
        row = list(Run.objects.filter(stream__name=name).order_by("first_position"))[which]
        deleted = delete_run(project.pk, row.slug)
        assert row.slug in deleted.runs
        assert not Run.objects.filter(slug__in=deleted.runs).exists()
        assert not Answer.objects.filter(slug__in=deleted.answers).exists()
        gone = Tombstone.objects.filter(stream=row.stream).values_list("run", flat=True)
        assert len(gone) == len(deleted.runs)
        assert not KeptEvent.objects.filter(stream=row.stream, run__in=gone).exists()
        assert {note.kind for note in Note.objects.filter(stream=row.stream, run__in=gone)} == {"deleted"}
    positions = {key & ((1 << 40) - 1) for key in KeptEvent.objects.values_list("id", flat=True)}
    assert set(Text.objects.values_list("position", flat=True)) <= positions
    assert dict(Stream.objects.values_list("name", "acked")) == acked

    before = told(project)
    call_command("rebuild", project=project.key)
    assert told(project) == before


def test_what_still_comes_of_a_deleted_run_is_settled_and_dropped():
    project = make_project()
    token = make_token(project)
    lines = recordings.lines("sequential_tools.jsonl")

    async def first_half() -> None:
        async with Wire(token, stream="one") as wire:
            await wire.hello()
            await wire.events(1, lines[:40])
            await wire.until_acked(40)

    async def the_rest() -> None:
        async with Wire(token, stream="one") as wire:
            await send_all(wire, lines)

    run(first_half)
    delete_run(project.pk, Run.objects.get().slug)
    run(the_rest)
    assert not Run.objects.exists()
    assert not Text.objects.exists()
    assert Stream.objects.get().acked == len(lines)
    assert Stream.objects.get().dropped > 0
