"""Static files out of the checkout, without a step before and with DEBUG off."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise, answering with the whole file.

    Django warns when an asynchronous server streams WhiteNoise's file object. Our files are small and local: reading
    one whole is simpler than streaming it, and right under every kind of server.
    """

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        content = b""
        if found.file is not None:
            with found.file as file:
                content = file.read()
        response = HttpResponse(content, status=int(found.status))
        del response["content-type"]
        for key, value in found.headers:
            response[key] = value
        return response
