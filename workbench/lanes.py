"""How many requests are worked on at once in one process, however many threads it has.

There are more threads than connections to the database: some hold a line on which a page is told of news, some wait
for a body that is still on its way. Only what has arrived whole takes a lane, so that a slow client holds up a
thread and nobody's work.
"""

import threading
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
ARRIVES_WHOLE = 8 * 1024 * 1024  # bytes; what is larger is read by whoever may refuse it by its length


class Lanes:
    """A WSGI application (PEP 3333) that lets another one work on so many requests at once."""

    def __init__(self, application: Application, lanes: int) -> None:
        self._application = application
        self._free = threading.BoundedSemaphore(lanes)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Take the body in, wait for a lane, answer; a body that ends too early is nobody's request."""
        length = _length(environ)
        if 0 < length <= ARRIVES_WHOLE:
            body = environ["wsgi.input"].read(length)
            if len(body) < length:
                start_response("400 Bad Request", [("Content-Length", "0")])
                return []
            environ["wsgi.input"] = BytesIO(body)
        with self._free:
            return self._application(environ, start_response)


def _length(environ: Environ) -> int:
    try:
        return int(environ.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0
