"""Log lines that keep quiet about what people typed: plain ones to read, and JSON for programs."""

import logging
import re
import traceback
from datetime import UTC, datetime
from typing import Any, override

from django.db import OperationalError
from pythonjsonlogger.json import JsonFormatter

# PostgreSQL's errors end in lines that show the refused row or the values of a query.
_TELLING = re.compile(r"^(DETAIL|CONTEXT|QUERY|LINE \d+|HINT):?.*(\n[ \t]+.*)*\n?", re.MULTILINE)
# What Django itself says of a request repeats its address, a header or a value.
_OF_REQUESTS = ("django.request", "django.security")
# What one request's line tells, see `observing.requests`. Nothing else that comes with a record is written.
TOLD = ("method", "route", "status", "ms", "user", "token")
# The texts of these speak of the machine and the network; those of other errors may repeat what was typed.
_OF_THE_MACHINE = (OSError, OperationalError)
_LONGEST_CHAIN = 10  # errors that came of one another


def quiet(text: str) -> str:
    """Return `text` without the lines in which PostgreSQL shows the values of a row."""
    return _TELLING.sub("", text).rstrip("\n")


class Refusals(logging.Filter):
    """Takes the traceback off what tells of a refused request: the line says it all, and nothing is broken."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass; see the class."""
        if getattr(record, "status_code", 500) < 500:
            record.exc_info = record.exc_text = None
        return True


class ReticentFormatter(logging.Formatter):
    """Formats as usual, but drops the lines in which PostgreSQL shows the values of a row."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        """Return the formatted line; see the class."""
        return quiet(super().format(record))


class JsonLines(JsonFormatter):
    """One JSON object a line. Of an error it tells where and of which kind, not what its text repeats."""

    @override
    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        """Fill in what the line tells; `message_dict` holds the traceback, if there is one."""
        log_data["time"] = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        log_data["level"], log_data["logger"] = record.levelname, record.name
        log_data["message"] = _message(record)
        log_data |= {name: getattr(record, name) for name in TOLD if hasattr(record, name)}
        if known := _request_id(record):
            log_data["request_id"] = known
        if trace := message_dict.get("exc_info"):
            log_data["traceback"] = trace

    @override
    def formatException(self, ei: Any) -> str:
        """Return where the error arose and those it came of, the newest first."""
        told: list[str] = []
        error: BaseException | None = ei[1]
        while error is not None and len(told) < _LONGEST_CHAIN:
            told.append("".join(traceback.format_tb(error.__traceback__)) + _name(error))
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return "\n".join(told)


def _message(record: logging.LogRecord) -> str:
    if not record.name.startswith(_OF_REQUESTS):
        return quiet(record.getMessage())
    match = getattr(getattr(record, "request", None), "resolver_match", None)
    status = getattr(record, "status_code", "refused")
    return f"{status} {match.route if match else ''}".rstrip()


def _request_id(record: logging.LogRecord) -> str:
    from workbench.observing.requests import current_id  # it needs the settings, which name this module

    return getattr(getattr(record, "request", None), "request_id", "") or current_id()


def _name(error: BaseException) -> str:
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    return f"{name}: {quiet(str(error))}" if isinstance(error, _OF_THE_MACHINE) else name
