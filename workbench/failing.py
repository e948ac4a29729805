"""What is answered where nobody else could answer: an outage of the database, or a fault of the program."""

import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.views.defaults import server_error

from contracts.api.outages import RETRY_AFTER, SENTENCES, outage_of, unavailable
from contracts.api.problems import API, broken


def failed(request: HttpRequest) -> HttpResponse:
    """Answer 503 and when to come again if the database cannot serve just now, else 500; workers get a document.

    Django calls it while it handles the exception.
    """
    code = outage_of(sys.exception())
    if request.path.startswith(API):
        return unavailable(code) if code else broken()
    if not code:
        return server_error(request)
    # Without the request: whoever looks after logins and languages would ask the database again.
    page = render_to_string("503.html", {"code": code, "sentence": gettext(SENTENCES[code])})
    return HttpResponse(page, status=503, headers={"Retry-After": RETRY_AFTER, "Cache-Control": "no-store"})
