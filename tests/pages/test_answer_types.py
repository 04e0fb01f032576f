"""A reader's page has no place for what a reader must not see: its types, looked through to the last field."""

from __future__ import annotations

import dataclasses
import typing

from runs.pages.answer import shapes
from runs.rules.vocabulary import Told

# Every field of a reader's page that can hold free text, and what it holds. A new one needs a line here, and with it
# the question: can a registered name, an id, a path, an agent or a model ever stand in it?
TEXTS = {
    "ReaderAnswer.slug": "opaque: a keyed hash",
    "ReaderAnswer.title": "Answer, 3 May 14:02: never the question",
    "ReaderAnswer.run_href": "an address made of key and slug",
    "ReaderAnswer.turn": "turn 2, part 2",
    "ReaderAnswer.asked_by": "the person the agent serves",
    "ReaderAnswer.stands": "rules/words.py",
    "ReaderAnswer.took": "a duration",
    "ReaderAnswer.pauses": "a count in words",
    "ReaderAnswer.verdict": "rules/words.py",
    "ReaderAnswer.helpers": "rules/words.py, a count",
    "ReaderAnswer.roster_problems": "rules/words.py, counts",
    "ReaderAnswer.words_href": "an address made of key and slug",
    "Said.text": "as it was said: the only place for a model's own words",
    "Said.note": "rules/words.py",
    "Grounds.sentence": "rules/words.py, with display names",
    "Grounds.href": "#why-ok, ?only=ok",
    "NotKnown.sentence": "rules/words.py",
    "NotKnown.href": "#why-open",
    "Effect.sentence": "rules/words.py, counts",
    "SeenCall.words": "a display name, or: a call without a name",
    "SeenCall.word": "the outcome's word",
    "SeenCall.took": "a duration",
    "SeenBlock.often": "3 times",
    "CallList.all_href": "an address made of key and slug",
    "CallList.more_href": "an address made of key, slug and a number",
    "LiveTag.page": "answer",
    "LiveTag.project": "the project's key",
    "LiveTag.slug": "opaque: a keyed hash",
}
HARMLESS = (int, bool, type(None))


def fields_of(shape: type) -> typing.Iterator[tuple[str, type]]:
    """Every field reachable from `shape`, as (Type.field, the plain type it can hold)."""
    hints = typing.get_type_hints(shape)
    for field in dataclasses.fields(shape):
        for held in plain(hints[field.name]):
            yield f"{shape.__name__}.{field.name}", held
            if dataclasses.is_dataclass(held):
                yield from fields_of(typing.cast(type, held))


def plain(hint: typing.Any) -> typing.Iterator[type]:
    parts = [part for part in typing.get_args(hint) if part is not Ellipsis]
    if not parts:
        yield hint
    for part in parts:
        yield from plain(part)


def test_a_readers_page_holds_only_what_is_listed() -> None:
    texts = set()
    for name, held in fields_of(shapes.ReaderAnswer):
        if dataclasses.is_dataclass(held) or held in HARMLESS or issubclass(held, Told):
            continue
        assert held is str, f"{name} may hold {held}: a reader's page holds texts, numbers and closed words"
        texts.add(name)
    assert texts == set(TEXTS), "say in TEXTS what the new field holds, and why no name can stand in it"


def test_a_readers_page_does_not_know_the_operators_types() -> None:
    operators = {
        "OperatorAnswer",
        "OperatorCall",
        "OperatorBlock",
        "ModelCall",
        "SpawnSeen",
        "EventLine",
        "Fact",
    }
    reached = {held.__name__ for _, held in fields_of(shapes.ReaderAnswer) if dataclasses.is_dataclass(held)}
    assert not reached & (operators | {"Timeline", "Bar"})


def test_an_operators_page_holds_the_readers() -> None:
    assert ("OperatorAnswer.seen", shapes.ReaderAnswer) in set(fields_of(shapes.OperatorAnswer))
