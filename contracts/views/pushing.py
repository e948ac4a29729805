"""The line on which an open page is told that there is news for its reader; the news themselves it then asks for."""

import threading
import time
from collections.abc import Iterator

from django.conf import settings
from django.db import connection
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from contracts.models.hearing import EAR
from contracts.views.loading import Asked

LASTS = 50.0  # seconds; then the browser calls again, with the session it has by then. A stop waits no longer
BEAT = 1.0  # seconds between two signs of life: a page that was closed is noticed by the next
RETRY = b"retry: 3000\n\n"
NEWS = b"event: news\ndata: 1\n\n"
STILL_HERE = b":\n\n"
# Each line holds a thread of this process, and no connection to the database.
_free = threading.BoundedSemaphore(max(1, settings.STREAMS))


@require_safe
def news_line(request: Asked) -> HttpResponseBase:
    """Hold the line as server-sent events (WHATWG HTML, 9.2); 503 if as many as may be are held already."""
    if not settings.STREAMS or not _free.acquire(blocking=False):
        return HttpResponse(status=503, headers={"Retry-After": "60"})
    response = StreamingHttpResponse(Line(int(request.user.pk or 0)), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # nginx would keep the words until a page is full
    connection.close()  # back to the pool, for as long as the line is held
    return response


class Line:
    """What is said on one line; gives its place free when the response is closed, however that comes."""

    def __init__(self, person_id: int) -> None:
        self._person = person_id
        self._until = time.monotonic() + LASTS
        self._words = self._say()
        self._held = True

    def __iter__(self) -> Iterator[bytes]:
        return self._words

    def _say(self) -> Iterator[bytes]:
        heard = EAR.heard(self._person)
        yield RETRY
        while time.monotonic() < self._until and not settings.STOPPING():
            now = EAR.wait(self._person, heard, BEAT)
            yield STILL_HERE if now == heard else NEWS
            heard = now

    def close(self) -> None:
        """Give the place free."""
        if self._held:
            self._held = False
            _free.release()
