"""Behind a proxy of ours: who the visitor is, and that live pages work by https."""

import asyncio
from typing import Any

import pytest

from footprint_site.behind_proxy import BehindProxy


def seen(headers: list[tuple[bytes, bytes]], *, trusted: bool = True, kind: str = "http") -> dict[str, Any]:
    """The scope as the application sees it."""
    found: list[dict[str, Any]] = []

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        found.append(scope)

    scope = {"type": kind, "client": ["10.0.0.1", 5], "headers": headers}
    asyncio.run(BehindProxy(application, trusted=trusted)(scope, None, None))
    return found[0]


@pytest.mark.parametrize(
    ("headers", "address"),
    [
        ([(b"x-forwarded-for", b"192.0.2.7")], "192.0.2.7"),
        ([(b"x-forwarded-for", b"1.1.1.1, 192.0.2.7")], "192.0.2.7"),  # the first is what the visitor claims
        ([(b"x-forwarded-for", b"1.1.1.1"), (b"x-forwarded-for", b"192.0.2.7")], "192.0.2.7"),
        ([(b"X-Forwarded-For", b"")], "10.0.0.1"),
        ([], "10.0.0.1"),
    ],
)
def test_the_address_is_the_one_our_proxy_saw(headers: list[tuple[bytes, bytes]], address: str) -> None:
    assert seen(headers)["client"][0] == address


def test_https_is_known_to_pages_and_to_websockets() -> None:
    said = [(b"x-forwarded-proto", b"https")]
    assert seen(said)["scheme"] == "https"
    assert seen(said, kind="websocket")["scheme"] == "wss"
    assert "scheme" not in seen([(b"x-forwarded-proto", b"http")])


def test_without_a_proxy_anybody_may_send_these_headers_and_nobody_listens() -> None:
    said = [(b"x-forwarded-proto", b"https"), (b"x-forwarded-for", b"192.0.2.7")]
    assert seen(said, trusted=False) == {"type": "http", "client": ["10.0.0.1", 5], "headers": said}
