"""Traces by OpenTelemetry, where somebody asked for them and the group `telemetry` is installed.

Where they go is said by OpenTelemetry's own variables: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER=console.
"""

import importlib.util
import os
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from workbench.folder import StartRefused

PARTS = (
    "opentelemetry.sdk.trace",
    "opentelemetry.instrumentation.django",
    "opentelemetry.instrumentation.psycopg",
    "opentelemetry.exporter.otlp.proto.http",
)
# Attributes of a span that repeat what was sent: an address with everything typed into it, a header.
_SENT = (
    "http.url",
    "http.target",
    "url.full",
    "url.path",
    "url.query",
    "http.user_agent",
    "user_agent.original",
)


def refuse_missing_parts() -> None:
    """Refuse to start where traces are asked for and cannot be made."""
    if settings.OTEL and not all(map(_is_here, PARTS)):
        raise StartRefused(
            "WORKBENCH_OTEL is set, but OpenTelemetry is not installed; run `uv sync --group telemetry`, or unset it."
        )


def begin_tracing() -> None:
    """Let requests and statements of this process be traced. To be called before the application is made."""
    if not settings.OTEL:
        return
    refuse_missing_parts()
    from opentelemetry import trace
    from opentelemetry.instrumentation.django import DjangoInstrumentor
    from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create(
        {"service.name": os.environ.get("OTEL_SERVICE_NAME", "resume-state-workbench")}
    )
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(_exporter()))
    trace.set_tracer_provider(provider)
    DjangoInstrumentor().instrument(response_hook=_forget_what_was_sent)
    PsycopgInstrumentor().instrument()


def _exporter() -> Any:
    if os.environ.get("OTEL_TRACES_EXPORTER") == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


def _forget_what_was_sent(span: Any, request: HttpRequest, _response: Any) -> None:
    route = request.resolver_match.route if request.resolver_match else ""
    for name in _SENT:
        if name in (span.attributes or {}):
            span.set_attribute(name, route)


def _is_here(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
