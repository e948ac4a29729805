"""What a gate answers: allowed, or refused with a stable code and one sentence."""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as column
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in one place.

    `field` names the field (or a JSON pointer), `code` is stable, `sentence` is a message id with named
    percent placeholders that `values` fills. A problem never carries a secret.
    """

    field: str
    code: str
    sentence: str
    values: Mapping[str, Any] = column(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of a gate.

    `outcome` is whatever the gate produced (a row, a count); on a refusal it is what stands instead, so that
    the caller can show it. `problems` lists every fault found, not only the first.
    """

    allowed: bool
    code: str
    sentence: str
    values: Mapping[str, Any] = column(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    outcome: Any = None


def allow(outcome: Any = None, *, code: str = "done", sentence: str = "") -> Verdict:
    """Return a verdict that lets the act stand."""
    return Verdict(True, code, sentence, outcome=outcome)


def refuse(
    code: str,
    sentence: str,
    *,
    problems: tuple[Problem, ...] = (),
    outcome: Any = None,
    **values: Any,
) -> Verdict:
    """Return a refusal; `values` fill the placeholders of `sentence`."""
    return Verdict(False, code, sentence, values, problems, outcome)
