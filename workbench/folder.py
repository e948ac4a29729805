"""The data folder: where it is, that it can be written, who uses it, and the secret key kept in it."""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import platformdirs

from workbench.environment import Environ, read_path


class StartRefused(Exception):
    """The workbench cannot start; the text is one sentence with a way out, fit to be shown without a traceback."""


def data_folder(environ: Environ) -> Path:
    """Return `WORKBENCH_DATA`, or this person's own data folder. Nothing is created."""
    return read_path(environ, "WORKBENCH_DATA", platformdirs.user_data_path("resume-state-workbench"))


def ensure_folder(folder: Path) -> Path:
    """Create the folder if need be and prove that it can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o711)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StartRefused(
            f"The data folder {folder} cannot be written ({error.strerror}); "
            "make it writable or set WORKBENCH_DATA to another folder."
        ) from error
    return folder


def stored_secret_key(folder: Path) -> str:
    """Return the key kept in the data folder, or an empty string if there is none that can be read."""
    try:
        return (folder / "secret-key").read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def ensure_secret_key(folder: Path) -> None:
    """Write a fresh key once, readable by its owner only; twins racing here agree on the first one."""
    path = folder / "secret-key"
    fresh = folder / f".secret-key-{os.getpid()}"
    if stored_secret_key(folder):
        return
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(64))
    try:
        # A link fails where a name exists, so nobody ever reads half a key or has one replaced.
        os.link(fresh, path)
    except FileExistsError:
        if not stored_secret_key(folder):
            fresh.replace(path)
    fresh.unlink(missing_ok=True)


def open_lock(path: Path) -> IO[str]:
    """Open a file to be locked, made readable by its owner only: whoever can open it could hold everybody up."""
    return open(path, "a+", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600))


@contextlib.contextmanager
def only_one(folder: Path, address: str) -> Iterator[None]:
    """Hold the folder as the one workbench that serves from it; the kernel lets go when the process dies."""
    with open_lock(folder / "serving") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise StartRefused(
                f"The workbench already runs with the data folder {folder} at {file.read().strip() or address}; "
                "open that address, stop it first, or set WORKBENCH_DATA to another folder."
            ) from None
        file.truncate(0)
        file.write(address)
        file.flush()
        yield
