"""The parts of a contract: which fields each has, in which section it is filled in, and until when.

One declaration serves the forms, the pasted tables, the import, the exports and their JSON Schema.
"""

from collections.abc import Mapping

from contracts.rules.parts.part import PEOPLE, Part
from contracts.rules.parts.plan import GATE, IDENTITY, LIMIT, PLANE, POLICY, TOOL, WINDOW
from contracts.rules.parts.records import (
    APPROVAL,
    ARTEFACT,
    ATTEMPT,
    CHECKPOINT,
    OBJECT,
    OPERATION,
    SOURCE,
    STEP,
    USAGE,
    VOTE,
)

__all__ = ["PARTS", "PEOPLE", "Part", "parts_of"]

PARTS: Mapping[str, Part] = {
    part.name: part
    for part in (
        IDENTITY,
        PLANE,
        CHECKPOINT,
        STEP,
        SOURCE,
        ARTEFACT,
        OBJECT,
        TOOL,
        OPERATION,
        POLICY,
        APPROVAL,
        VOTE,
        LIMIT,
        USAGE,
        GATE,
        ATTEMPT,
        WINDOW,
    )
}


def parts_of(section: str) -> tuple[Part, ...]:
    """Return the parts that are filled in on the page of `section`, in page order."""
    return tuple(part for part in PARTS.values() if part.section == section)
