"""Reading a whole event through a table of kept fields, writing it again, and the table as plain data."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from runs.rules.kept_event import Dropped, EventMeta, Kept, Refused, SaidText
from runs.rules.kept_kinds import MAX_STAGE_CHARS, MAX_TEXT_BYTES, Fields, camel, kinds_in
from runs.rules.kept_odd import MAX_DEPTH, TooDeep, clean, mended_line, mended_value
from runs.rules.kept_strict import StrictReader
from runs.rules.kept_values import READERS, read_declared, read_roster, read_string
from runs.rules.tool_ledger import MAX_TOOL_CALL_TEXT, utf16_length

PREFIX: Final = "agentfootprint."

_NULLISH: Final = (b"", b"null")
_NOT_JSON: Final = Refused("not-json", "event: expected one JSON object, got text that is not JSON")
_TOO_DEEP: Final = Refused("too-deep", f"event: expected at most {MAX_DEPTH} levels, got more")


class _Envelope(Struct):
    type: str
    payload: Raw = Raw(b"{}")
    meta: Raw = Raw(b"{}")


class _Stored(Struct):
    m: Raw = Raw(b"{}")
    p: Raw = Raw(b"{}")
    o: tuple[str, ...] = ()


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_meta = msgspec.json.Decoder(EventMeta).decode
_decode_stored = msgspec.json.Decoder(_Stored).decode


class Reader:
    """Reads events through `events` (type -> shape). `texts` says which field of which type is what kind of text."""

    def __init__(
        self,
        events: Mapping[str, type[Fields]],
        texts: Mapping[tuple[str, str], str],
        dropped_domains: frozenset[str],
    ) -> None:
        self._events = events
        self._texts = texts
        self._dropped_domains = dropped_domains
        self._decoders = {name: msgspec.json.Decoder(struct).decode for name, struct in events.items()}
        self._strict = StrictReader(events, texts, full_type)
        # In the order the fields stand: the roster reads `has_factory`, which is listed before it.
        self._plans = {
            struct: tuple(
                (field, kind)
                for field, (kind, _) in kinds_in(struct).items()
                if kind not in ("count", "plain")
            )
            for struct in _structs([EventMeta, *events.values()])
        }

    # -- in -----------------------------------------------------------------------------------

    def keep(self, line: bytes | str) -> Kept | Dropped | Refused:
        """Read one event (a JSON object, UTF-8) through the list. Never raises, whatever `line` holds."""
        return self._strict.keep(line) or self.keep_patiently(line)

    def keep_patiently(self, line: bytes | str) -> Kept | Dropped | Refused:
        """The same without the short way: field by field, each by its kind. What odd values mean is decided here."""
        try:
            return self._keep(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return self._keep_odd(line)

    def keep_object(self, event: object) -> Kept | Dropped | Refused:
        """Like `keep` for an event that is already a Python object (a sender's dict). Never raises."""
        try:
            line = mended_value(event)
        except TooDeep:
            return _TOO_DEEP
        except (TypeError, ValueError, OverflowError, RecursionError):
            return Refused("unreadable", f"event: expected a JSON object, got {_json_type(event)}")
        return self.keep(line)

    def _keep(self, line: bytes | str) -> Kept | Dropped | Refused:
        try:
            envelope = _decode_envelope(line)
        except msgspec.ValidationError as problem:
            return Refused("shape", _place("event", problem))
        name = envelope.type.removeprefix(PREFIX)
        decode = self._decoders.get(name)
        # `agentfootprint.footprint.x` and a bare `stream.tool_end` are nobody's types.
        ours = name.startswith("footprint.")
        if decode is None or ours == (len(name) != len(envelope.type)):
            known = len(name) != len(envelope.type) and name.partition(".")[0] in self._dropped_domains
            return Dropped(known)
        try:
            meta = EventMeta() if bytes(envelope.meta) in _NULLISH else _decode_meta(envelope.meta)
        except msgspec.ValidationError as problem:
            return Refused("shape", _place("meta", problem))
        try:
            body = decode(b"{}" if bytes(envelope.payload) in _NULLISH else envelope.payload)
        except msgspec.ValidationError as problem:
            self._finish_fields(meta, "", [], [])
            return Refused("shape", _place("payload", problem), meta.run_id)
        kept = Kept(name, meta, body)
        problem_words = self._finish(kept)
        if problem_words:
            return Refused("shape", problem_words, kept.meta.run_id)
        return kept

    def _keep_odd(self, line: bytes | str) -> Kept | Dropped | Refused:
        """The patient reader: lone surrogates, NaN, Infinity, huge numbers. Bounded in depth."""
        try:
            mended = mended_line(line)
        except (RecursionError, TooDeep):
            return _TOO_DEEP
        except (ValueError, TypeError, OverflowError, msgspec.MsgspecError):
            return _NOT_JSON
        try:
            return self._keep(mended)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return _NOT_JSON

    # -- out, and in again --------------------------------------------------------------------

    def encode(self, kept: Kept) -> bytes:
        """The kept event as a line of the wire: type, payload with its texts, meta. Inverse of `keep`."""
        payload = msgspec.to_builtins(kept.body)
        for said in kept.texts:
            for (event_type, field), kind in self._texts.items():
                if event_type == kept.type and kind == said.kind:
                    payload[camel(field)] = said.text
        line = {"type": full_type(kept.type), "payload": payload, "meta": msgspec.to_builtins(kept.meta)}
        return msgspec.json.encode(line)

    def encode_body(self, kept: Kept) -> bytes:
        """What the record stores besides the type: `{"m": meta, "p": payload, "o": oversized}`, no texts."""
        stored: dict[str, Any] = {"m": kept.meta, "p": kept.body}
        if kept.oversized:
            stored["o"] = kept.oversized
        return msgspec.json.encode(stored)

    def decode_body(self, event_type: str, body: bytes | str) -> Kept:
        """A stored event again, read through the list once more (a rule that got stricter holds for old rows too)."""
        stored = _decode_stored(body)
        kept = Kept(event_type, _decode_meta(stored.m), self._decoders[event_type](stored.p))
        self._finish(kept)
        kept.oversized = tuple(dict.fromkeys((*stored.o, *kept.oversized)))
        return kept

    def table(self) -> dict[str, Any]:
        """The allow-list as plain data: `{"meta": {field: kind}, "events": {full type: {field: kind}}}`.

        A nested object is `{"struct": {...}}`, a list of objects `{"structs": {...}}`.
        """
        return {
            "meta": _describe(EventMeta),
            "events": {full_type(name): _describe(struct) for name, struct in self._events.items()},
        }

    # -- finishing: what a raw field means, by its kind ---------------------------------------

    def _finish(self, kept: Kept) -> str | None:
        """Read every raw field by its kind, in place. Returns a problem only where a required name is unusable."""
        texts: list[SaidText] = []
        oversized: list[str] = []
        self._finish_fields(kept.meta, kept.type, texts, oversized)
        if "run_id" in oversized:
            return f"meta.runId: expected at most {MAX_TOOL_CALL_TEXT} characters, got more"
        if "runtime_stage_id" in oversized:
            return f"meta.runtimeStageId: expected at most {MAX_STAGE_CHARS} characters, got more"
        oversized.clear()  # an oversized session or tenant is "not recorded"; it says nothing about the ledger
        self._finish_fields(kept.body, kept.type, texts, oversized)
        kept.texts = tuple(texts)
        kept.oversized = tuple(oversized)
        return None

    def _finish_fields(
        self, shape: Any, event_type: str, texts: list[SaidText], oversized: list[str]
    ) -> None:
        for field, kind in self._plans[type(shape)]:
            value = getattr(shape, field)
            if value is None or value is False:
                continue
            if kind == "name":
                name = clean(value)
                if utf16_length(name) > MAX_TOOL_CALL_TEXT:
                    oversized.append(field)
                    name = ""
                if name != value:
                    setattr(shape, field, name)
            elif kind == "struct":
                self._finish_fields(value, event_type, texts, oversized)
            elif kind == "structs":
                self._finish_items(shape, field, value, event_type, texts, oversized)
            elif kind in ("names", "opt_names"):
                kept_names = [clean(name) for name in value if utf16_length(name) <= MAX_TOOL_CALL_TEXT]
                if len(kept_names) != len(value):
                    oversized.append(field)
                setattr(shape, field, kept_names)
            elif kind == "number":
                if not math.isfinite(value):
                    setattr(shape, field, None)
            elif kind == "text":
                text = read_string(value)
                setattr(shape, field, None)
                if text is not None and event_type:
                    texts.append(_said(self._texts[event_type, field], text))
            elif kind == "roster":
                read_roster(shape, value, oversized)
            elif kind == "declared":
                read_declared(shape, value)
            else:
                limit = MAX_STAGE_CHARS if field == "runtime_stage_id" else MAX_TOOL_CALL_TEXT
                setattr(shape, field, READERS[kind](value, field, limit, oversized))

    def _finish_items(
        self,
        shape: Any,
        field: str,
        items: list[Any],
        event_type: str,
        texts: list[SaidText],
        oversized: list[str],
    ) -> None:
        kept_items = []
        for item in items:
            before = len(oversized)
            self._finish_fields(item, event_type, texts, oversized)
            if len(oversized) == before:
                kept_items.append(item)
        setattr(shape, field, kept_items)


def full_type(name: str) -> str:
    """The event's type on the wire."""
    return name if name.startswith("footprint.") else PREFIX + name


def _said(kind: str, text: str) -> SaidText:
    data = text.encode("utf-8")
    if len(data) <= MAX_TEXT_BYTES:
        return SaidText(kind, text)
    return SaidText(kind, data[:MAX_TEXT_BYTES].decode("utf-8", "ignore"), cut=True)


def _json_type(value: object) -> str:
    names = {
        str: "string",
        bool: "boolean",
        int: "number",
        float: "number",
        dict: "object",
        type(None): "null",
    }
    return names.get(type(value), "list" if isinstance(value, (list, tuple)) else "something else")


_JSON_WORDS: Final = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "array": "list"}


def _place(root: str, problem: msgspec.ValidationError) -> str:
    """msgspec's sentence in our words: `payload.toolCallId: expected string, got number`."""
    text, _, where = str(problem).partition(" - at `$")
    place = root + where.rstrip("`")
    words = re.sub(r"`(\w+)( \| null)?`", lambda m: _JSON_WORDS.get(m[1], m[1]) + (m[2] or ""), text)
    return f"{place}: {words[:1].lower()}{words[1:]}"


def _structs(roots: list[type[Fields]]) -> Iterator[type[Fields]]:
    """Every shape of the table, the nested ones with them."""
    waiting, seen = list(roots), set[type[Fields]]()
    while waiting:
        struct = waiting.pop()
        if struct in seen:
            continue
        seen.add(struct)
        yield struct
        waiting.extend(nested for _, nested in kinds_in(struct).values() if nested)


def _describe(struct: type[Fields]) -> dict[str, Any]:
    return {
        camel(field): {kind: _describe(nested)} if nested else kind
        for field, (kind, nested) in kinds_in(struct).items()
    }
