"""How things stand in the database at the moment somebody asks: one statement for all figures."""

from collections.abc import Iterator

from django.db import DatabaseError, connection
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from contracts.rules.states import ApprovalState, OperationState

_FIGURES = """
SELECT (SELECT count(*) FROM contracts_operation WHERE state = %(unknown)s),
    (SELECT count(*) FROM contracts_approval WHERE state = %(pending)s),
    (SELECT count(*) FROM contracts_approval WHERE state = %(pending)s AND expires_at <= clock_timestamp()),
    (SELECT count(*) FROM contracts_attempt WHERE ended_at IS NULL AND lease_end > clock_timestamp()),
    (SELECT count(*) FROM contracts_attempt WHERE ended_at IS NULL AND lease_end <= clock_timestamp())
"""
NAMES = {
    "workbench_operations_unknown": "External writes of which nobody knows whether they arrived.",
    "workbench_approvals_waiting": "Approval items that wait for a person.",
    "workbench_waits_overdue": "Of these, items whose time has run out: nobody has tended them, see `watch`.",
    "workbench_attempts_live": "Attempts that hold their task under a running lease.",
    "workbench_leases_lapsed": "Attempts whose lease has lapsed and that nobody has taken over yet.",
}


class Standing(Collector):
    """The gauges. Where the database does not answer, they are left out, and one says so."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield every gauge."""
        figures = _figures()
        yield GaugeMetricFamily(
            "workbench_database_answers",
            "1 if the database answers, else 0.",
            value=float(figures is not None),
        )
        for (name, text), figure in zip(NAMES.items(), figures or (), strict=False):
            yield GaugeMetricFamily(name, text, value=float(figure))


def _figures() -> tuple[int, ...] | None:
    values = {"unknown": OperationState.UNKNOWN.value, "pending": ApprovalState.PENDING.value}
    try:
        with connection.cursor() as cursor:
            cursor.execute(_FIGURES, values)
            found: tuple[int, ...] = cursor.fetchone()
    except DatabaseError:
        return None
    return found
