"""`/metrics`, for Prometheus: with the token of FOOTPRINT_METRICS_TOKEN, or, without one, from this machine alone.

Everybody else gets what an address gets that does not exist.
"""

from __future__ import annotations

from ipaddress import ip_address

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache

from runs import measures

# Whoever passes a request on says so in one of these, or asks for the site by its own name.
PASSED_ON = ("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "forwarded", "via")


@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    if request.method != "GET" or not _may_read(request):
        raise Http404
    return HttpResponse(measures.exposed(), content_type=measures.CONTENT_TYPE)


def _may_read(request: HttpRequest) -> bool:
    if token := settings.METRICS_TOKEN:
        return constant_time_compare(request.headers.get("authorization", ""), f"Bearer {token}")
    if any(name in request.headers for name in PASSED_ON):
        return False
    return _is_here(request.META.get("REMOTE_ADDR", "")) and _is_here(
        split_domain_port(request.get_host())[0]
    )


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
