"""Where a benchmark happens: a server of its own, and Django on a fresh database there."""

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.contenders import Place


@contextlib.contextmanager
def server(*, durable: bool) -> Iterator[Place]:
    """A fresh database, synced to disk where `durable`, and the settings Django reads from the environment."""
    from workbench.postgres import EmbeddedPostgres, throw_away

    folder = Path(tempfile.mkdtemp(prefix="workbench-benchmark-"))
    try:
        with EmbeddedPostgres(folder) if durable else throw_away() as address:
            (folder / "static").mkdir(exist_ok=True)
            os.environ |= {
                "DATABASE_URL": address,
                "WORKBENCH_DATA": str(folder),
                "WORKBENCH_SECRET_KEY": secrets.token_urlsafe(64),
                "WORKBENCH_POOL": "0",
                "DJANGO_SETTINGS_MODULE": "workbench.settings",
            }
            yield Place(address, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def workbench(*, durable: bool = False, settings: str = "workbench.settings") -> Iterator[None]:
    """Let Django work with a fresh database; inside a test, with the database and the settings of the test."""
    from django.apps import apps

    if apps.ready:
        assert os.environ["DJANGO_SETTINGS_MODULE"] == settings, "other settings need a process of their own"
        yield
        return
    with server(durable=durable):
        os.environ["DJANGO_SETTINGS_MODULE"] = settings
        import django
        from django.core.management import call_command

        django.setup()
        from django.conf import settings as known
        from django.db import connection

        from workbench.static import collect_if_changed

        known.ALLOWED_HOSTS = [
            *known.ALLOWED_HOSTS,
            "testserver",
        ]  # as the client calls itself that visits pages
        call_command("migrate", verbosity=0)
        collect_if_changed()
        yield
        connection.close()


def analyse() -> None:
    """Do what autovacuum does within a minute: tables that were empty a moment ago are planned for as they are."""
    from django.db import connection

    with connection.cursor() as cursor:
        # A test holds a transaction open, in which nothing can be vacuumed.
        cursor.execute("ANALYZE" if connection.in_atomic_block else "VACUUM ANALYZE")
