"""The one Django app."""

from django.apps import AppConfig


class ContractsConfig(AppConfig):
    """Resume-state contracts."""

    name = "contracts"
    default_auto_field = "django.db.models.BigAutoField"
