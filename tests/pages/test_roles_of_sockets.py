"""Every websocket of the site against one table: who is let in with what, and what everybody else is told.

The addresses of pages have their table in test_roles.py. A new websocket without rows here fails the last test.
"""

import json
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator

from footprint_site.asgi import application, sockets
from runs.models import Stream
from runs.store.tokens import create_token, revoke_token
from tests.pages.test_roles import ROLES, WHO
from tests.people import People
from tests.sample import Drawn
from tests.wire import PATIENCE_S, hello, run

pytestmark = pytest.mark.django_db(transaction=True)

Outcome = tuple[str, int | str]

NORTHWIND: Outcome = ("welcome", "Northwind")  # let in, and what is sent goes to the project of this name
ELSEWHERE: Outcome = ("welcome", "Elsewhere")
NO_TOKEN: Outcome = ("closing", 4401)  # the frame that announces the close, and its code
SHOWN: Outcome = ("show", "Northwind")
NOTHING: Outcome = ("gone", 4404)  # what a page gets that shows nothing
REFUSED: Outcome = ("", 403)  # closed before it was accepted, which is HTTP 403

MEMBERS = (NOTHING, NOTHING, SHOWN, SHOWN, SHOWN)

# What each role gets, in the order of ROLES, by what it brings to the ingest door or asks of the live one. Everybody
# brings the session's cookie: with a token it changes nothing, without one it opens no door.
TABLE: dict[str, dict[str, tuple[Outcome, ...]]] = {
    "ws/ingest/": {
        "no token": (NO_TOKEN,) * 5,
        "the project's token": (NORTHWIND,) * 5,
        "the project's token in the hello frame": (NORTHWIND,) * 5,
        "another project's token": (ELSEWHERE,) * 5,
        "a revoked token": (NO_TOKEN,) * 5,
        "a token of nothing": (NO_TOKEN,) * 5,
    },
    "ws/live/": {
        "the list of runs": MEMBERS,
        "a run": MEMBERS,
        "an answer": MEMBERS,
        "a run of nothing": (NOTHING,) * 5,
        "an answer of nothing": (NOTHING,) * 5,
        "the list of no project": (NOTHING,) * 5,
    },
    "": {"any other address": (REFUSED,) * 5},
}
CASES = [(address, case) for address, rows in TABLE.items() for case in rows]


def secret_of(case: str, people: People) -> str:
    """The token that is brought; empty for none."""
    if case == "no token":
        return ""
    if case == "a token of nothing":
        return "fp_" + "0" * 43
    project = people.elsewhere if case == "another project's token" else people.northwind
    row, secret = create_token(project.pk, "tests", None)
    if case == "a revoked token":
        assert revoke_token(project.pk, row.id)
    return secret


def page_of(case: str, people: People, sample: Drawn) -> dict[str, str]:
    """The page that is asked for."""
    key, named = people.northwind.key, sample["named"]
    return {
        "the list of runs": {"page": "runs", "project": key},
        "a run": {"page": "run", "project": key, "slug": named.run.slug},
        "an answer": {"page": "answer", "project": key, "slug": named.answer.slug},
        "a run of nothing": {"page": "run", "project": key, "slug": "a-slug-of-nothing"},
        "an answer of nothing": {"page": "answer", "project": key, "slug": "a-slug-of-nothing"},
        "the list of no project": {"page": "runs", "project": "0" * 12},
    }[case]


def heard(address: str, case: str, role: str, people: People, sample: Drawn) -> list[dict[str, Any]]:
    """Every message of the server, from the handshake until it lets in or closes."""
    headers = people.headers(WHO[role])
    if address == "ws/ingest/":
        secret = secret_of(case, people)
        in_hello = case.endswith("hello frame")
        word = hello(stream=role, **({"token": secret} if in_hello else {}))
        if secret and not in_hello:
            headers.append((b"authorization", f"Bearer {secret}".encode()))
    else:
        word = json.dumps({"type": "watch", **page_of(case, people, sample)}) if address else ""

    async def story() -> list[dict[str, Any]]:
        socket = WebsocketCommunicator(application, f"/{address or 'ws/elsewhere/'}", headers)
        await socket.send_input({"type": "websocket.connect"})
        messages = [await socket.receive_output(PATIENCE_S)]
        if messages[0]["type"] == "websocket.accept":
            await socket.send_to(word)
            while messages[-1]["type"] != "websocket.close" and frame_of(messages) not in ("welcome", "show"):
                messages.append(await socket.receive_output(PATIENCE_S))
        await socket.disconnect(timeout=PATIENCE_S)
        return messages

    return run(story)


def frame_of(messages: list[dict[str, Any]]) -> str:
    """The type of the latest frame; empty where there was none."""
    texts = [message["text"] for message in messages if "text" in message]
    return str(json.loads(texts[-1])["type"]) if texts else ""


def outcome(messages: list[dict[str, Any]], role: str) -> Outcome:
    frame, last = frame_of(messages), messages[-1]
    if frame == "welcome":
        return frame, Stream.objects.get(name=role).project.name
    if frame == "show":
        return frame, "Northwind"  # there is nothing to see of Elsewhere
    return frame, last["code"] if len(messages) > 1 else 403


@pytest.mark.parametrize(("address", "case"), CASES)
def test_who_is_let_in(address: str, case: str, people: People, sample: Drawn) -> None:
    told = {role: outcome(heard(address, case, role, people, sample), role) for role in ROLES}
    assert told == dict(zip(ROLES, TABLE[address][case], strict=True))


@pytest.mark.parametrize("role", ["anonymous", "stranger"])
@pytest.mark.parametrize("case", ["the list of runs", "a run", "an answer"])
def test_who_may_not_see_a_page_is_told_what_nothing_tells(
    case: str, role: str, people: People, sample: Drawn
) -> None:
    theirs = heard("ws/live/", case, role, people, sample)
    assert theirs == heard("ws/live/", "an answer of nothing", "reader", people, sample)
    assert theirs == heard("ws/live/", "the list of no project", "reader", people, sample)


def test_every_websocket_has_its_rows() -> None:
    own = {str(pattern.pattern) for pattern in sockets}
    assert own - set(TABLE) == set(), "say in TABLE what each role gets of these websockets"
    assert set(TABLE) - own == set(), "these websockets are gone"
