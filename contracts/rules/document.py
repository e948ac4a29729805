"""A whole contract as one JSON document: what it may hold, and every problem by JSON pointer (RFC 6901)."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from contracts.rules.coherence import LISTS, check_coherence, pointer, rows_of
from contracts.rules.completeness import Progress, missing_things
from contracts.rules.fields import Field, Kind, Refused, check_field
from contracts.rules.fingerprint import canonical, digest_bytes, fingerprint, operation_key
from contracts.rules.parts import PARTS
from contracts.rules.parts.part import COUNTED_LONG, Part
from contracts.rules.rows import Values, check_row, safe_name
from contracts.rules.states import ApprovalState, ContractState
from contracts.rules.text import check_task_id
from contracts.rules.verdict import Problem
from contracts.rules.vocabulary import Measure, Plane, Section
from contracts.rules.windows import Window
from contracts.rules.words import N_, Labelled

__all__ = [
    "FIXED",
    "FORMAT",
    "HEAD",
    "KEYS",
    "LIFE",
    "LISTS",
    "SCHEMA_VERSION",
    "Document",
    "check_document",
    "creation_digest",
]

FORMAT = "resume-state-contract"
SCHEMA_VERSION = 1
# Part whose rows every contract has → fact that names the row, its closed list.
FIXED: Mapping[str, tuple[str, type[Labelled]]] = {
    "plane": ("plane", Plane),
    "limit": ("measure", Measure),
    "window": ("window", Window),
}
HEAD = ("format", "schema_version", "task_id", "team", "revision", "revised_at")
KEYS = (*HEAD, "complete_sections", "identity", "life", "gate", *LISTS)
LIFE = Part(
    "life",
    Section.IDENTITY,
    N_("State"),
    N_("State"),
    (
        Field("state", Kind.CHOICE, N_("State"), words=ContractState, default=ContractState.DRAFT.value),
        Field("generation", Kind.WHOLE, N_("Generation"), default=0, high=COUNTED_LONG),
        Field("plan_digest", Kind.SHA256, N_("Plan digest")),
        Field("cancelled_at", Kind.MOMENT, N_("Cancelled at")),
        Field("cancelled_by", Kind.LINE, N_("Cancelled by")),
        Field("cancel_reason", Kind.TEXT, N_("Why it was cancelled")),
        Field("completed_at", Kind.MOMENT, N_("Completed at")),
        Field("archived_at", Kind.MOMENT, N_("Archived at")),
    ),
)
REVISION = Field("revision", Kind.WHOLE, N_("Revision"), low=1, default=1, high=COUNTED_LONG)
REVISED_AT = Field("revised_at", Kind.MOMENT, N_("Revised at"))
TEAM = Field("team", Kind.ID, N_("Team"), limit=50)


@dataclass(slots=True)
class Document:
    """A document that was read: clean values ready to be stored, and every problem found."""

    task_id: str = ""
    team: str = ""
    revision: int = 1
    revised_at: Any = None
    identity: Values = field(default_factory=dict)
    life: Values = field(default_factory=dict)
    gate: Values = field(default_factory=dict)
    complete_sections: list[str] = field(default_factory=list)
    rows: dict[str, list[Values]] = field(default_factory=dict)
    digest: str = ""
    problems: list[Problem] = field(default_factory=list)

    def add(self, place: str, code: str, sentence: str, **values: Any) -> None:
        """Remember one problem at the JSON pointer `place`."""
        self.problems.append(Problem(place, code, sentence, values))


def check_document(raw: Any, *, task_id: str = "") -> Document:
    """Read a parsed JSON document; `task_id` replaces the one it bears.

    Under another task id the operation keys are computed anew. Items waiting or approved and not yet used
    become stale under any id: a document says what somebody claims, and a decision counts only where it was
    made. The caller stores nothing while there are problems. A document without problems fits the database's
    constraints, and outside draft it holds all that leaving draft asks for.
    """
    document = Document()
    if not isinstance(raw, dict):
        document.add("", "wrong_type", N_("The document must be a JSON object."))
        return document
    _read_head(document, raw, task_id)
    if any(problem.field in ("/format", "/schema_version") for problem in document.problems):
        return document  # written in another language: whatever else it says would be misread
    _read_single(document, raw, "identity", PARTS["identity"])
    _read_single(document, raw, "life", LIFE)
    _read_single(document, raw, "gate", PARTS["gate"])
    _read_marks(document, raw.get("complete_sections", []))
    for key, part in LISTS.items():
        _read_list(document, raw.get(key, []), key, PARTS[part])
    if not document.problems:
        _check_digests(document, raw["task_id"])
        document.problems += check_coherence(document.identity, document.life, document.rows)
    if not document.problems:
        _check_complete(document)
    if not document.problems:
        document.digest = creation_digest({**raw, "task_id": document.task_id})
        if raw["task_id"] != document.task_id:
            _move_to_new_task(document)
        _leave_decisions_behind(document)
    return document


def creation_digest(raw: Mapping[str, Any]) -> str:
    """Return SHA-256 over the definition a contract is created with, whatever the order of its keys.

    `raw` is a document without problems: only what was read is known to be flat and finite enough.
    """
    text = json.dumps(raw, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read_head(document: Document, raw: Mapping[str, Any], task_id: str) -> None:
    for key in raw:
        if key not in KEYS:
            document.add(pointer(safe_name(key)), "unknown_field", N_("There is no such field here."))
    if raw.get("format") != FORMAT:
        document.add("/format", "unknown_format", N_("This is not a resume-state contract."))
    version = raw.get("schema_version")
    if version != SCHEMA_VERSION or type(version) is not int:  # True and 1.0 are equal to 1
        sentence = N_("Only schema version %(known)d can be read here; migrate the document first.")
        document.add("/schema_version", "unknown_version", sentence, known=SCHEMA_VERSION)
    borne = raw.get("task_id")
    for name in (borne, task_id or borne):
        problem = check_task_id("/task_id", name)
        if problem is not None and problem not in document.problems:
            document.problems.append(problem)
    if not document.problems:
        document.task_id = task_id or raw["task_id"]
    document.revision = _one(document, REVISION, raw)
    document.revised_at = _one(document, REVISED_AT, raw)
    document.team = _one(document, TEAM, raw)


def _one(document: Document, spec: Field, raw: Mapping[str, Any]) -> Any:
    try:
        return check_field(spec, raw.get(spec.name), document=True)
    except Refused as refused:
        _add_at(document, "", refused.problem)
        return spec.empty


def _add_at(document: Document, place: str, problem: Problem) -> None:
    where = place + pointer(problem.field)
    document.problems.append(Problem(where, problem.code, problem.sentence, problem.values))


def _read_single(document: Document, raw: Mapping[str, Any], key: str, part: Part) -> None:
    given = raw.get(key, {})
    if not isinstance(given, dict):
        document.add(pointer(key), "wrong_type", N_("This must be a JSON object."))
        return
    setattr(document, key, _read_row(document, given, pointer(key), part))


def _read_list(document: Document, given: Any, key: str, part: Part) -> None:
    document.rows[part.name] = []
    if not isinstance(given, list):
        document.add(pointer(key), "wrong_type", N_("This must be a list."))
        return
    for index, row in enumerate(given):
        place = pointer(key, index)
        if not isinstance(row, dict):
            document.add(place, "wrong_type", N_("This must be a JSON object."))
            continue
        document.rows[part.name].append(_read_row(document, row, place, part))


def _read_row(document: Document, given: Mapping[str, Any], place: str, part: Part) -> Values:
    checked = check_row(part, given, document=True)
    for problem in checked.problems:
        _add_at(document, place, problem)
    return checked.values


def _read_marks(document: Document, given: Any) -> None:
    order = [section.value for section in Section]
    if not isinstance(given, list):
        document.add("/complete_sections", "wrong_type", N_("This must be a list of section names."))
        return
    for index, name in enumerate(given):
        place = pointer("complete_sections", index)
        if not isinstance(name, str) or name not in order:
            document.add(place, "unknown_word", N_("There is no such section."))
        elif name in document.complete_sections:
            document.add(place, "duplicate", N_("This stands in the list twice."))
        else:
            document.complete_sections.append(name)
    document.complete_sections.sort(key=order.index)


def _check_digests(document: Document, task_id: str) -> None:
    """Compute every digest that the document could lie about, and refuse one that differs."""
    for place, row in rows_of(document.rows, "operation"):
        _same(document, place, row, "fingerprint", fingerprint(row["parameters"]))
        key = operation_key(task_id, row["step"], row["round"], row["tool"], row["parameters"])
        _same(document, place, row, "key", key)
    for place, row in rows_of(document.rows, "approval"):
        _same(document, place, row, "fingerprint", fingerprint(row["parameters"]))
    for place, row in rows_of(document.rows, "artefact"):
        if row["inline_text"]:
            _keep_inline(document, place, row, row["inline_text"].encode())
    granted = {row["number"]: row["generation"] for row in document.rows["attempt"]}
    for place, row in rows_of(document.rows, "checkpoint"):
        if row["inline_state"] is not None:
            _keep_inline(document, place, row, canonical(row["inline_state"]))
        if row["attempt"] in granted:  # a missing one is reported among the references
            _same(document, place, row, "generation", granted[row["attempt"]])


def _keep_inline(document: Document, place: str, row: Values, content: bytes) -> None:
    _same(document, place, row, "sha256", digest_bytes(content))
    _same(document, place, row, "size_bytes", len(content))


def _same(document: Document, place: str, row: Values, name: str, computed: str | int) -> None:
    if row[name] and row[name] != computed:
        code = "bad_checksum" if isinstance(computed, str) else "does_not_match"
        document.add(f"{place}/{name}", code, N_("This does not match what it is computed from."))
    row[name] = computed


def _move_to_new_task(document: Document) -> None:
    renamed = {}
    for row in document.rows["operation"]:
        old = row["key"]
        row["key"] = operation_key(
            document.task_id, row["step"], row["round"], row["tool"], row["parameters"]
        )
        renamed[old] = row["key"]
    for row in document.rows["approval"]:
        row["operation_key"] = renamed[row["operation_key"]]


def _leave_decisions_behind(document: Document) -> None:
    waiting = (ApprovalState.PENDING, ApprovalState.APPROVED)
    for row in document.rows["approval"]:
        if row["state"] in waiting and row["consumed_at"] is None:
            row["stale_member"], row["stale_was"], row["stale_now"] = "origin", row["state"], ""
            row["state"] = ApprovalState.STALE.value


def _check_complete(document: Document) -> None:
    """Ask of a document at work or at its end what leaving draft asks; marks and the clock are left out."""
    if document.life["state"] not in (ContractState.PAUSED, ContractState.COMPLETED):
        return
    for thing in missing_things(_progress(document), now=datetime.min.replace(tzinfo=UTC)):
        if thing.code != "not_marked":
            document.add("/life/state", "incomplete_" + thing.code, thing.sentence, **thing.values)


def _progress(document: Document) -> Progress:
    rows = {part: _with_blanks(part, document.rows[part]) for part in ("plane", "limit", "window")}
    deadline = document.identity["deadline"]
    return Progress(
        identity={**document.identity, "deadline": deadline.isoformat() if deadline else ""},
        rows={**rows, "tool": document.rows["tool"], "gate": [document.gate]},
        counts={part: len(listed) for part, listed in document.rows.items()},
        touched=frozenset(),
        marked=frozenset(document.complete_sections),
    )


def _with_blanks(part: str, listed: Sequence[Values]) -> list[Values]:
    """Return the rows together with those that every contract has and the document left out."""
    fact, words = FIXED[part]
    given = {row[fact] for row in listed}
    blank = {field.name: field.empty for field in PARTS[part].fields}
    return [*listed, *({**blank, fact: word.value} for word in words if word.value not in given)]
