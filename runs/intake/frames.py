"""Text of the ingest socket -> typed frames, or a refusal in a sentence. Nothing here knows a connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import Raw

PROTOCOL: Final = 1
MAX_STREAM_CHARS: Final = 64
MAX_SEQ: Final = 2**53 - 1  # what every sender's language counts exactly

# Close codes and what they mean; the `closing` frame carries both before every close.
BAD_PROTOCOL: Final = 4400
NO_TOKEN: Final = 4401
BAD_ORIGIN: Final = 4403
TAKEN_OVER: Final = 4409
STREAM_TAKEN: Final = 4410
TOO_MUCH: Final = 4429
TOO_LARGE: Final = 1009
NOT_TEXT: Final = 1003
TROUBLE: Final = 1011
RESTARTING: Final = 1012
NORMAL: Final = 1000
LEFT: Final = 1006  # never sent: the other side went without a word


@dataclass(frozen=True, slots=True)
class Hello:
    stream: str
    instance: str
    sender: str
    last: int
    token: str | None


@dataclass(frozen=True, slots=True)
class Events:
    """Numbered events: line i is seq `first + i`."""

    first: int
    lines: list[str]


@dataclass(frozen=True, slots=True)
class Lost:
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Bye:
    last: int


@dataclass(frozen=True, slots=True)
class BareEvents:
    """Events without numbers: one a line of a one-line sender."""

    lines: list[bytes | str]


@dataclass(frozen=True, slots=True)
class Problem:
    """The frame cannot be taken; `code` is the close code."""

    code: int
    reason: str


Frame = Hello | Events | Lost | Bye | BareEvents | Problem


class _Head(msgspec.Struct):
    type: Any = None
    protocol: Any = None
    stream: Any = None
    instance: Any = None
    sender: Any = None
    last: Any = None
    token: Any = None
    first: Any = None
    # `from` is a word of Python
    from_: Any = msgspec.field(default=None, name="from")
    to: Any = None


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode


def read_frame(text: str, *, bare: bool | None) -> Frame:
    """One text frame. `bare`: None before the first frame (both are possible), then which mode it is."""
    if bare:
        return read_bare(text)
    head_text, newline, rest = text.partition("\n")
    try:
        head = _decode_head(head_text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _not_ours(text, bare)
    if head.type == "events":
        if not newline:
            return Problem(BAD_PROTOCOL, "events: expected one event a line after the first line, got none")
        if not _is_seq(head.first):
            return Problem(BAD_PROTOCOL, f"events.first: expected a number from 1, got {_kind(head.first)}")
        # Only "\n" parts events: JSON may hold U+2028. A last line feed ends the last line, it begins none.
        return Events(head.first, rest.removesuffix("\n").split("\n"))
    if head.type == "hello":
        return _read_hello(head)
    if head.type == "lost":
        if not (_is_seq(head.from_) and _is_seq(head.to) and head.from_ <= head.to):
            return Problem(BAD_PROTOCOL, "lost: expected from and to as numbers from 1, from not above to")
        return Lost(head.from_, head.to)
    if head.type == "bye":
        if not (_is_seq(head.last) or head.last == 0):
            return Problem(BAD_PROTOCOL, f"bye.last: expected a number from 0, got {_kind(head.last)}")
        return Bye(head.last)
    return _not_ours(text, bare)


def _not_ours(text: str, bare: bool | None) -> Frame:
    if bare is None:
        first = text.lstrip()[:1]
        if first in ("{", "["):
            return read_bare(text)
        return Problem(BAD_PROTOCOL, "expected a hello frame (or an event as JSON), got text that is neither")
    return Problem(BAD_PROTOCOL, "expected a frame of type hello, events, lost or bye, got something else")


def read_bare(text: str) -> BareEvents:
    """A frame of a one-line sender: an event object, or a list of them. What is neither is one unreadable event."""
    if text.lstrip()[:1] == "[":
        try:
            return BareEvents([bytes(item) for item in _decode_list(text)])
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return BareEvents([text])
    return BareEvents([text])


def _read_hello(head: _Head) -> Hello | Problem:
    if head.protocol != PROTOCOL:
        spoken = head.protocol if isinstance(head.protocol, int) else _kind(head.protocol)
        return Problem(
            BAD_PROTOCOL,
            f"hello.protocol: this server speaks protocol {PROTOCOL}, the sender {spoken}; update the older one",
        )
    for field in ("stream", "instance"):
        value = getattr(head, field)
        if not _is_id(value):
            return Problem(
                BAD_PROTOCOL,
                f"hello.{field}: expected 1 to {MAX_STREAM_CHARS} printable ASCII characters, got {_kind(value)}",
            )
    if not (_is_seq(head.last) or head.last == 0):
        return Problem(BAD_PROTOCOL, f"hello.last: expected a number from 0, got {_kind(head.last)}")
    if head.token is not None and not isinstance(head.token, str):
        return Problem(NO_TOKEN, f"hello.token: expected a string, got {_kind(head.token)}")
    sender = head.sender if isinstance(head.sender, str) else ""
    printable = "".join(c for c in sender if c.isprintable() and not 0xD800 <= ord(c) <= 0xDFFF)
    return Hello(head.stream, head.instance, printable[:120], head.last, head.token)


def _is_seq(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_SEQ


def _is_id(value: object) -> bool:
    return (
        isinstance(value, str) and 0 < len(value) <= MAX_STREAM_CHARS and all(" " <= c <= "~" for c in value)
    )


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number out of range" if isinstance(value, int) else "a number"
    if isinstance(value, str):
        return "a string that does not fit"
    return "a list" if isinstance(value, list) else "an object"


# -- our own frames -----------------------------------------------------------------------------


def encode(frame: dict[str, Any]) -> str:
    return msgspec.json.encode(frame).decode()


def welcome(stream: str, acked: int, keep_text: bool, limits: dict[str, int]) -> str:
    return encode(
        {
            "type": "welcome",
            "protocol": PROTOCOL,
            "stream": stream,
            "acked": acked,
            "keepText": keep_text,
            "limits": limits,
        }
    )


def ack(through: int) -> str:
    return f'{{"type":"ack","through":{through}}}'


def refused(seq: int, code: str, reason: str) -> str:
    return encode({"type": "refused", "seq": seq, "code": code, "reason": reason})


def closing(code: int, reason: str) -> str:
    return encode({"type": "closing", "code": code, "reason": reason})
