"""The running application as a Django app: it brings `manage.py up` and the system checks."""

from django.apps import AppConfig


class WorkbenchConfig(AppConfig):
    """Registers the checks; it has no models."""

    name = "workbench"

    def ready(self) -> None:
        """Register the system checks."""
        from workbench import checks  # noqa: F401 -- registering is its effect
