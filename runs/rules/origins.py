"""Which web pages may open a websocket here: exact scheme, host and port. Channels' own validator ignores ports."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}


def origin_is_allowed(
    origin: bytes | str, host: bytes | str, secure: bool, others: Collection[str] = ()
) -> bool:
    """Whether `origin` is this host's own (`host`: the Host header; `secure`: reached by https) or one of `others`.

    `null`, a sub-domain, another port and http for https are other origins. Anything unreadable is none.
    """
    asked = _parts(_text(origin))
    if asked is None:
        return False
    own = _parts(f"{'https' if secure else 'http'}://{_text(host)}")
    return asked == own or any(asked == _parts(other) for other in others)


def _parts(origin: str) -> tuple[str, str, int] | None:
    try:
        split = urlsplit(origin.strip())
        port = split.port or DEFAULT_PORTS.get(split.scheme, 0)
    except ValueError:
        return None
    if split.scheme not in DEFAULT_PORTS or not split.hostname or split.path not in ("", "/") or split.query:
        return None
    return split.scheme, split.hostname, port


def _text(value: bytes | str) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
