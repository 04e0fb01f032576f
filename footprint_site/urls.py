"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import path

urlpatterns = [
    path("log-in/", auth.LoginView.as_view(template_name="log_in.html"), name="log-in"),
    path("log-out/", auth.LogoutView.as_view(), name="log-out"),
    path("admin/", admin.site.urls),
]
