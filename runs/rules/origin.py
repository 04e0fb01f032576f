"""Origins: which web pages may send from a browser. Compared exactly: scheme, host and port."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

_DEFAULT_PORT = {"http": 80, "https": 443}


def read_origin(text: str) -> str | None:
    """`text` as a browser writes an Origin header (lower case, the scheme's own port left out), or None."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        return None
    extra = parts.path.strip("/") or parts.query or parts.fragment or parts.username or parts.password
    if parts.scheme not in _DEFAULT_PORT or not parts.hostname or extra or not parts.hostname.isascii():
        return None
    if not text.isprintable() or any(c.isspace() for c in text.strip()) or "*" in parts.hostname:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if port in (None, _DEFAULT_PORT[parts.scheme]) else f":{port}")


def origin_is_allowed(
    origin: bytes | str, host: bytes | str, secure: bool, others: Collection[str] = ()
) -> bool:
    """Whether a browser's `origin` is this host's own (`host`: the Host header; `secure`: reached by https) or one of
    `others`. `null`, a sub-domain, another port and http for https are other origins; anything unreadable is none.
    """
    asked = read_origin(_text(origin))
    if asked is None:
        return False
    own = read_origin(f"{'https' if secure else 'http'}://{_text(host)}")
    return asked == own or asked in {read_origin(other) for other in others}


def _text(value: bytes | str) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def read_origins(text: str) -> frozenset[str]:
    """The origins of a list with one a line; lines that are none are left out."""
    return frozenset(origin for line in text.splitlines() if (origin := read_origin(line)) is not None)


def origins_problem(text: str) -> str | None:
    """Why `text` is not a list of origins, one a line, or None. Names the line, never what stands in it."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and read_origin(line) is None:
            return (
                f"Line {number} of the allowed origins must be a scheme, a host and perhaps a port, "
                "such as https://app.example:8443, and it is something else."
            )
    return None
