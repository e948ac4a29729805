"""Addresses of the running application: logging in and the second factor, what machines ask, the language switch."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import PasswordChangeDoneView, PasswordChangeView
from django.urls import include, path

from contracts.views.language import set_language
from workbench import second_factor_pages as factor
from workbench.entrance import LogIn, LogOut, PasswordAgain, few_tries, proven
from workbench.health import healthz, livez, readyz
from workbench.observing.metrics import metrics

handler500 = "workbench.failing.failed"
# The names are those that allauth itself refers to. What it has beyond these pages stays closed.
second_factor = [
    path("", factor.Index.as_view(), name="mfa_index"),
    path("enter/", factor.EnterCode.as_view(), name="mfa_authenticate"),
    path("confirm/", factor.CodeAgain.as_view(), name="mfa_reauthenticate"),
    path("app/add/", proven(factor.SetUpApp.as_view()), name="mfa_activate_totp"),
    path("app/remove/", proven(factor.RemoveApp.as_view()), name="mfa_deactivate_totp"),
    path("codes/", proven(factor.RecoveryCodes.as_view()), name="mfa_view_recovery_codes"),
    path("codes/new/", proven(factor.NewRecoveryCodes.as_view()), name="mfa_generate_recovery_codes"),
    path("passkeys/add/", proven(factor.AddPasskey.as_view()), name="mfa_add_webauthn"),
    path("passkeys/confirm/", factor.PasskeyAgain.as_view(), name="mfa_reauthenticate_webauthn"),
    path("passkeys/<int:pk>/rename/", proven(factor.RenamePasskey.as_view()), name="mfa_edit_webauthn"),
    path("passkeys/<int:pk>/remove/", proven(factor.RemovePasskey.as_view()), name="mfa_remove_webauthn"),
]

urlpatterns = [
    path("livez", livez, name="livez"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    # Marked: whoever logs in must be able to read the login page.
    path("i18n/setlang/", login_not_required(set_language), name="set_language"),
    path("login/", LogIn.as_view(), name="account_login"),
    path("logout/", LogOut.as_view(), name="account_logout"),
    path("confirm/", PasswordAgain.as_view(), name="account_reauthenticate"),
    path("second-factor/", include(second_factor)),
    path("password/", few_tries(PasswordChangeView.as_view()), name="password_change"),
    path("password/done/", PasswordChangeDoneView.as_view(), name="password_change_done"),
    path("", include("contracts.urls")),
]
