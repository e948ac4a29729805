"""Strict readers of environment variables: a value that is not understood is refused by name.

Every reader is a pure function of the mapping it is given. An empty value counts as not set, because that is
what `VARIABLE= command` and most service files mean by it. A refusal never repeats the value: it may be a secret.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit
from zoneinfo import ZoneInfo

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

Environ = Mapping[str, str]

_FLAGS = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_DATABASE_OPTIONS = frozenset(
    {
        "application_name",
        "connect_timeout",
        "options",
        "passfile",
        "sslcert",
        "sslkey",
        "sslmode",
        "sslrootcert",
        "target_session_attrs",
    }
)


class EnvironmentRefused(ImproperlyConfigured):
    """A variable holds something that is not understood; the text names the variable and the rule."""


def read_text(environ: Environ, name: str, default: str = "") -> str:
    """Return the stripped value, or `default` when unset. Control characters are refused."""
    value = environ.get(name, "").strip()
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        raise EnvironmentRefused(f"{name} must not contain control characters.")
    return value or default


def read_flag(environ: Environ, name: str, default: bool = False) -> bool:
    """Return a yes/no value written as 1, true, yes, on or 0, false, no, off."""
    value = read_text(environ, name).lower()
    if not value:
        return default
    if value not in _FLAGS:
        raise EnvironmentRefused(f"{name} must be one of {', '.join(_FLAGS)}.")
    return _FLAGS[value]


def read_whole(environ: Environ, name: str, default: int, *, minimum: int, maximum: int) -> int:
    """Return a whole number between `minimum` and `maximum`, both included."""
    value = read_text(environ, name)
    if not value:
        return default
    # Plain ASCII digits only: int() would also take "1_0", " 7 " and digits of other scripts.
    if not re.fullmatch(r"[0-9]{1,18}", value) or not minimum <= int(value) <= maximum:
        raise EnvironmentRefused(f"{name} must be a whole number from {minimum} to {maximum}.")
    return int(value)


def read_choice(environ: Environ, name: str, choices: tuple[str, ...]) -> str:
    """Return one of `choices`, written in small letters; the first is the default."""
    value = read_text(environ, name, choices[0])
    if value not in choices:
        raise EnvironmentRefused(f"{name} must be one of {', '.join(choices)}.")
    return value


def read_list(environ: Environ, name: str, default: tuple[str, ...] = ()) -> list[str]:
    """Return the comma-separated items, stripped; an empty or repeated item is refused."""
    value = read_text(environ, name)
    if not value:
        return list(default)
    items = [item.strip() for item in value.split(",")]
    if not all(items) or any(" " in item for item in items):
        raise EnvironmentRefused(
            f"{name} must be a comma-separated list without empty items or spaces inside items."
        )
    if len(set(items)) != len(items):
        raise EnvironmentRefused(f"{name} must not name an item twice.")
    return items


def read_hosts(environ: Environ, name: str) -> list[str]:
    """Return host names as `ALLOWED_HOSTS` wants them: no scheme, port, path or lone wildcard."""
    hosts = read_list(environ, name)
    for host in hosts:
        if not re.fullmatch(r"\.?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]", host):
            raise EnvironmentRefused(
                f"{name} must list host names or addresses only, without scheme, port, path or *."
            )
    return hosts


def read_path(environ: Environ, name: str, default: Path) -> Path:
    """Return an absolute path; `~` is expanded, a relative path is refused because commands run anywhere."""
    value = read_text(environ, name)
    if not value:
        return default
    path = Path(value).expanduser()
    if not path.is_absolute():
        raise EnvironmentRefused(f"{name} must be an absolute path.")
    return path


def read_time_zone(environ: Environ, name: str, default: str = "UTC") -> str:
    """Return a time zone of the IANA database, such as Europe/Berlin."""
    value = read_text(environ, name, default)
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        raise EnvironmentRefused(
            f"{name} must be a time zone of the IANA database, such as Asia/Shanghai."
        ) from None
    return value


def read_secret(environ: Environ, name: str) -> str:
    """Return a secret of at least 50 characters, or an empty string when unset."""
    value = read_text(environ, name)
    if value and (len(value) < 50 or len(set(value)) < 5):
        raise EnvironmentRefused(
            f"{name} must be at least 50 characters long and not one character repeated."
        )
    return value


def read_database(environ: Environ, name: str, default: str) -> dict[str, Any]:
    """Return Django's connection settings from a URL such as postgresql://user:password@host:5432/name.

    Query parameters: `host` (a socket folder), `port` and the options of libpq in `_DATABASE_OPTIONS`; any other
    is refused, because a misspelt `sslmode` would connect in the clear.
    """
    try:
        url = urlsplit(read_text(environ, name, default))
        return _connection(url, name)
    except ValueError:
        # urlsplit and .port say what is wrong by repeating the value, which holds a password.
        raise EnvironmentRefused(
            f"{name} must be an address like postgresql://user:password@host:5432/name."
        ) from None


def read_address(environ: Environ, name: str, default: str) -> str:
    """Return the address people open, such as https://workbench.example.org, without a slash at its end."""
    value = read_text(environ, name, default)
    try:
        url = urlsplit(value)
        plain = url.scheme in {"http", "https"} and url.hostname and "@" not in url.netloc
        if not plain or url.port == 0 or url.path not in {"", "/"} or re.search(r"[?#\s\\]", value):
            raise ValueError
    except ValueError:
        raise EnvironmentRefused(
            f"{name} must be an address like https://workbench.example.org, without path and query."
        ) from None
    return f"{url.scheme}://{url.netloc}"


