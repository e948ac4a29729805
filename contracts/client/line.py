"""The line to the workbench: each logical call has one key, and is repeated under it until an answer comes."""

import json
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from contracts.client.exceptions import LeaseLost, NotResumable, Refused, Unreachable

FIRST_DELAY, LONGEST_DELAY = 0.05, 2.0
LONGEST_POLL = 30
SHORTEST_TIMEOUT = 1.0
# Whoever holds the task no longer must not go on; everything else may be mended by the worker.
LOST = frozenset({"stale_generation", "not_owner", "task_cancelled"})
_NEVER = threading.Event()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the workbench that is no refusal. `content` is empty where nothing has changed (304)."""

    status: int
    content: Mapping[str, Any]
    etag: str = ""


class Line:
    """Keep-alive connections to one workbench, for any number of threads.

    `timeout`: seconds for one answer. `patience`: seconds in which a call is repeated before it counts as
    unreachable. A call that changes something carries an idempotency key, made once per call: a repetition is
    answered with what was stored for the first one, so that nothing is done twice however often it is sent.
    `language`: in which the workbench says its sentences.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 10.0,
        patience: float = 60.0,
        language: str = "",
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ValueError("the address of the workbench begins with http:// or https://")
        self.patience = patience
        self._timeout = timeout
        self._client = httpx.Client(
            base_url=f"{url.rstrip('/')}/api/v1/",
            headers={
                "Authorization": f"Bearer {token}",
                "Accept": "application/json",
                **({"Accept-Language": language} if language else {}),
            },
            timeout=timeout,
            transport=transport,
        )

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        patience: float | None = None,
        unless: threading.Event = _NEVER,
    ) -> Reply:
        """Carry out one logical call. Raises Refused, LeaseLost, Unreachable; `unless` set ends the repeating."""
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": secrets.token_urlsafe(24)}
        patience = self.patience if patience is None else patience
        # One answer that never comes must not use up the time in which the call could be repeated.
        timeout = min(self._timeout, max(patience / 2, SHORTEST_TIMEOUT))
        request = self._client.build_request("POST", path, content=content, headers=headers, timeout=timeout)
        return self._until_answered(request, patience, unless)

    def get(
        self,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        etag: str = "",
        wait: float = 0,
        unless: threading.Event = _NEVER,
    ) -> Reply:
        """Read. `wait`: for how many seconds the workbench may hold the answer back."""
        headers = {"If-None-Match": etag} if etag else {}
        timeout = httpx.Timeout(self._timeout + wait)
        request = self._client.build_request("GET", path, params=params, headers=headers, timeout=timeout)
        return self._until_answered(request, self.patience, unless)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _until_answered(self, request: httpx.Request, patience: float, unless: threading.Event) -> Reply:
        end = time.monotonic() + patience
        for delay in _delays():
            reply, why = self._once(request)
            if reply is not None:
                return reply
            left = end - time.monotonic()
            if left <= 0 or unless.wait(min(delay, left)):
                raise Unreachable(f"{request.method} {request.url.path}: {why}")
        raise AssertionError("delays never end")

    def _once(self, request: httpx.Request) -> tuple[Reply | None, str]:
        """Return the answer, or why there is none yet. A refusal is an answer, and raised."""
        try:
            response = self._client.send(request)
        except httpx.TransportError as error:
            return None, f"{type(error).__name__} {error}".strip()
        if response.status_code == httpx.codes.NOT_MODIFIED:
            return Reply(response.status_code, {}, response.headers.get("ETag", "")), ""
        content = _json_object(response)
        if response.is_success and content is not None:
            return Reply(response.status_code, content, response.headers.get("ETag", "")), ""
        code = content.get("code") if content else None
        if code == "key_running" or response.is_server_error or not isinstance(code, str):
            # Running still, broken for the moment, or not the workbench at all (a proxy, a login page).
            return None, f"answered {response.status_code} {code or ''}".strip()
        raise _refusal(code, response.status_code, content or {})


def _json_object(response: httpx.Response) -> Mapping[str, Any] | None:
    if "json" not in response.headers.get("Content-Type", ""):
        return None
    try:
        content = response.json()
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _refusal(code: str, status: int, problem: Mapping[str, Any]) -> Refused:
    kind = LeaseLost if code in LOST else NotResumable if code.startswith("resume_") else Refused
    return kind(code, str(problem.get("detail") or problem.get("title") or ""), status, problem)


def _delays() -> Iterator[float]:
    """Yield seconds to wait between two tries: doubling, with chance, so that many workers do not come at once."""
    delay = FIRST_DELAY
    while True:
        yield delay * (0.5 + secrets.randbelow(1000) / 1000)
        delay = min(2 * delay, LONGEST_DELAY)
