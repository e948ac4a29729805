"""Collects static files into the data folder, only when one of them changed."""

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):
    """Hashed and compressed files; a script that imports another names its hashed file too."""

    support_js_module_import_aggregation = True


def collect_if_changed() -> bool:
    """Collect, hash and compress the static files unless those of the last time still stand; tell whether it did."""
    root = Path(settings.STATIC_ROOT)
    root.mkdir(parents=True, exist_ok=True)
    stamp = root / ".collected"
    mark = _mark()
    if stamp.exists() and stamp.read_text() == mark:
        return False
    stamp.unlink(missing_ok=True)
    call_command("collectstatic", interactive=False, verbosity=0)
    stamp.write_text(mark)
    return True


def _mark() -> str:
    """Return a digest over name, size and time of every static file."""
    seen = hashlib.sha256(settings.STORAGES["staticfiles"]["BACKEND"].encode())
    for finder in get_finders():
        for name, storage in sorted(finder.list([]), key=lambda entry: entry[0]):
            state = Path(storage.path(name)).stat()
            seen.update(f"{name}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    return seen.hexdigest()
