"""Frames as senders make them, and what could become of each on a bad day.

A mutation knows the structure: it changes a field of the first line, a value anywhere in an event, or the text itself.
"""

import json
from collections.abc import Callable
from itertools import islice
from random import Random
from typing import Any

from tests import busy_agent

Odd = Callable[[Random], Any]
ODD: tuple[Odd, ...] = (
    lambda _: None,
    lambda _: True,
    lambda _: -1,
    lambda _: 0,
    lambda _: 1.5,
    lambda _: 2**53,
    lambda _: 10**30,
    lambda _: float("nan"),
    lambda _: float("-inf"),
    lambda _: "",
    lambda _: "\x00",
    lambda _: "\ud83d",
    lambda _: "\u2028\u202e\ufeff",
    lambda _: "%s {0} {{x}} ' \" \\",
    lambda dice: "x" * dice.choice((64, 65, 256, 257, 5_000)),
    lambda _: [],
    lambda _: {},
    lambda _: [[[[[]]]]],
    lambda dice: deep(dice.choice((20, 400))),
    lambda _: {"": {"__proto__": None}},
    lambda dice: list(range(dice.choice((1, 100)))),
    lambda dice: dice.getrandbits(60),
    lambda dice: str(dice.getrandbits(60)),
)
CHARACTERS = (
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    "\r",
    "\x00",
    "\\",
    "\ufeff",
    "\u2028",
    "é",
    "🙂",
    "0",
    "-",
    " ",
)
KINDS = ("hello", "events", "lost", "bye", "ack", "welcome", "closing", "", "EVENTS", "refused")
LINES = tuple(islice(busy_agent.lines(), 1_500))


def deep(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if depth % 3 else [value]
    return value


class Conversation:
    """What one connection says, frame after frame: mostly what the protocol wants, then mutated."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.bare = dice.random() < 0.2
        self.seq = 1
        self.frames = [self._frame(place) for place in range(dice.randint(1, 12))]

    def _frame(self, place: int) -> str | bytes:
        dice = self.dice
        text = self._bare() if self.bare else self._numbered(place)
        while dice.random() < 0.55 and not (place == 0 and dice.random() < 0.7):
            text = dice.choice((mutate_head, mutate_lines, mutate_lines, mutate_text))(text, dice)
        if dice.random() < 0.01:
            return text.encode("utf-8", "replace")
        return text

    def _bare(self) -> str:
        lines = self._lines()
        return lines[0] if self.dice.random() < 0.5 else "[" + ",".join(lines) + "]"

    def _numbered(self, place: int) -> str:
        dice = self.dice
        if place == 0 or dice.random() < 0.02:
            hello = {"type": "hello", "protocol": 1, "stream": f"s{dice.randint(1, 400)}", "instance": "i"}
            return json.dumps({**hello, "sender": "fuzz/1", "last": dice.choice((0, 0, 1, 10_000))})
        kind = dice.random()
        if kind < 0.75:
            lines = self._lines()
            first = max(1, self.seq + dice.choice((0, 0, 0, 0, 0, -1, 1, 3, -20, 400)))
            self.seq = first + len(lines)
            return "\n".join([json.dumps({"type": "events", "first": first}), *lines])
        if kind < 0.95:
            first, self.seq = self.seq, self.seq + dice.randint(1, 5)
            return json.dumps({"type": "lost", "from": first, "to": self.seq - 1})
        return json.dumps({"type": "bye", "last": self.seq - 1 + dice.choice((0, 0, 5))})

    def _lines(self) -> list[str]:
        start = self.dice.randrange(len(LINES))
        return list(LINES[start : start + self.dice.randint(1, 8)])


def mutate_head(text: str, dice: Random) -> str:
    """Another value, no value, one twice or one more in the first line."""
    head, newline, rest = text.partition("\n")
    try:
        value = json.loads(head)
    except (ValueError, RecursionError):
        return mutate_text(text, dice)
    if not isinstance(value, dict) or not value:
        return mutate_text(text, dice)
    _change(value, dice)
    return _dump(value) + newline + rest


def mutate_lines(text: str, dice: Random) -> str:
    """Something else somewhere in one event, or an event more, less or elsewhere."""
    head, newline, rest = text.partition("\n")
    lines = rest.split("\n") if newline else [head]
    place = dice.randrange(len(lines))
    choice = dice.random()
    if choice < 0.1:
        lines.insert(place, dice.choice(lines))
    elif choice < 0.15:
        del lines[place]
    elif choice < 0.2:
        dice.shuffle(lines)
    else:
        try:
            value = json.loads(lines[place])
        except (ValueError, RecursionError):
            lines[place] = mutate_text(lines[place], dice)
        else:
            _change_deep(value, dice)
            lines[place] = _dump(value)
    return "\n".join([head, *lines]) if newline else "\n".join(lines)


def mutate_text(text: str, dice: Random) -> str:
    """Characters more, less, twice or others; two frames in one; cut short."""
    place = dice.randint(0, len(text))
    length = dice.choice((1, 1, 2, 10, 100))
    match dice.randrange(6):
        case 0:
            return text[:place] + dice.choice(CHARACTERS) + text[place:]
        case 1:
            return text[:place] + text[place + length :]
        case 2:
            return text[:place] + text[place : place + length] * 2 + text[place + length :]
        case 3:
            return text[:place]
        case 4:
            return text + dice.choice(("", "\n", "\n\n", "\r\n")) + text[:place]
        case _:
            return (
                text[:place]
                + chr(dice.choice((0, 7, 0x7F, 0x80, 0xD800, 0xDFFF, 0x1F600)))
                + text[place + 1 :]
            )


def _change_deep(value: Any, dice: Random) -> None:
    while True:
        inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        inner = [one for one in inner if isinstance(one, dict | list) and one]
        if not inner or dice.random() < 0.3:
            break
        value = dice.choice(inner)
    _change(value, dice)


def _change(value: Any, dice: Random) -> None:
    odd = dice.choice(ODD)(dice)
    if isinstance(value, list) and value:
        value[dice.randrange(len(value))] = odd
    elif isinstance(value, dict) and value:
        name = dice.choice(list(value))
        match dice.randrange(5):
            case 0:
                del value[name]
            case 1:
                value[dice.choice(("type", "meta", "payload", "runId", "first", "x" * 300, "\ud800"))] = odd
            case 2 if name == "type":
                value[name] = dice.choice(KINDS)
            case _:
                value[name] = odd


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
