"""Carries one write to its target: opened first, so that nothing has left when the target cannot be reached.

No redirect is followed, no proxy of the environment is used, and the connection goes to the very address that
was found on the list. All of it together takes no longer than the time limit.
"""

import hashlib
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from contracts.rules.fields import Refused, check_field
from contracts.rules.ledger import REPORT, Reported
from contracts.rules.proxying import Place, Proxy, may_reach, told_by

CONNECT_MAX_SECONDS = 10.0
ANSWER_MAX_BYTES = 1_048_576  # a longer answer is not read to its end, and so is no receipt
_REFERENCE = REPORT.field("reference")


class NotCarried(Exception):
    """Nothing has left; `code` says why: address_not_allowed or target_unreachable."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Carried:
    """What came of a write that may have left: as `report` takes it."""

    result: Reported
    reference: str = ""
    response_sha256: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Way:
    """An open connection to a target, and the moment of `time.monotonic()` at which the time is up."""

    place: Place
    line: socket.socket
    until: float

    def carry(self, content: bytes, headers: Mapping[str, str]) -> Carried:
        """Write once. Whatever is not a whole and clear answer in time is unknown."""
        target = self.place.target
        asking = http.client.HTTPConnection(target.host, target.port)
        asking.sock = self.line
        headers = {"Content-Type": "application/json", "User-Agent": "resume-state-workbench", **headers}
        if target.authorization:
            headers["Authorization"] = target.authorization
        try:
            with _time_limit(self.line, self.until):
                asking.request("POST", self.place.path, content, headers)
                answer = asking.getresponse()
                body = answer.read(ANSWER_MAX_BYTES + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            # Only its kind: what it says may hold an address or a header.
            return Carried(Reported.UNKNOWN, detail=f"No whole answer: {type(error).__name__}.")
        # `length` is what is still missing of an answer that said how long it is.
        if time.monotonic() >= self.until or len(body) > ANSWER_MAX_BYTES or answer.length:
            return Carried(Reported.UNKNOWN, detail="No whole answer.")
        digest = hashlib.sha256(body).hexdigest()
        return Carried(told_by(answer.status), _reference(answer, body), digest, f"HTTP {answer.status}")


@contextmanager
def way_to(place: Place, proxy: Proxy) -> Iterator[Way]:
    """Connect, TLS included, and close at the end of the block; raises NotCarried."""
    until = time.monotonic() + proxy.seconds
    with _connect(place, proxy, min(proxy.seconds, CONNECT_MAX_SECONDS)) as line:
        line.settimeout(proxy.seconds)
        yield Way(place, line, until)


def _connect(place: Place, proxy: Proxy, seconds: float) -> socket.socket:
    target = place.target
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except OSError:
        raise NotCarried("target_unreachable") from None
    reachable = [entry for entry in found if may_reach(proxy, str(entry[4][0]), target.port)]
    if not reachable:
        raise NotCarried("address_not_allowed")
    family, kind, protocol, _, address = reachable[0]
    line = socket.socket(family, kind, protocol)
    try:
        line.settimeout(seconds)
        line.connect(address)
        return _tls().wrap_socket(line, server_hostname=target.host) if target.tls else line
    except OSError:  # that of a certificate too
        line.close()
        raise NotCarried("target_unreachable") from None


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


@contextmanager
def _time_limit(line: socket.socket, until: float) -> Iterator[None]:
    """Cut the line when the time is up: a target that sends byte by byte would never run into a time-out."""
    timer = threading.Timer(max(0.0, until - time.monotonic()), _cut, [line])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _cut(line: socket.socket) -> None:
    try:
        line.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it has ended by itself


def _reference(answer: http.client.HTTPResponse, body: bytes) -> str:
    """Return the target's own name for what it wrote: the Location header, else `reference` in its JSON.

    A name that the ledger would not take is left out: what is known of the write matters more.
    """
    told = answer.getheader("Location") or _reference_in(body)
    try:
        return str(check_field(_REFERENCE, told))
    except Refused:
        return ""


def _reference_in(body: bytes) -> str:
    try:
        content = json.loads(body)
    except ValueError:  # no JSON, or no text at all
        return ""
    found = content.get("reference") if isinstance(content, dict) else None
    return found if isinstance(found, str) else ""
