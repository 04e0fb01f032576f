"""The site's application, with a sweeper that looks all the time (settings_clock.py)."""

from footprint_site.asgi import application
from runs.intake import service

service.SWEEP_EVERY_S = 0.1

__all__ = ["application"]
