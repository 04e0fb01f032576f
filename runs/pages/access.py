"""Who is asking, and for what. Every page of a project begins here.

    @project_page
    def runs(request, visit): ...

    @project_page(at_least=Audience.OPERATOR)
    def tools(request, visit): ...

A stranger, somebody whose role is too low, and a project that does not exist get the same 404. Somebody who is not
logged in is sent to the log-in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django_htmx.http import HttpResponseClientRefresh

from runs.store import people
from runs.store.people import ProjectRow


class Audience(StrEnum):
    """Whom a page speaks to, lowest first. What readers get is a type without a field for a registered name."""

    READER = people.READER
    OPERATOR = people.OPERATOR
    ADMIN = people.ADMIN

    def reaches(self, other: Audience) -> bool:
        order = list(Audience)
        return order.index(self) >= order.index(other)

    @property
    def operates(self) -> bool:
        """Operators and admins: they see what the record holds, registered names included."""
        return self.reaches(Audience.OPERATOR)

    @property
    def administers(self) -> bool:
        return self is Audience.ADMIN


@dataclass(frozen=True, slots=True)
class Visit:
    """A person in a project, allowed to be there."""

    project: ProjectRow
    audience: Audience
    user: Any  # Django's user


def visit(request: HttpRequest, key: str, at_least: Audience = Audience.READER) -> Visit:
    """The visit of a logged-in person; Http404 for strangers, too low a role and projects that do not exist."""
    return visit_of(request.user, key, at_least)


def visit_of(user: Any, key: str, at_least: Audience = Audience.READER) -> Visit:
    """The same for a socket, which has a user and no request. Read from the database anew at every call."""
    found = people.project_for(user.pk, user.is_superuser, key) if user.is_active else None
    if found is None:
        raise Http404
    project, role = found
    audience = Audience(role)
    if not audience.reaches(at_least):
        raise Http404
    return Visit(project, audience, user)


def project_page(
    view: Callable[..., HttpResponse] | None = None, *, at_least: Audience = Audience.READER
) -> Callable[..., Any]:
    """A view of one project: takes `(request, visit, ...)` where the address has `<key>`. Never cached."""

    def decorate(inner: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @never_cache
        @wraps(inner)
        def outer(request: HttpRequest, key: str, **named: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return _to_log_in(request)
            return inner(request, visit(request, key, at_least), **named)

        return outer

    return decorate if view is None else decorate(view)


def _to_log_in(request: HttpRequest) -> HttpResponse:
    if getattr(request, "htmx", False):
        return HttpResponseClientRefresh()  # the whole page asks again, and is sent to the log-in
    return redirect_to_login(request.get_full_path())
