"""The short way through the allow-list: one typed decode of an event in which every field is as it should be.

Nearly every event is. `StrictReader` makes, from the table itself, a twin of each shape whose fields have the types
that the kinds end in (a `Name` is a string, `Millis` a number in its range), so that msgspec reads, checks and skips
in one pass: 2 us an event instead of 15. What does not fit in any way, however small, is left to the patient reader in
kept_reading.py, which decides alone what odd values mean. Where both answer, they agree: test_kept_strict.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Annotated, Any, Final, Literal, get_args

import msgspec
from msgspec import Meta

from runs.rules.kept_event import EventMeta, Kept, SaidText
from runs.rules.kept_kinds import (
    CLOCK_FROM_MS,
    CLOCK_TO_MS,
    LONGEST_MS,
    MAX_INT,
    MAX_ITEMS,
    MAX_LABEL_CHARS,
    MAX_STAGE_CHARS,
    MAX_TEXT_BYTES,
    WORDS,
    Fields,
    kinds_in,
)
from runs.rules.tool_ledger import MAX_TOOL_CALL_TEXT

# Limits count UTF-16 units or bytes; so many characters are within them whatever the characters are.
_NAME: Final[Any] = Annotated[str, Meta(max_length=MAX_TOOL_CALL_TEXT // 2)]
_STAGE: Final[Any] = Annotated[str, Meta(max_length=MAX_STAGE_CHARS // 2)]
_TEXT: Final[Any] = Annotated[str, Meta(max_length=MAX_TEXT_BYTES // 4)]
_LABEL: Final[Any] = Annotated[str, Meta(max_length=MAX_LABEL_CHARS)]
_NOTHING: Final[Any] = Annotated[str, Meta(min_length=1, max_length=0)]
_FEW: Final[Any] = Meta(max_length=MAX_ITEMS)
_COUNT: Final[Any] = Annotated[int, Meta(ge=0, le=MAX_INT)]
_MILLIS: Final[Any] = Annotated[int, Meta(ge=0, le=LONGEST_MS)] | Annotated[float, Meta(ge=0, le=LONGEST_MS)]
_CLOCK: Final[Any] = (
    Annotated[int, Meta(ge=CLOCK_FROM_MS, lt=CLOCK_TO_MS)]
    | Annotated[float, Meta(ge=CLOCK_FROM_MS, lt=CLOCK_TO_MS)]
)
_FINITE: Final[Any] = Annotated[float, Meta(ge=-1e300, le=1e300)]

_TYPES: Final[dict[str, Any]] = {
    "opt_name": _NAME | None,
    "name": _NAME,
    "names": Annotated[list[_NAME], _FEW],
    "opt_names": Annotated[list[_NAME], _FEW] | None,
    "flag": bool,
    "presence": bool,
    "count": _COUNT,
    "opt_count": _COUNT | None,
    "millis": _MILLIS | None,
    "clock": _CLOCK | None,
    "label": _LABEL | None,
    "text": _TEXT | None,
    # Rare, and read by rules of their own: absent here, or the patient reader's.
    "length": None,
    "declared": None,
    "roster": _NOTHING,  # even null is a declaration: of a roster that is none
}
_ROUNDED: Final[dict[str, Callable[[float], int]]] = {"millis": round, "clock": int}

# Senders write an event's type first.
_BEGINS: Final = re.compile(r'\{ ?"type": ?"([a-z_.]+)"')
_BEGINS_BYTES: Final = re.compile(_BEGINS.pattern.encode())
_Read = Callable[[bytes | str], Kept]


class StrictReader:
    """`keep(line)` gives the event as kept, or None when the patient reader has to look at it."""

    def __init__(
        self,
        events: Mapping[str, type[Fields]],
        texts: Mapping[tuple[str, str], str],
        full_type: Callable[[str], str],
    ) -> None:
        self._twins: dict[type[Fields], type[Fields]] = {}
        self._reads: dict[str | bytes, _Read] = {}
        for name, shape in events.items():
            full = full_type(name)
            self._reads[full] = self._reads[full.encode()] = self._event(name, full, shape, texts)

    def keep(self, line: bytes | str) -> Kept | None:
        """Read a line that begins with its type. None: look again, patiently."""
        # A lone surrogate, NaN or a raw control character fails in the decoder; U+0000 is legal JSON and is shown.
        begun: re.Match[str] | re.Match[bytes] | None
        if isinstance(line, str):
            begun, nul = _BEGINS.match(line), "\\u0000" in line
        else:
            begun, nul = _BEGINS_BYTES.match(line), b"\\u0000" in line
        read = None if begun is None or nul else self._reads.get(begun[1])
        if read is None:
            return None
        try:
            return read(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return None

    def _event(
        self, name: str, full: str, shape: type[Fields], texts: Mapping[tuple[str, str], str]
    ) -> _Read:
        fields: list[Any] = [
            ("type", Literal[full]),
            ("payload", self._twin(shape, outermost=True)),
            ("meta", self._twin(EventMeta, outermost=True)),
        ]
        decode = msgspec.json.Decoder(msgspec.defstruct("StrictEvent", fields)).decode
        of_meta, of_body = _rounding(EventMeta), _rounding(shape)
        words = [(field, WORDS[field]) for field, (kind, _) in kinds_in(shape).items() if kind == "word"]
        said = [(field, kind) for (event_type, field), kind in texts.items() if event_type == name]

        def read(line: bytes | str) -> Kept:
            event: Any = decode(line)
            meta, body = event.meta, event.payload
            for field, rounded in of_meta:
                if getattr(meta, field).__class__ is float:
                    setattr(meta, field, rounded(getattr(meta, field)))
            for field, rounded in of_body:
                if getattr(body, field).__class__ is float:
                    setattr(body, field, rounded(getattr(body, field)))
            for field, known in words:
                word = getattr(body, field)
                if word is not None and word not in known:
                    setattr(body, field, "other")
            kept = Kept(name, meta, body)
            for field, kind in said:
                text = getattr(body, field)
                if text is not None:
                    setattr(body, field, None)
                    kept.texts = (*kept.texts, SaidText(kind, text))
            return kept

        return read

    def _twin(self, shape: type[Fields], *, outermost: bool = False) -> type[Fields]:
        """A subclass of `shape` with the same fields in the same order, each of the type its kind ends in."""
        if shape not in self._twins:
            declared = {field.name: field for field in msgspec.structs.fields(shape)}
            twin: Any = msgspec.defstruct(
                shape.__name__,
                [
                    (
                        name,
                        self._type(name, kind, nested, declared[name].type, outermost),
                        _default(declared[name]),
                    )
                    for name, (kind, nested) in kinds_in(shape).items()
                ],
                bases=(shape,),
                module=shape.__module__,
                rename="camel",
                omit_defaults=True,
            )
            self._twins[shape] = twin
        return self._twins[shape]

    def _type(self, name: str, kind: str, nested: type[Fields] | None, declared: Any, outermost: bool) -> Any:
        optional = NoneType in get_args(declared)
        if nested is not None:
            if any(kind in ("text", *_ROUNDED) for kind, _ in kinds_in(nested).values()):
                raise TypeError(
                    f"{nested.__name__} lies inside another shape: its times and texts would stay"
                )
            twin: Any = self._twin(nested)
            twin = Annotated[list[twin], _FEW] if kind == "structs" else twin
            return twin | None if optional else twin
        if kind == "word":
            return str | None if outermost else Literal[tuple(sorted(WORDS[name]))] | None
        if kind == "number":
            return _FINITE | None if optional else _FINITE
        if name == "runtime_stage_id":
            return _STAGE | None
        return declared if kind == "plain" else _TYPES[kind]


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.field(default_factory=field.default_factory)
    return msgspec.field() if field.default is msgspec.NODEFAULT else field.default


def _rounding(shape: type[Fields]) -> list[tuple[str, Callable[[float], int]]]:
    """The fields whose numbers may come with a fraction, and how it goes."""
    return [(name, _ROUNDED[kind]) for name, (kind, _) in kinds_in(shape).items() if kind in _ROUNDED]
