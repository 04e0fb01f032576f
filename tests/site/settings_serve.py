"""The site's settings with websockets of the tests' own (asgi_serve.py)."""

from footprint_site.settings import *  # noqa: F403

ASGI_APPLICATION = "tests.site.asgi_serve.application"
