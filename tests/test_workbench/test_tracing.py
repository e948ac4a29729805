"""Traces, where OpenTelemetry is installed, and a clear sentence where it is not."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.folder import StartRefused
from workbench.observing import tracing

ROOT = Path(__file__).resolve().parents[2]
# One request to the application as it is served, and an end that lets the last spans out.
PROGRAM = """
from io import BytesIO
from workbench.wsgi import application
from opentelemetry import trace
environ = {
    "REQUEST_METHOD": "GET", "PATH_INFO": "/healthz", "QUERY_STRING": "q=hunter22", "SERVER_NAME": "localhost",
    "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.url_scheme": "http", "wsgi.input": BytesIO(),
    "HTTP_HOST": "localhost", "HTTP_COOKIE": "workbench_session=hunter22", "HTTP_USER_AGENT": "hunter22",
}
said = []
b"".join(application(environ, lambda status, headers: said.append(status)))
assert said == ["200 OK"], said
trace.get_tracer_provider().shutdown()
"""


def test_without_the_group_the_start_is_refused_with_what_to_do(settings, monkeypatch):
    settings.OTEL = False
    monkeypatch.setattr(tracing, "PARTS", ("no_such_package.at.all",))
    tracing.refuse_missing_parts()  # nobody asked for traces
    settings.OTEL = True
    with pytest.raises(StartRefused, match="uv sync --group telemetry"):
        tracing.begin_tracing()


@pytest.mark.skipif(
    importlib.util.find_spec("opentelemetry") is None,
    reason="OpenTelemetry is not installed: uv run --group telemetry pytest",
)
@pytest.mark.django_db(transaction=True)
def test_a_request_and_its_statements_are_traced_without_what_they_hold(tmp_path):
    from tests.serving import _environment

    tmp_path.joinpath("static").mkdir()
    environment = _environment(tmp_path, 1) | {"WORKBENCH_OTEL": "1", "OTEL_TRACES_EXPORTER": "console"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert '"name": "GET healthz"' in done.stdout
    assert "SELECT 1" in done.stdout
    assert "hunter22" not in done.stdout + done.stderr
    assert os.environ.get("OTEL_TRACES_EXPORTER") is None
