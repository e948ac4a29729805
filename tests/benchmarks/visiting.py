"""Visits to pages in one process: what each costs in time, queries, bytes and requests.

In process and not over HTTP, because a ratio between two pages is about the pages: a server with several
processes would add the same to both, and hide how many queries there were.
"""

import gzip
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LINKED = re.compile(r"""<(?:link[^>]+href|script[^>]+src|img[^>]+src)=["']([^"']+)["']""")
IMPORTED = re.compile(r"""(?:from|import)\s*["']\./([\w.-]+)["']""")
HASHED = re.compile(r"\.[0-9a-f]{12}(?=\.\w+$)")
HTMX = {"HX-Request": "true"}


@dataclass(frozen=True)
class Visit:
    """One page or part of a page: who asks for it, where, and, where it is posted, with what."""

    client: Any
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    posted: Mapping[str, Any] | None = None

    def __call__(self) -> Any:
        if self.posted is None:
            answer = self.client.get(self.url, headers=self.headers)
        else:
            answer = self.client.post(self.url, self.posted, headers=self.headers)
        assert answer.status_code in (200, 204), (self.url, answer.status_code)
        return answer


def queries_of(visit: Callable[[], Any]) -> int:
    """Return how many queries a visit needs; a first one fills what is remembered between visits."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    visit()
    with CaptureQueriesContext(connection) as captured:
        visit()
    return len(captured)


def weight_of(answer: Any) -> dict[str, int]:
    """Return the bytes of an answer, plain and compressed, and what a browser that knows nothing yet would load.

    A part of a page links to nothing: it is one request.
    """
    files = linked(answer.content.decode())
    small = len(gzip.compress(answer.content, 6))
    cold = small + sum(len(gzip.compress(path.read_bytes(), 6)) for path in files)
    return {"bytes": len(answer.content), "compressed": small, "requests": 1 + len(files), "cold_bytes": cold}


def linked(page: str) -> list[Path]:
    """Return every style sheet, script and image that a page loads, with what its modules import."""
    names = [
        HASHED.sub("", name.removeprefix("/static/")) for name in LINKED.findall(page) if "/static/" in name
    ]
    found: dict[str, Path] = {}
    while names:
        name = names.pop()
        if name not in found:
            found[name] = _place_of(name)
            if name.endswith(".js"):
                names += IMPORTED.findall(found[name].read_text("utf-8"))
    return list(found.values())


def _place_of(name: str) -> Path:
    from django.contrib.staticfiles import finders

    found = finders.find(name)
    assert found, f"{name} is no static file"
    return Path(found)
