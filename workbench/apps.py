"""The running application as a Django app: it brings `manage.py up` and the system checks."""

from django.apps import AppConfig
from django.conf import settings


class WorkbenchConfig(AppConfig):
    """Registers the checks; it has no models."""

    name = "workbench"

    def ready(self) -> None:
        """Register the system checks, and count where figures are asked for."""
        from workbench import checks  # noqa: F401 -- registering is its effect

        if settings.METRICS_TOKEN:
            from workbench.observing.counting import begin_counting

            begin_counting()
