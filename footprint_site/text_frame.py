"""A text as a websocket frame (RFC 6455, 5.2), made once for all connections it is sent to."""

import struct
from functools import lru_cache

WHOLE_TEXT = 0x81  # the last fragment of a message, which is text; frames of a server are not masked


@lru_cache(maxsize=32)
def text_frame(text: str) -> bytes:
    """Hundreds of pages are sent the same text one after the other; what is remembered is the last few."""
    payload = text.encode()
    size = len(payload)
    if size < 126:
        return bytes((WHOLE_TEXT, size)) + payload
    if size < 2**16:
        return struct.pack("!BBH", WHOLE_TEXT, 126, size) + payload
    return struct.pack("!BBQ", WHOLE_TEXT, 127, size) + payload
