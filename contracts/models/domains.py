"""Columns of the tables that every step writes: what they may hold is said by a PostgreSQL domain.

The rule stands in the database as surely as a CHECK constraint of the table. But the checks of a table are read and
planned anew for every statement that writes it, all of them, whichever columns it sets: a fifth of a step's time.
A domain is planned once for a session, and asked only of the columns that a statement sets.
"""

from typing import Any, NamedTuple

from django.db import models

from contracts.rules.states import ContractState, OperationState, StepState
from contracts.rules.vocabulary import (
    Acceptance,
    CheckpointKind,
    Durability,
    Measure,
    StepKind,
)

TASK_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,119}$"


class Domain(NamedTuple):
    """A type of the database: what it is made of, the name of its rule (the code of a refusal), and the rule."""

    base: str
    constraint: str
    rule: str


def _words(constraint: str, words: type[Any], length: int = 20) -> Domain:
    allowed = ", ".join(f"'{word.value}'" for word in words)
    return Domain(f"varchar({length})", constraint, f"VALUE IN ({allowed})")


# A migration creates each of them; one that changes here is to be changed by a further migration.
DOMAINS = {
    "contracts_count": Domain("bigint", "count_from_zero", "VALUE >= 0"),
    "contracts_small_count": Domain("integer", "small_count_from_zero", "VALUE >= 0"),
    "contracts_round": Domain("integer", "round_from_one", "VALUE > 0"),
    # The same as ~ '^[0-9a-f]{64}$' at a twentieth of its time.
    "contracts_sha256": Domain(
        "varchar(64)", "sha256_in_hex", "length(VALUE) = 64 AND btrim(VALUE, '0123456789abcdef') = ''"
    ),
    "contracts_task_id": Domain("varchar(120)", "task_id_is_well_formed", f"VALUE ~ '{TASK_ID_PATTERN}'"),
    "contracts_contract_state": _words("contract_state_is_known", ContractState),
    "contracts_acceptance": _words("acceptance_is_known", Acceptance),
    "contracts_checkpoint_kind": _words("checkpoint_kind_is_known", CheckpointKind),
    "contracts_durability": _words("durability_is_known", Durability),
    "contracts_step_kind": _words("step_kind_is_known", StepKind),
    "contracts_step_state": _words("step_state_is_known", StepState),
    "contracts_operation_state": _words("operation_state_is_known", OperationState),
    "contracts_measure": _words("usage_measure_is_known", Measure, 40),
}


class _InDomain(models.Field):  # type: ignore[type-arg]
    """A field whose column has the type `domain`; everything else is as in the field beside it."""

    def __init__(self, *args: Any, domain: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.domain = domain

    def deconstruct(self) -> Any:
        """Return the field for a migration, with its domain."""
        name, path, arguments, options = super().deconstruct()
        return name, path, arguments, {**options, "domain": self.domain}

    def db_type(self, connection: Any) -> str:  # noqa: ARG002
        """Return the domain."""
        return self.domain

    def db_check(self, connection: Any) -> None:
        """Return no check of the table: the domain has it."""


class Number(_InDomain, models.PositiveBigIntegerField):  # type: ignore[type-arg]
    """A whole number up to 2^63 - 1."""

    def get_internal_type(self) -> str:
        """Return the type that has no check of its own."""
        return "BigIntegerField"

    def __init__(self, *args: Any, domain: str = "contracts_count", **options: Any) -> None:
        super().__init__(*args, domain=domain, **options)


class SmallNumber(_InDomain, models.PositiveIntegerField):  # type: ignore[type-arg]
    """A whole number up to 2^31 - 1."""

    def get_internal_type(self) -> str:
        """Return the type that has no check of its own."""
        return "IntegerField"

    def __init__(self, *args: Any, domain: str = "contracts_small_count", **options: Any) -> None:
        super().__init__(*args, domain=domain, **options)


class Word(_InDomain, models.CharField):  # type: ignore[type-arg]
    """A short text of a closed list or of a fixed shape."""


def digest(**options: Any) -> Any:
    """Return a column for a SHA-256 checksum: 64 hexadecimal digits in lower case."""
    return Word(domain="contracts_sha256", max_length=64, **options)
