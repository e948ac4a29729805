import contextlib
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.db import connection

from tests.serving import served


@pytest.fixture(scope="module")
def url(tmp_path_factory, django_db_setup, django_db_blocker):
    """The address of a workbench as it is really served."""
    with django_db_blocker.unblock(), served(tmp_path_factory.mktemp("served"), workers=1) as url:
        yield url


@pytest.fixture
def database():
    """The address of the database of the tests, where LangGraph and DBOS make tables of their own."""
    settings = connection.settings_dict
    with connection.cursor() as cursor:  # a workflow is found again by its id, which the next test uses anew
        cursor.execute("DROP SCHEMA IF EXISTS dbos CASCADE")
    place = f"host={settings['HOST']}&port={settings['PORT'] or 5432}"
    return f"postgresql://{settings['USER']}@/{settings['NAME']}?{place}"


@pytest.fixture
def temporal():
    """The address of a Temporal server of one's own, in memory."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = Path(sys.executable).with_name("temporal-test-server")
    with subprocess.Popen(
        [str(program), str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            for _ in range(300):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                time.sleep(0.1)
            yield f"127.0.0.1:{port}"
        finally:
            server.kill()
