"""One plain line: text a person can read exactly as it is written."""

from __future__ import annotations

import unicodedata

_REFUSED = {
    "Cc": "a control character",
    "Zl": "a line separator",
    "Zp": "a paragraph separator",
    "Cf": "an invisible format character",
}
# Format characters since Unicode 15. Python 3.11 knows Unicode 14 and the sender's side more, and both must agree.
_NEWER_FORMAT = frozenset(map(chr, range(0x13439, 0x13440)))


def plain_line_problem(label: str, text: str) -> str | None:
    """Why `text` is not one plain line, or None when it is.

    Refused is any character of Unicode category Cc, Zl, Zp or Cf: a bidirectional override would reverse what the
    person reads. The sentence names `label` and the first such code point as ``U+XXXX``; the text is never printed.
    """
    if (
        text.isprintable()
    ):  # No printable character is refused, and this answers nearly every text at C speed.
        return None
    for character in text:
        what = _what_is_refused(character)
        if what is not None:
            return f"{label} must be one plain line, and it holds U+{ord(character):04X}, {what}."
    return None


def _what_is_refused(character: str) -> str | None:
    category = "Cf" if character in _NEWER_FORMAT else unicodedata.category(character)
    return _REFUSED.get(category)
