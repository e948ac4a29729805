"""What schemathesis 4.24 needs to generate with the newer Hypothesis and jsonschema-rs that are installed here."""

from typing import Any

from hypothesis.internal.conjecture.utils import many
from schemathesis.specs.openapi import _hypothesis

_END = object()


def more(elements: Any) -> bool:
    """Tell whether one more element is wanted, as `many` itself did when it was no iterator yet."""
    if elements._depth is None:
        elements.__enter__()
        elements.walk = iter(elements)
    return next(elements.walk, _END) is not _END


def teach(monkeypatch: Any) -> None:
    """Let hypothesis-jsonschema 0.23 generate everything for the length of one test."""
    monkeypatch.setattr(many, "more", more, raising=False)
    monkeypatch.setattr(_hypothesis, "_canonical_strategy_or_none", lambda *_: None)
