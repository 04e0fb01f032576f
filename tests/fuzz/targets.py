"""What is fed bytes without any structure: the frame, the allow-list, the fold. Each raises when a promise is broken.

`test_corpus.py` replays the corpus with them; `python -m tests.fuzz.atheris_targets` looks for more.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from runs.intake.frames import BareEvents, Events, Problem, read_frame
from runs.intake.numbering import Item
from runs.rules.kept import Dropped, Kept, Refused, encode_body, keep

CORPUS = Path(__file__).parent / "corpus"
LONGEST_REASON = 300


def frame(data: bytes) -> None:
    """Text of any kind is a frame or a problem in a sentence, in every mode."""
    text = data.decode("utf-8", "surrogateescape")
    for bare in (None, False, True):
        read = read_frame(text, bare=bare)
        if isinstance(read, Problem):
            assert 0 < len(read.reason) < LONGEST_REASON
            assert 1000 <= read.code < 5000
        if isinstance(read, Events | BareEvents):
            for line in read.lines[:20]:
                keep(line)


def line(data: bytes) -> None:
    """An event is kept, dropped or refused in a sentence; what is kept can be stored, and reads the same again."""
    for one in (data, data.decode("utf-8", "surrogateescape")):
        read = keep(one)
        if isinstance(read, Refused):
            assert 0 < len(read.reason) < LONGEST_REASON
            assert read.code
            read.reason.encode()
        elif isinstance(read, Kept):
            body = encode_body(read).decode()
            assert "\x00" not in body
            assert len(read.meta.run_id or "") <= 256
        else:
            assert isinstance(read, Dropped)


def fold(data: bytes) -> None:
    """Events in any order make a record whose numbers add up; a rebuild of it is the same."""
    from tests.record.memory import MemoryRecord  # Django has to be set up

    record = MemoryRecord()
    events = [keep(one) for one in data.split(b"\n")[:60]]
    for seq, read in enumerate(events, 1):
        record.arrive([Item(seq, read)])
    for answer in record.answers:
        calls = record.book.calls_of_answer.get(answer.id, ())
        assert answer.calls == len(calls) + answer.unlisted
        assert len(calls) == answer.worked + answer.failed + answer.never_ran + answer.open
        assert not (answer.complete and answer.reasons)
    again = MemoryRecord()
    again.stream()
    again.texts = record.texts
    again.fold(record.entries)
    assert [record.tell(one) for one in record.answers] == [again.tell(one) for one in again.answers]


TARGETS: dict[str, Callable[[bytes], None]] = {"frame": frame, "line": line, "fold": fold}


def corpus(name: str) -> Iterator[Path]:
    return iter(sorted((CORPUS / name).iterdir()))
