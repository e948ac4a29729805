"""Log lines that keep quiet about what people typed."""

import logging
import re

# PostgreSQL's errors end in lines that show the refused row or the values of a query.
_TELLING = re.compile(r"^(DETAIL|CONTEXT|QUERY|LINE \d+|HINT):?.*(\n[ \t]+.*)*\n?", re.MULTILINE)


class ReticentFormatter(logging.Formatter):
    """Formats as usual, but drops the lines in which PostgreSQL shows the values of a row."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the formatted line; see the class."""
        return _TELLING.sub("", super().format(record)).rstrip("\n")
