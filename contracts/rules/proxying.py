"""Where the single write proxy may write, and what an answer of the target is worth.

Only what was configured is reached: a target has a name, an operation's target begins with that name, and the
address that the host resolves to must be on the list, so that no name can lead into another network.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from types import MappingProxyType
from urllib.parse import quote

from contracts.rules.ledger import Reported

# Answers after which the target has certainly written nothing. Others of the 400s are not clear: 408 and 425 are
# about time, 409 may mean that this very key was written before, 429 asks to come again.
CLEAR_NO = frozenset(
    {400, 401, 402, 403, 404, 405, 406, 410, 411, 412, 413, 414, 415, 417, 422, 426, 428, 431, 451}
)
SAFE = "-._~!$&'()*+,;=:@"  # stand in a path segment as they are (RFC 3986)
_TARGET = re.compile(r"([a-z][a-z0-9-]{0,30})://(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """A system the proxy writes to. `path` is the beginning of every path there, without a slash at its end."""

    name: str
    tls: bool
    host: str
    port: int
    path: str = ""
    authorization: str = field(default="", repr=False)  # value of the header; a secret


@dataclass(frozen=True, slots=True)
class Allowed:
    """Addresses that may be reached at one port."""

    network: IPv4Network | IPv6Network
    port: int


@dataclass(frozen=True, slots=True)
class Proxy:
    """All that was configured; `seconds` is the longest time one write may take, connecting counted in."""

    targets: Mapping[str, Target] = field(default_factory=lambda: MappingProxyType({}))
    allowed: tuple[Allowed, ...] = ()
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Place:
    """One address to write to: a target and the path there, percent-encoded."""

    target: Target
    path: str


def locate(proxy: Proxy, target: str) -> Place | None:
    """Return where an operation's target lies, such as `cms://pages/label-1` at the target `cms`, or None.

    Neither a query nor a segment that leads upwards or nowhere is taken.
    """
    found = _TARGET.fullmatch(target)
    configured = proxy.targets.get(found[1]) if found else None
    if found is None or configured is None or re.search(r"[?#\\\s\x00-\x1f\x7f]", found[2]):
        return None
    segments = found[2].split("/")
    if any(segment in ("", ".", "..") for segment in segments):
        return None
    return Place(
        configured, "/".join([configured.path, *(quote(segment, safe=SAFE) for segment in segments)])
    )


def may_reach(proxy: Proxy, address: str, port: int) -> bool:
    """Tell whether this IP address and port are on the list; a mapped IPv4 address counts as the IPv4 one."""
    found: IPv4Address | IPv6Address = ip_address(address)
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return any(found in allowed.network and port == allowed.port for allowed in proxy.allowed)


def told_by(status: int) -> Reported:
    """Return what an HTTP status says of a write. A redirect is not followed, and says nothing."""
    if 200 <= status < 300:
        return Reported.CONFIRMED
    return Reported.REJECTED if status in CLEAR_NO else Reported.UNKNOWN