def read_mail_address(environ: Environ, name: str, default: str) -> str:
    """Return a sender: name@example.org, or Workbench <name@example.org>."""
    value = read_text(environ, name, default)
    title, address = parseaddr(value, strict=True)
    try:
        validate_email(address)
        if value not in {address, f"{title} <{address}>", f'"{title}" <{address}>'}:
            raise ValidationError(name)
    except ValidationError:
        raise EnvironmentRefused(f"{name} must be a mail address like workbench@example.org.") from None
    return value


def read_mailer(environ: Environ, name: str) -> dict[str, Any]:
    """Return one entry of Django's MAILERS from a URL; unset prints mails on the console.

    smtp://user:password@host:587?tls=start begins in the clear and changes to TLS, smtps://… is TLS from the first
    byte. A password is never sent in the clear but to this very machine.
    """
    value = read_text(environ, name)
    if not value:
        return {"BACKEND": "django.core.mail.backends.console.EmailBackend"}
    try:
        options = _mail_server(urlsplit(value), name)
    except ValueError:
        # urlsplit and .port say what is wrong by repeating the value, which holds a password.
        raise EnvironmentRefused(
            f"{name} must be an address like smtp://user:password@host:587?tls=start or smtps://…"
        ) from None
    return {"BACKEND": "django.core.mail.backends.smtp.EmailBackend", "OPTIONS": options}


def refuse_unknown(environ: Environ, prefix: str, known: Iterable[str]) -> None:
    """Refuse variables that begin with `prefix` but are not known: a misspelt switch must not pass as unset."""
    names = sorted(known)
    for name in sorted(environ):
        if name.startswith(prefix) and name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"; did you mean {close[0]}?" if close else "."
            raise EnvironmentRefused(f"{name} is not a setting of the workbench{hint}")


def _connection(url: SplitResult, name: str) -> dict[str, Any]:
    if url.scheme not in {"postgres", "postgresql"} or url.fragment:
        raise EnvironmentRefused(f"{name} must begin with postgres:// or postgresql:// and have no fragment.")
    query = parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query))
    options = dict(query)
    if len(options) != len(query):
        raise EnvironmentRefused(f"{name} must not name a parameter twice.")
    host, port = options.pop("host", ""), options.pop("port", "")
    if (host and url.hostname) or (port and url.port):
        raise EnvironmentRefused(f"{name} must name the host and the port once.")
    if port and not (re.fullmatch(r"[0-9]{1,5}", port) and 0 < int(port) < 65536):
        raise EnvironmentRefused(f"{name} must name a port from 1 to 65535.")
    database = unquote(url.path.removeprefix("/"))
    if not database or "/" in database:
        raise EnvironmentRefused(f"{name} must end with the name of one database.")
    _refuse_options(options, name)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": database,
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "HOST": unquote(url.hostname or "") or host,
        "PORT": str(url.port or port),
        "OPTIONS": options,
    }


def _mail_server(url: SplitResult, name: str) -> dict[str, Any]:
    if url.scheme not in {"smtp", "smtps"} or not url.hostname or url.path not in {"", "/"} or url.fragment:
        raise ValueError
    query = parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query))
    if query not in ([], [("tls", "start")]) or (query and url.scheme == "smtps"):
        raise EnvironmentRefused(f"{name} may have only the parameter tls=start, and smtps:// none.")
    if bool(url.username) != bool(url.password):
        raise EnvironmentRefused(f"{name} must name both a user and a password, or neither.")
    encrypted = bool(query) or url.scheme == "smtps"
    if url.password and not encrypted and url.hostname not in {"localhost", "127.0.0.1", "::1"}:
        raise EnvironmentRefused(f"{name} must use tls=start or smtps:// where it has a password.")
    port = url.port
    if port == 0:
        raise ValueError
    return {
        "host": unquote(url.hostname),
        "port": port or (465 if url.scheme == "smtps" else 587 if query else 25),
        "username": unquote(url.username or ""),
        "password": unquote(url.password or ""),
        "use_tls": bool(query),
        "use_ssl": url.scheme == "smtps",
        "timeout": 30,
    }


def _refuse_options(options: Mapping[str, str], name: str) -> None:
    for option, value in options.items():
        if option not in _DATABASE_OPTIONS:
            allowed = ", ".join(sorted({"host", "port", *_DATABASE_OPTIONS}))
            raise EnvironmentRefused(f"{name} may have only the parameters {allowed}.")
        if not value:
            raise EnvironmentRefused(f"{name} must give a value to its parameter {option}.")
    if options.get("sslmode", "prefer") not in _SSL_MODES:
        raise EnvironmentRefused(f"{name} must set sslmode to one of {', '.join(_SSL_MODES)}.")
