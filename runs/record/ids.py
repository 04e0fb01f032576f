"""Opaque ids for URLs: a keyed hash under the project's secret, the same after a rebuild."""

from __future__ import annotations

import base64
import hashlib


def slug(secret: str, *parts: str | int) -> str:
    """26 characters of a-z2-7. Parts are length-prefixed, so that no two lists of parts read the same."""
    keyed = hashlib.blake2b(key=bytes.fromhex(secret), digest_size=16)
    for part in parts:
        data = str(part).encode("utf-8", "replace")
        keyed.update(len(data).to_bytes(4, "big") + data)
    return base64.b32encode(keyed.digest()).decode().rstrip("=").lower()
