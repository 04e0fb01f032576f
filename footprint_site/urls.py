"""Every address of the site. A page's own addresses stand at the end of its file, as `urlpatterns`."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView

from footprint_site.metrics import metrics

urlpatterns = [
    path("log-in/", auth.LoginView.as_view(template_name="log_in.html"), name="log-in"),
    path("log-out/", auth.LogoutView.as_view(), name="log-out"),
    # For pages that name no icon of their own, as Django's admin: browsers ask for it by themselves.
    path("favicon.ico", RedirectView.as_view(url=static("favicon.svg"))),
    path("admin/", admin.site.urls),
    path("metrics", metrics, name="metrics"),  # /health/ is answered before Django (health.py)
    path("", include("runs.pages.home")),
    path("", include("runs.pages.patterns")),
    # Inside a project: what everybody reads.
    path("p/<str:key>/", include("runs.pages.runs")),
    path("p/<str:key>/", include("runs.pages.run")),
    # An answer and what belongs to it.
    path("p/<str:key>/", include("runs.pages.answer")),
    # What operators look after.
    path("p/<str:key>/tools/", include("runs.pages.tools")),
    path("p/<str:key>/tool-choice/", include("runs.pages.tool_choice")),
    path("p/<str:key>/rosters/", include("runs.pages.rosters")),
    path("p/<str:key>/rosters/", include("runs.pages.roster_what_if")),
    # What admins look after.
    path("p/<str:key>/connect/", include("runs.pages.connect")),
    path("p/<str:key>/ingest/", include("runs.pages.ingest")),
    path("p/<str:key>/", include("runs.pages.settings")),
]
