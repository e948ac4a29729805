"""System checks: what must hold for the workbench to be safe, each with an id.

Errors stop every command; warnings appear with `check --deploy`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Caution
from django.db import connections

_MIDDLEWARE = (
    ("workbench.E003", "django.middleware.csp.ContentSecurityPolicyMiddleware"),
    ("workbench.E004", "django.contrib.auth.middleware.LoginRequiredMiddleware"),
)


@register(Tags.database)
def check_server_version(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """E001: PostgreSQL 15 or later."""
    found: list[CheckMessage] = []
    for alias in databases or ():
        connection = connections[alias]
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version_num")
            version = int(cursor.fetchone()[0])
        if version < 150000:
            found.append(
                Error(f"PostgreSQL 15 or later is needed, this is {version // 10000}.", id="workbench.E001")
            )
    return found


@register(Tags.database)
def check_database_settings(**_: Any) -> list[CheckMessage]:
    """E002: PostgreSQL, in autocommit, without a transaction around each request: gates begin and commit themselves."""
    database = settings.DATABASES["default"]
    sound = (
        database["ENGINE"] == "django.db.backends.postgresql"
        and database.get("AUTOCOMMIT", True)
        and not database.get("ATOMIC_REQUESTS", False)
    )
    hint = "Use PostgreSQL, leave AUTOCOMMIT on and ATOMIC_REQUESTS off."
    return (
        []
        if sound
        else [Error("The database settings undo the gates' transactions.", hint, id="workbench.E002")]
    )


@register(Tags.security)
def check_middleware(**_: Any) -> list[CheckMessage]:
    """E003, E004: the content security policy is sent and every view requires login."""
    return [
        Error(f"{name} is missing from MIDDLEWARE.", id=code)
        for code, name in _MIDDLEWARE
        if name not in settings.MIDDLEWARE
    ]


@register(Tags.security)
def check_policy(**_: Any) -> list[CheckMessage]:
    """E005: the policy forbids by default and has no unsafe source."""
    policy = settings.SECURE_CSP
    sources = [
        source for listed in policy.values() if isinstance(listed, list | tuple | set) for source in listed
    ]
    if policy.get("default-src") == ["'none'"] and not any(
        "unsafe" in source or source == "*" for source in sources
    ):
        return []
    return [Error("SECURE_CSP must start from 'none' and have no unsafe source.", id="workbench.E005")]


@register(Tags.security)
def check_shared_counts(**_: Any) -> list[CheckMessage]:
    """E007: failed logins and used codes are remembered where every process sees them."""
    backend = str(settings.CACHES["default"]["BACKEND"])
    if not backend.rpartition(".")[2].startswith(("LocMem", "Dummy", "FileBased")):
        return []
    return [
        Error("Each process would count failed logins by itself: use a shared cache.", id="workbench.E007")
    ]


@register(Tags.security)
def check_anonymous(**_: Any) -> list[CheckMessage]:
    """E006: nobody is granted anything without logging in."""
    if getattr(settings, "ANONYMOUS_USER_NAME", "AnonymousUser") is None:
        return []
    return [
        Error(
            "ANONYMOUS_USER_NAME must be None: guardian would make a user for strangers.", id="workbench.E006"
        )
    ]


@register(Tags.security, deploy=True)
def check_cookies(**_: Any) -> list[CheckMessage]:
    """W001, W002, W003: production cookies, key and password hashing."""
    rules: list[tuple[str, str, Callable[[], bool]]] = [
        (
            "workbench.W001",
            "WORKBENCH_HTTPS=1 is needed for secure cookies.",
            lambda: settings.LANGUAGE_COOKIE_SECURE,
        ),
        (
            "workbench.W002",
            "WORKBENCH_SECRET_KEY is not set and no key is kept.",
            lambda: settings.SECRET_KEY_KEPT,
        ),
        (
            "workbench.W003",
            "Argon2 must be the first password hasher.",
            lambda: "Argon2" in settings.PASSWORD_HASHERS[0],
        ),
    ]
    return [Caution(sentence, id=code) for code, sentence, holds in rules if not holds()]
