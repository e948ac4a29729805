"""What must hold before the workbench serves, each refusal one sentence: the port and the database."""

import errno
import socket

import psycopg
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from workbench.folder import StartRefused


def refuse_taken_port(port: int) -> None:
    """Refuse a port that somebody listens on, or that this person may not use.

    Asked before serving, because the server shares its port among its workers and would share it with a stranger.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            why = (
                "is already in use"
                if error.errno == errno.EADDRINUSE
                else f"cannot be used ({error.strerror})"
            )
            raise StartRefused(f"Port {port} {why}; choose another with --port.") from None


def refuse_unusable_database() -> None:
    """Refuse a database that does not answer, is too old, or was written by a newer workbench."""
    try:
        # Past the pool, which would try for long and then not say why.
        with psycopg.connect(**connection.get_connection_params(), connect_timeout=5) as direct:
            version = direct.info.server_version
    except (psycopg.Error, ImproperlyConfigured, TypeError) as error:
        reason = str(error).strip().split("\n", 1)[0].rstrip(".")
        raise StartRefused(
            f"The database does not answer ({reason}); correct DATABASE_URL or start it."
        ) from None
    if version < 150000:
        raise StartRefused(
            f"The database is PostgreSQL {version // 10000}, but 15 or later is needed; upgrade it, or choose another "
            "with DATABASE_URL."
        )


def refuse_newer_database() -> None:
    """Refuse a database with migrations that this program does not know: it was written by a newer one."""
    loader = MigrationLoader(connection)
    ours = {app for app, _ in loader.disk_migrations}
    unknown = [f"{app}.{name}" for app, name in loader.applied_migrations if app in ours]
    unknown = [name for name in unknown if tuple(name.split(".", 1)) not in loader.disk_migrations]
    # A squashed migration that replaced others leaves their names behind, and that is no sign of a newer program.
    replaced = {
        f"{app}.{name}" for migration in loader.disk_migrations.values() for app, name in migration.replaces
    }
    if newer := sorted(set(unknown) - replaced):
        raise StartRefused(
            f"The database was written by a newer workbench (it has {newer[-1]}); get the newer program, or set "
            "WORKBENCH_DATA or DATABASE_URL to other data."
        )
