"""The workbench's settings with Django's admin beside it, in a process of its own: for benchmarks alone."""

from workbench.settings import *  # noqa: F403
from workbench.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "django.contrib.admin"]
ROOT_URLCONF = "tests.benchmarks.beside_urls"
