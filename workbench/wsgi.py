"""The WSGI application, for `manage.py up` and for a server of one's own."""

import os

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

from workbench.catalogues import compile_catalogues
from workbench.limiting import limit_statements
from workbench.observing.tracing import begin_tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings")
compile_catalogues()
if not settings.SECRET_KEY_KEPT:
    # Each worker would sign sessions with a key of its own.
    raise ImproperlyConfigured(
        "WORKBENCH_SECRET_KEY must be set, or `manage.py up` must have made the data folder."
    )
limit_statements(settings.DATABASES["default"], settings.STATEMENT_SECONDS)
begin_tracing()
application = get_wsgi_application()
