import contextlib
import shutil
import tempfile
from pathlib import Path

import pytest

from workbench.postgres import EmbeddedPostgres


@pytest.fixture(scope="module")
def server_folder():
    # Not below pytest's own folder: every run of pytest closes that one to the server's system user again.
    folder = Path(tempfile.mkdtemp(prefix="workbench-"))
    yield folder
    with contextlib.suppress(Exception):
        EmbeddedPostgres(folder).stop("immediate")
    shutil.rmtree(folder)
