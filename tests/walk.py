"""Every address of the URL configuration, filled in with what a project has: it grows by itself with the site."""

import re
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

from django.apps import apps
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

from runs.models import Answer, Project, Run, Token

FEW = 12  # rows a parameter is tried with


def routes(patterns: Any = None, before: str = "/") -> Iterator[str]:
    """The routes as they are written: /p/<str:key>/runs/<str:slug>/"""
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        if not isinstance(entry.pattern, RoutePattern):
            continue
        route = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from routes(entry.url_patterns, route)
        elif isinstance(entry, URLPattern):
            yield route


def addresses(project: Project) -> list[str]:
    """Every route with every fitting row of the project, a few rows a route."""
    found: list[str] = []
    for route in routes():
        names = re.findall(r"<(?:\w+:)?(\w+)>", route)
        fitting = [_values(name, route, project) for name in names]
        for values in islice(product(*fitting), FEW * 2):
            filled = iter(values)
            found.append(re.sub(r"<[^>]+>", lambda _, filled=filled: str(next(filled)), route))
    return found


def _values(name: str, route: str, project: Project) -> list[Any]:
    if name == "key":
        return [project.key]
    if name == "slug":
        model = Answer if "answers/" in route else Run
        return list(model.objects.filter(project=project).values_list("slug", flat=True)[:FEW])
    if name == "token_id":
        return list(Token.objects.filter(project=project).values_list("pk", flat=True)[:FEW])
    if name == "object_id" and "<path:content_type_id>" not in route:
        _, _, app, model_name, *_ = route.split("/")
        return list(apps.get_model(app, model_name)._default_manager.values_list("pk", flat=True)[:FEW])
    return [1]


def read(client: Client, address: str) -> tuple[int, str]:
    """The status and everything that the answer says: headers, cookies and body."""
    response = client.get(address)
    body = b"".join(response.streaming_content) if response.streaming else response.content
    headers = "\n".join(f"{name}: {value}" for name, value in response.items())
    return response.status_code, "\n".join(
        [headers, response.cookies.output(), body.decode("utf-8", "replace")]
    )
