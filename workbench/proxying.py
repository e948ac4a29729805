"""Reads where the single write proxy may write. Nothing of it is ever stored in the database.

`WORKBENCH_PROXY_TARGETS` names the targets, `WORKBENCH_PROXY_ADDRESSES` lists what may be reached, and
`WORKBENCH_PROXY_AUTH_<NAME>` holds the Authorization header of one target.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_network
from types import MappingProxyType
from urllib.parse import urlsplit

from contracts.rules.proxying import Allowed, Proxy, Target
from workbench.environment import Environ, EnvironmentRefused, read_list, read_text, read_whole

TARGETS, ADDRESSES = "WORKBENCH_PROXY_TARGETS", "WORKBENCH_PROXY_ADDRESSES"
SECONDS, AUTH = "WORKBENCH_PROXY_SECONDS", "WORKBENCH_PROXY_AUTH_"
NAME = re.compile("[a-z][a-z0-9-]{0,30}")
PORT = re.compile("[0-9]{1,5}")
OWN_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


def read_proxy(environ: Environ) -> Proxy:
    """Return all that the proxy may do; without targets it sends nothing."""
    targets = [_target(environ, item) for item in read_list(environ, TARGETS)]
    names = [target.name for target in targets]
    if len(set(names)) != len(names):
        raise EnvironmentRefused(f"{TARGETS} must not name a target twice.")
    allowed = tuple(_allowed(item) for item in read_list(environ, ADDRESSES))
    if targets and not allowed:
        raise EnvironmentRefused(f"{ADDRESSES} must list what may be reached where {TARGETS} is set.")
    seconds = read_whole(environ, SECONDS, 30, minimum=1, maximum=300)
    return Proxy(MappingProxyType(dict(zip(names, targets, strict=True))), allowed, float(seconds))


def proxy_variables(environ: Environ) -> list[str]:
    """Return the names of all variables the proxy reads: one for each target beside the fixed ones."""
    items: Iterable[str] = read_list(environ, TARGETS)
    return [TARGETS, ADDRESSES, SECONDS, *(_variable(item.partition("=")[0]) for item in items)]


def _target(environ: Environ, item: str) -> Target:
    name, _, address = item.partition("=")
    try:
        url = urlsplit(address)
        plain = url.scheme in {"http", "https"} and url.hostname and "@" not in url.netloc and url.port != 0
        if not plain or not NAME.fullmatch(name) or re.search(r"[?#\s\\%]|/\.{0,2}/|/\.{1,2}$", address[8:]):
            raise ValueError
    except ValueError:
        # Not repeated: who puts a password into the address shall not find it in a log.
        raise EnvironmentRefused(
            f"{TARGETS} must list targets like cms=https://cms.example.org/api: a name of small letters, digits and "
            "hyphens, and an address without user, query and fragment."
        ) from None
    tls, host = url.scheme == "https", str(url.hostname)
    port = url.port or (443 if tls else 80)
    return Target(name, tls, host, port, url.path.rstrip("/"), _authorization(environ, name, host, tls))


def _authorization(environ: Environ, name: str, host: str, tls: bool) -> str:
    value = read_text(environ, _variable(name))
    if value and not value.isascii():
        raise EnvironmentRefused(f"{_variable(name)} must hold plain ASCII.")
    if value and not tls and host not in OWN_MACHINE:
        raise EnvironmentRefused(f"{_variable(name)} is never sent in the clear; use https for this target.")
    return value


def _variable(name: str) -> str:
    return AUTH + name.upper().replace("-", "_")


def _allowed(item: str) -> Allowed:
    """Return one entry: 192.0.2.7:443, 10.0.3.0/24:443, [2001:db8::7]:443 or [2001:db8::/32]:443."""
    network, _, port = item.rpartition(":")
    bracketed = network.startswith("[") and network.endswith("]")
    try:
        if not PORT.fullmatch(port) or not 0 < int(port) < 65536 or bracketed is not (":" in network):
            raise ValueError
        return Allowed(ip_network(network.strip("[]")), int(port))
    except ValueError:
        raise EnvironmentRefused(
            f"{ADDRESSES} must list IP addresses or networks with a port, like 192.0.2.7:443, 10.0.3.0/24:443 or "
            "[2001:db8::7]:443."
        ) from None
