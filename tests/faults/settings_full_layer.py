"""The site's settings with a layer between processes that has no room for any message."""

from footprint_site.settings import *  # noqa: F403

CHANNEL_LAYERS = {"default": {"BACKEND": "tests.faults.full_layer.FullLayer"}}
