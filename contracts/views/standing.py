"""What stands on every full page for whoever is logged in."""

from collections.abc import Callable
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from contracts.models import Notice

COUNTED = 99  # more than this is shown as 99+, and not counted further


def standing(request: HttpRequest) -> dict[str, Any]:
    """Return what every page shows.

    `unread_notices` is a call, so that only a page which shows the number asks for it, and once.
    """
    return {
        "unread_notices": _unread(request),
        "news_pushed": settings.STREAMS > 0,
        "served_at": timezone.now(),
    }


def _unread(request: HttpRequest) -> Callable[[], int]:
    @cache
    def unread() -> int:
        user = getattr(request, "user", None)
        if user is None or not user.is_authenticated:
            return 0
        return Notice.objects.all().count_unread(user, COUNTED + 1)

    return unread
