"""A page that is asked for while the database is away says so: 503, "come again", and one line a minute in the log.

Only for trouble that passes (runs/store/trouble.py); anything else is our mistake and stays a 500.
"""

import logging
import time
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template import loader
from django.utils.deprecation import MiddlewareMixin

from runs.store.trouble import CANCELLED, name_of, passes, state_of

log = logging.getLogger("footprint.pages")

QUIET_S = 60.0
COME_AGAIN_S = 5


class DatabaseAway(MiddlewareMixin):
    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        self._said = -QUIET_S

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | None:
        if not (passes(exception) or state_of(exception) == CANCELLED):
            return None
        now = time.monotonic()
        if now - self._said >= QUIET_S:
            self._said = now
            log.warning(
                "Pages cannot be read from the database (%s): whoever asks is told", name_of(exception)
            )
        body = loader.get_template("503.html").render()
        return HttpResponse(body, status=503, headers={"Retry-After": str(COME_AGAIN_S)})
