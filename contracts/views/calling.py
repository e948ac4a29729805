"""Names of people are known to the pages of whoever is logged in, and to no other answer."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from contracts.models.people import know_names, knowing_names


class KnownNames:
    """Lets the names of people be known while a view that needs a login answers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with knowing_names(known=False):
            return self.get_response(request)

    def process_view(self, _request: HttpRequest, view: Callable[..., Any], *_: Any) -> None:
        if getattr(view, "login_required", True):
            know_names()
