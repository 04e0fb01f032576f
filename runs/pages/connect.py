"""Connect: ingest tokens, what to paste into an agent, and the wait for its first event. For admins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import path, reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from runs.pages.access import Audience, Visit, project_page
from runs.pages.addresses import run_href
from runs.pages.frame import show, show_part
from runs.rules import words as say
from runs.store import reads_connect, tokens

PLACEHOLDER = "fp_…"


@dataclass(frozen=True, slots=True)
class TokenLine:
    hint: str
    label: str
    made_ms: int
    made_by: str | None
    used_ms: int | None
    revoked_ms: int | None
    revoke_href: str


@dataclass(frozen=True, slots=True)
class Snippet:
    anchor: str
    language: str
    about: str
    code: str


@dataclass(frozen=True, slots=True)
class Wait:
    """The wait for the first event after a token was made. `run_href` ends it."""

    sentence: str
    refused: str | None
    run_href: str | None
    poll_href: str
    again_href: str  # the same without JavaScript


@dataclass(frozen=True, slots=True)
class ConnectPage:
    tokens: tuple[TokenLine, ...]
    secret: str | None  # shown this once
    label: str
    problem: str | None
    snippets: tuple[Snippet, ...]
    wait: Wait | None
    settings_href: str
    max_label: int = tokens.MAX_LABEL_CHARS


@require_http_methods(["GET", "POST"])
@project_page(at_least=Audience.ADMIN)
def connect(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The page; a POST makes a token and answers with its secret at once: it is kept nowhere to redirect to."""
    if request.method != "POST":
        return _show(request, visit, wait=_wait_asked_for(request, visit))
    label = request.POST.get("label", "")
    problem = tokens.label_problem(label)
    if problem is not None:
        return _show(request, visit, label=label, problem=problem, status=422)
    position = reads_connect.position_now(visit.project.id)
    row, secret = tokens.create_token(visit.project.id, label, visit.user)
    return _show(request, visit, secret=secret, wait=_wait(visit, position, row.id))


@require_GET
@project_page(at_least=Audience.ADMIN)
def waiting(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The waiting line alone, asked for every second until a run has come."""
    wait = _wait_asked_for(request, visit)
    if wait is None:
        raise Http404
    return show_part(request, visit, "connect/parts/wait.html", wait)


@require_POST
@project_page(at_least=Audience.ADMIN)
def revoke(request: HttpRequest, visit: Visit, token_id: int) -> HttpResponse:
    if not tokens.revoke_token(visit.project.id, token_id):
        raise Http404
    messages.success(request, "The token is revoked. Whoever sends with it is disconnected.")
    return redirect("connect", key=visit.project.key)


def _show(
    request: HttpRequest,
    visit: Visit,
    *,
    secret: str | None = None,
    wait: Wait | None = None,
    label: str = "",
    problem: str | None = None,
    status: int = 200,
) -> HttpResponse:
    key = visit.project.key
    page = ConnectPage(
        tokens=tuple(_line(key, row) for row in tokens.list_tokens(visit.project.id)),
        secret=secret,
        label=label,
        problem=problem,
        snippets=_snippets(request, secret or PLACEHOLDER),
        wait=wait,
        settings_href=reverse("project-settings", args=[key]),
    )
    return show(request, visit, "connect/connect.html", page, here="connect", status=status)


def _line(key: str, row: tokens.TokenRow) -> TokenLine:
    return TokenLine(
        hint=row.hint,
        label=row.label,
        made_ms=_ms(row.created_at) or 0,
        made_by=row.created_by,
        used_ms=_ms(row.last_used_at),
        revoked_ms=_ms(row.revoked_at),
        revoke_href=reverse("token-revoke", args=[key, row.id]),
    )


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


def _wait_asked_for(request: HttpRequest, visit: Visit) -> Wait | None:
    after, token = request.GET.get("after", ""), request.GET.get("token", "")
    if not all(part.isascii() and part.isdigit() and len(part) < 19 for part in (after, token)):
        return None
    return _wait(visit, int(after), int(token))


def _wait(visit: Visit, position: int, token_id: int) -> Wait:
    project = visit.project
    arrived = reads_connect.arrived_since(project.id, project.epoch, position, token_id)
    if arrived.run is not None:
        sentence = "The first run is here."
    elif arrived.events:
        sentence = "Events have come, and none of them belongs to a run yet."
    elif arrived.connected:
        sentence = "A sender has connected with the new token. Waiting for its first event."
    else:
        sentence = say.waiting_for_first_event()
    asked = "?" + urlencode({"after": position, "token": token_id})
    return Wait(
        sentence=sentence,
        refused=arrived.refused,
        run_href=None if arrived.run is None else run_href(project.key, arrived.run),
        poll_href=reverse("connect-waiting", args=[project.key]) + asked,
        again_href=reverse("connect", args=[project.key]) + asked,
    )


def _snippets(request: HttpRequest, token: str) -> tuple[Snippet, ...]:
    site = request.build_absolute_uri("/").rstrip("/")
    socket = site.replace("http", "ws", 1) + "/ws/ingest/"
    sender = site + static("js/footprint-sender.js")
    return (
        Snippet(
            "python",
            "Python",
            "The sender comes with “pip install footprint” and needs no Django. It resumes after a lost network.",
            "from runs.sender import Sender\n\n"
            f'with Sender("{site}", token="{token}") as sender:\n'
            '    run = sender.run(agent_id="support")\n'
            '    run.turn_start("Where is my order?")\n'
            '    run.llm_start(tools=["lookup_order"])\n'
            "    run.llm_end(tool_calls=1)\n"
            '    with run.tool("lookup_order"):\n'
            "        ...  # call the tool\n"
            '    run.turn_end("It left the warehouse this morning.")\n'
            "    run.finish()\n",
        ),
        Snippet(
            "javascript",
            "JavaScript",
            f"For browsers and Node. Its files lie at {sender} and beside it; they need nothing else.",
            'import { attach } from "./footprint-sender.js";\n\n'
            "attach(agent, {\n"
            f'  url: "{socket}",\n'
            f'  token: "{token}",\n'
            "});\n",
        ),
        Snippet(
            "bare",
            "One line",
            "Bare mode for a first try. Nothing is resumed, and what is lost on the way cannot be noticed.",
            'import WebSocket from "ws";\n\n'
            f'const socket = new WebSocket("{socket}", {{\n'
            f'  headers: {{ Authorization: "Bearer {token}" }},\n'
            "});\n"
            'socket.on("open", () => {\n'
            '  agent.on("*", (e) => socket.send(JSON.stringify(e)));\n'
            "});\n",
        ),
    )


urlpatterns = [
    path("", connect, name="connect"),
    path("waiting/", waiting, name="connect-waiting"),
    path("tokens/<int:token_id>/revoke/", revoke, name="token-revoke"),
]
