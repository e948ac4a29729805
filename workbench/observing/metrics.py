"""Figures for Prometheus, added up over all processes, for whoever has the token and nobody else."""

import secrets
from http import HTTPStatus

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

SCHEME = "bearer "


@login_not_required  # asked by machines that have a token instead
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer every figure as text; 404 where no token is set, 401 without it."""
    if not settings.METRICS_TOKEN:
        return HttpResponse("\n", status=HTTPStatus.NOT_FOUND, content_type="text/plain")
    if not _bears_token(request):
        challenge = {"WWW-Authenticate": 'Bearer realm="metrics"'}
        return HttpResponse(
            "\n", status=HTTPStatus.UNAUTHORIZED, headers=challenge, content_type="text/plain"
        )
    from workbench.observing.adding_up import exposition

    text, kind = exposition()
    return HttpResponse(text, content_type=kind)


def _bears_token(request: HttpRequest) -> bool:
    header = request.headers.get("Authorization", "")
    given = header[len(SCHEME) :].strip() if header[: len(SCHEME)].lower() == SCHEME else ""
    return secrets.compare_digest(given.encode(), settings.METRICS_TOKEN.encode())
