"""An answer's own arithmetic: opening, marking, ending, and whether it is complete."""

from __future__ import annotations

from runs.record.entries import Entry, EventEntry
from runs.record.ids import slug
from runs.rules.vocabulary import Ending, IncompleteReason
from runs.store.book import NOT_ENDED, Book, join_words
from runs.store.rows import AnswerRow, RunRow

Reason = IncompleteReason


def covers(path: str, other: str) -> bool:
    """Whether `other` lies at or under `path` (subflow paths; the top is the empty string)."""
    return not path or other == path or other.startswith(path + "/")


def turn_at(book: Book, run: RunRow, path: str) -> AnswerRow | None:
    """The open turn of the run with the longest path that covers `path`."""
    found: AnswerRow | None = None
    for answer in book.answers_of_run.get(run.id, ()):
        if answer.ending not in NOT_ENDED or not covers(answer.path, path):
            continue
        if found is None or (len(answer.path), answer.number) > (len(found.path), found.number):
            found = answer
    return found


def last_at(book: Book, run: RunRow, path: str) -> AnswerRow | None:
    """The latest turn, open or not, on a path that covers `path`."""
    fitting = [a for a in book.answers_of_run.get(run.id, ()) if covers(a.path, path)]
    return max(fitting, key=lambda a: (len(a.path), a.opened_position), default=None)


def open_answer(book: Book, run: RunRow, entry: EventEntry, path: str, *reasons: Reason) -> AnswerRow:
    """A new turn of the run on `path`: the next ordinal there."""
    ordinal = sum(1 for a in book.answers_of_run.get(run.id, ()) if a.run_id == run.id and a.path == path)
    run.answers += 1
    project = book.project
    answer = AnswerRow(
        id=book.new_id(),
        project_id=project.id,
        epoch=project.epoch,
        run_id=run.id,
        stream_id=run.stream_id,
        path=path,
        ordinal=ordinal,
        number=run.answers,
        slug=slug(project.secret, "answer", book.stream_names[run.stream_id], run.name, path, ordinal),
        session=run.session,
        current_run=run.id,
        late=run.finished,
        opened_position=entry.position,
        version=entry.position,
        opened_ms=entry.received_ms,
        last_ms=entry.received_ms,
        opened_clock_ms=entry.kept.meta.wall_clock_ms,
    )
    for reason in reasons:
        answer.sticky = join_words(answer.sticky, reason)
    if run.gap:
        answer.sticky = join_words(answer.sticky, Reason.GAP)
    if book.memory(run.stream_id).unnumbered:
        answer.sticky = join_words(answer.sticky, Reason.UNNUMBERED)
    book.file_answer(answer, (run.id,))
    book.add_leg(answer, run)
    settle(answer)
    return answer


def mark(book: Book, answer: AnswerRow, reason: Reason, entry: Entry) -> None:
    """The answer is incomplete for this reason from now on; a reason that was reached stays."""
    answer.sticky = join_words(answer.sticky, reason)
    settle(answer)
    book.changed(answer, entry.position, entry.received_ms)


def end_answer(book: Book, answer: AnswerRow, ending: Ending, entry: Entry) -> None:
    """End an open turn. Where several endings fit, the stronger word stands."""
    if answer.ending not in NOT_ENDED:
        return
    if answer.refused_evidence:
        ending = Ending.strongest(Ending.REFUSED, ending)
    answer.ending = ending.value
    answer.ended_ms = entry.received_ms
    if isinstance(entry, EventEntry):
        answer.ended_clock_ms = entry.kept.meta.wall_clock_ms
    if answer.open + answer.unlisted_open:
        answer.sticky = join_words(answer.sticky, Reason.STILL_OPEN)
    if ending is Ending.UNKNOWN:
        answer.sticky = join_words(answer.sticky, Reason.NOT_OBSERVED)
    count_undispatched(answer)
    settle(answer)
    book.changed(answer, entry.position, entry.received_ms)


def count_undispatched(answer: AnswerRow) -> None:
    """Calls that replies asked for and that never began. Read at every ending and resume; the last value stands."""
    waiting = answer.requested - answer.started
    answer.undispatched = max(0, waiting)
    if waiting < 0:
        answer.sticky = join_words(answer.sticky, Reason.UNMATCHED)


def settle(answer: AnswerRow) -> None:
    """The reasons as they stand now, and so whether the answer is complete. Only an ended answer can be."""
    reasons = answer.sticky
    if answer.ending in NOT_ENDED:
        reasons = join_words(reasons, Reason.NOT_ENDED)
        if answer.open + answer.unlisted_open:
            reasons = join_words(reasons, Reason.STILL_OPEN)
    if answer.undispatched:
        reasons = join_words(reasons, Reason.UNDISPATCHED)
    answer.reasons = reasons
    answer.complete = not reasons


def unmatched(book: Book, run: RunRow | None, entry: EventEntry) -> None:
    """An event that fits nothing: its open turn is told so; without a run every open turn there; with none, the stream.

    A turn that has ended stays as it was: what comes afterwards is late, and its run counts it.
    """
    if run is not None:
        answer = turn_at(book, run, entry.path)
        if answer is not None:
            mark(book, answer, Reason.UNMATCHED, entry)
            return
    else:
        told = [a for a in book.not_ended(entry.stream_id) if covers(a.path, entry.path)]
        for answer in told:
            mark(book, answer, Reason.UNMATCHED, entry)
        if told:
            return
    memory = book.memory(entry.stream_id)
    memory.unmatched += 1
    book.touch(memory)
