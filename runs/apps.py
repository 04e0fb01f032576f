"""Django's entry for the app."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "runs"
    verbose_name = "Footprint"
    default_auto_field = "django.db.models.BigAutoField"
