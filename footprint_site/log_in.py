"""The log-in's door: closed for a while to an address from which too many log-ins failed (settings: AXES_...).

These are the functions that django-axes asks. The admin's own log-in goes through the same door.
"""

from typing import Any

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from runs.rules.address import household


def address_of(request: HttpRequest) -> str | None:
    """Whom a failed log-in counts for: an IPv4 address, or an IPv6 network of one household. None: unknown."""
    return household(request.META.get("REMOTE_ADDR") or "") or None


def no_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """The name that is kept of a failed log-in: none."""
    return ""


def closed_for_a_while(request: HttpRequest, response: HttpResponse | None, credentials: Any) -> HttpResponse:
    """The log-in page with a sentence, the same for every name and password, and 429."""
    wait = settings.AXES_COOLOFF_TIME
    page = {
        "form": AuthenticationForm(request),
        "next": request.POST.get("next", ""),
        "closed_minutes": int(wait.total_seconds() // 60),
    }
    closed = render(request, "log_in.html", page, status=429)
    closed["Retry-After"] = str(int(wait.total_seconds()))
    return closed
