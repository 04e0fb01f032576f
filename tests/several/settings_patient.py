"""The site's settings with open pages that never look by themselves (asgi_patient.py)."""

from footprint_site.settings import *  # noqa: F403

ASGI_APPLICATION = "tests.several.asgi_patient.application"
