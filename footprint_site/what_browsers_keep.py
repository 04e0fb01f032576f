"""What browsers may keep of a page and what it may use: said on every answer, errors and files among them."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

# The pages use none of these; a page that does says so here.
NOTHING_OF = (
    *(
        "accelerometer",
        "autoplay",
        "browsing-topics",
        "camera",
        "display-capture",
        "encrypted-media",
        "fullscreen",
    ),
    *("geolocation", "gyroscope", "hid", "idle-detection", "magnetometer", "microphone", "midi", "payment"),
    *(
        "picture-in-picture",
        "publickey-credentials-get",
        "screen-wake-lock",
        "serial",
        "usb",
        "xr-spatial-tracking",
    ),
)
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in NOTHING_OF)


class WhatBrowsersKeep:
    """Pages hold what people asked and what agents answered: no cache keeps them, unless a view says otherwise.

    Static files are the same for everybody, and WhiteNoise says how long they are kept.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        if not response.has_header("Cache-Control"):
            response.headers["Cache-Control"] = "private, no-store"
        return response
