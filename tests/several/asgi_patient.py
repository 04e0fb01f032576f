"""The site with open pages that never look by themselves: what they show, they heard from the doorbell."""

from footprint_site.asgi import application
from runs.live import feeds, socket

__all__ = ["application"]

feeds.LOOK_EVERY_S = socket.LOOK_EVERY_S = 3600.0
