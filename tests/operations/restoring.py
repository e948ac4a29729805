"""A PostgreSQL of its own with an archive of its log, a base backup of it, and a server restored from both."""

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection

from workbench.environment import read_database
from workbench.postgres import EmbeddedPostgres, EmbeddedPostgresError, _socket_folder, embedded_url

# As the document says, but for the place of the archive.
ARCHIVING = {
    "archive_mode": "on",
    "archive_command": "test ! -f {archive}/%f && cp %p {archive}/%f",
}
RESTORING = """
restore_command = 'cp {archive}/%f %p'
recovery_target_time = '{moment}'
recovery_target_action = 'promote'
archive_mode = off
"""


class Servers:
    """`first` is what is lost; `restored` is made of its backup."""

    def __init__(self, folder: Path) -> None:
        self.archive, self.backup = folder / "archive", folder / "backup"
        self.first = EmbeddedPostgres(folder / "first", durable=False)
        self.restored = EmbeddedPostgres(folder / "restored", durable=False)
        for place in (self.archive, self.backup, self.restored.folder):
            place.mkdir()

    def start(self) -> str:
        """Start the first server with its archive and return the address of its database."""
        self.first.attach()
        for place in (self.archive, self.backup):
            self.first._give_away(place)  # where we are root, the server is somebody else
        with self._ask(self.first) as server:
            for name, value in ARCHIVING.items():
                words = value.format(archive=self.archive)
                server.execute(f"ALTER SYSTEM SET {name} = '{words}'")
        self.first.stop()
        self.first._start()
        return embedded_url(self.first.folder)

    def back_up(self) -> None:
        """Take a base backup while the server works."""
        place = str(_socket_folder(self.first.folder))
        words = ["-h", place, "-U", "postgres", "-D", str(self.backup), "-X", "none", "-c", "fast"]
        self.first._run("pg_basebackup", *words, "--no-sync")

    def lose(self) -> None:
        """Let the archive have the last of the log, and lose the server."""
        with self._ask(self.first) as server:
            wanted = server.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()[0]
        for _ in range(300):
            if (self.archive / wanted).exists():
                break
            time.sleep(0.1)
        assert (self.archive / wanted).exists()
        self.first.stop("immediate")

    def restore(self, moment: str) -> str:
        """Start another server from the backup as it was at `moment`; return the address of its database."""
        self.backup.rename(self.restored.database_folder)
        self.restored.database_folder.chmod(0o700)
        with (self.restored.database_folder / "postgresql.auto.conf").open("a") as settings:
            settings.write(RESTORING.format(archive=self.archive, moment=moment))
        signal = self.restored.database_folder / "recovery.signal"
        signal.touch()
        self.restored._give_away(signal)
        try:
            self.restored._start()
        except EmbeddedPostgresError:
            raise AssertionError(self.restored.log.read_text()) from None
        with self._ask(self.restored) as server:
            for _ in range(300):
                if not server.execute("SELECT pg_is_in_recovery()").fetchone()[0]:
                    return embedded_url(self.restored.folder)
                time.sleep(0.1)
        raise AssertionError(self.restored.log.read_text())

    def _ask(self, server: EmbeddedPostgres) -> psycopg.Connection:
        return server._connect("postgres")


@contextlib.contextmanager
def servers() -> Iterator[Servers]:
    """Give two servers that are gone at the end, whatever happens."""
    # Not below pytest's own folder, which nobody else may enter.
    folder = Path(tempfile.mkdtemp(prefix="workbench-"))
    folder.chmod(0o711)
    made = Servers(folder)
    try:
        yield made
    finally:
        for server in (made.first, made.restored):
            server.stop("immediate")
            server.detach()
            shutil.rmtree(_socket_folder(server.folder), ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def working_on(url: str) -> Iterator[None]:
    """Let everything in this process that asks the database ask the one at `url`."""
    kept: dict[str, Any] = dict(connection.settings_dict)
    given = read_database({"DATABASE_URL": url}, "DATABASE_URL", "")
    connection.close()
    connection.settings_dict.update(
        {name: given[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}
    )
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.clear()
        connection.settings_dict.update(kept)
