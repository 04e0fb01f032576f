"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

urlpatterns = [
    path("log-in/", auth.LoginView.as_view(template_name="log_in.html"), name="log-in"),
    path("log-out/", auth.LogoutView.as_view(), name="log-out"),
    # For pages that name no icon of their own, as Django's admin: browsers ask for it by themselves.
    path("favicon.ico", RedirectView.as_view(url=static("favicon.svg"))),
    path("admin/", admin.site.urls),
]
