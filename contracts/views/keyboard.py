"""The keys of the pages, readable without pressing one."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@login_not_required  # Marked: the keys work on the login page too.
@require_safe
def keyboard(request: HttpRequest) -> HttpResponse:
    return render(request, "contracts/keyboard.html")
