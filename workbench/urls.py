"""Addresses of the running application: the contracts' own, the health check and the language switch."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeDoneView, PasswordChangeView
from django.urls import include, path
from django.views.i18n import set_language

from workbench.health import healthz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    # Marked: whoever logs in must be able to read the login page.
    path("i18n/setlang/", login_not_required(set_language), name="set_language"),
    path("login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("password/", PasswordChangeView.as_view(), name="password_change"),
    path("password/done/", PasswordChangeDoneView.as_view(), name="password_change_done"),
    path("", include("contracts.urls")),
]
