"""The rows of one whole contract against each other: what no row can be told by itself.

A gate meets these rules as constraints of the database. A document is measured against all of them before
anything is stored, so that it is refused with every problem in its place.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from contracts.rules.approving import ITEM_ID
from contracts.rules.refusals import SENTENCES
from contracts.rules.rows import Values
from contracts.rules.states import ApprovalState, ContractState, ObjectState, OperationState
from contracts.rules.verdict import Problem
from contracts.rules.words import N_

Rows = Mapping[str, Sequence[Values]]
Concerns = Callable[[Values], bool]
# Key of a list in the document → part of its rows, in document order.
LISTS: Mapping[str, str] = {
    "planes": "plane",
    "attempts": "attempt",
    "checkpoints": "checkpoint",
    "journal": "step",
    "sources": "source",
    "artefacts": "artefact",
    "objects": "object",
    "tools": "tool",
    "operations": "operation",
    "policies": "policy",
    "approvals": "approval",
    "votes": "vote",
    "limits": "limit",
    "usage": "usage",
    "windows": "window",
}
KEY_OF: Mapping[str, str] = {part: key for key, part in LISTS.items()}
AT_REST = frozenset(
    {ContractState.DRAFT, ContractState.PAUSED, ContractState.COMPLETED, ContractState.CANCELLED}
)
SETTLED = frozenset({ObjectState.CONFIRMED, ObjectState.SKIPPED})
UNSENT = frozenset({OperationState.PENDING, OperationState.ABANDONED})
OPEN = frozenset({OperationState.PENDING, OperationState.SENDING, OperationState.UNKNOWN})
DECIDED = frozenset({ApprovalState.APPROVED, ApprovalState.REJECTED})


def _is(*states: str) -> Concerns:
    return lambda row: row["state"] in states


def _decided_after_expiry(row: Values) -> bool:
    if row["state"] != ApprovalState.EXPIRED or not row["decided_by"]:
        return False
    return row["decided_at"] is None or row["decided_at"] > row["expires_at"]


# Part → facts that together stand once in its list; the first is where a second one is shown.
ONCE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("plane", ("plane",)),
    ("attempt", ("number",)),
    ("attempt", ("attempt_id",)),
    ("attempt", ("generation",)),
    ("checkpoint", ("sequence",)),
    ("checkpoint", ("checkpoint_id",)),
    ("step", ("sequence",)),
    ("step", ("key",)),
    ("source", ("source_id", "version_label", "sha256")),
    ("artefact", ("artefact_id", "version_label", "sha256")),
    ("object", ("object_id",)),
    ("tool", ("tool",)),
    ("operation", ("key",)),
    ("operation", ("round", "object", "step", "tool")),
    ("policy", ("number",)),
    ("approval", ("item_id",)),
    ("vote", ("item", "decider")),
    ("limit", ("measure",)),
    ("usage", ("entry_id",)),
    ("window", ("window",)),
)
# Part, rows among which the facts may stand once, where a second one is shown, code.
ONE_AT_MOST: tuple[tuple[str, Concerns, tuple[str, ...], str, str], ...] = (
    ("source", lambda row: row["current"], ("source_id",), "current", "one_current_source_version"),
    ("artefact", lambda row: row["current"], ("artefact_id",), "current", "one_current_artefact_version"),
    ("attempt", lambda row: row["ended_at"] is None, (), "ended_at", "one_open_attempt"),
    ("approval", _is(ApprovalState.PENDING), ("operation_key",), "state", "one_waiting_item_per_operation"),
)
WHO_SETTLED = N_("A settled object names who and when.")
WHY_SKIPPED = N_("Skipping has a reason.")
WHO_SENT = N_("An operation that may have been sent names its generation.")
WHO_DECIDED = N_("A decision names who and when.")
WHY_REJECTED = N_("A rejection has a reason.")
WHAT_CHANGED = N_("A stale item names what changed.")
WHO_USED = N_("Only a decided item is used, and by one generation.")
# Part, rows, facts that those rows must have, why.
NEEDS: tuple[tuple[str, Concerns, tuple[str, ...], str], ...] = (
    ("object", _is(*SETTLED), ("settled_by", "settled_at"), WHO_SETTLED),
    ("object", _is(ObjectState.SKIPPED), ("note",), WHY_SKIPPED),
    ("operation", _is(*set(OperationState) - UNSENT), ("generation",), WHO_SENT),
    ("approval", _is(*DECIDED), ("decided_by", "decided_at"), WHO_DECIDED),
    ("approval", _is(ApprovalState.REJECTED), ("decision_reason",), WHY_REJECTED),
    ("approval", _is(ApprovalState.STALE), ("stale_member",), WHAT_CHANGED),
    ("approval", lambda row: row["consumed_at"], ("consumed_generation", "decided_by"), WHO_USED),
)
# Part, rows that can never be, where it is shown, code.
NEVER: tuple[tuple[str, Concerns, str, str], ...] = (
    ("approval", lambda row: not re.fullmatch(ITEM_ID, row["item_id"]), "item_id", "item_id_is_well_formed"),
    ("approval", lambda row: row["scope"] != "this_call", "scope", "no_blanket_scope"),
    ("approval", _decided_after_expiry, "decided_at", "expiry_is_nobodys_no"),
    ("vote", lambda row: row["decision"] not in DECIDED, "decision", "vote_is_yes_or_no"),
)
_SOURCE = ("source", ("source_id", "version_label", "sha256"))
_ARTEFACT = ("artefact", ("artefact_id", "version_label", "sha256"))
# Part, facts that refer (the id first), the part they refer to, its facts. All that is given must fit one row.
REFERENCES: tuple[tuple[str, tuple[str, ...], tuple[str, tuple[str, ...]]], ...] = (
    ("checkpoint", ("attempt",), ("attempt", ("number",))),
    ("step", ("attempt",), ("attempt", ("number",))),
    ("object", ("attempt",), ("attempt", ("number",))),
    ("usage", ("attempt",), ("attempt", ("number",))),
    ("artefact", ("source", "source_version", "source_sha256"), _SOURCE),
    ("object", ("source", "source_version", "source_sha256"), _SOURCE),
    ("object", ("artefact", "artefact_version", "artefact_sha256"), _ARTEFACT),
    ("operation", ("tool",), ("tool", ("tool",))),
    ("operation", ("object",), ("object", ("object_id",))),
    # The key tells which call it is: an item for that key cannot show another call.
    ("approval", ("operation_key", "tool", "fingerprint"), ("operation", ("key", "tool", "fingerprint"))),
    ("approval", ("draft", "draft_version", "draft_sha256"), _ARTEFACT),
    ("approval", ("passed_from",), ("approval", ("item_id",))),
    ("vote", ("item",), ("approval", ("item_id",))),
)
# Part, fact that holds a generation once granted.
GRANTED = (("attempt", "generation"), ("operation", "generation"), ("approval", "consumed_generation"))


def check_coherence(identity: Values, life: Values, rows: Rows) -> Iterator[Problem]:
    """Yield every problem between clean rows; `field` is the JSON pointer of the place in the document.

    `rows`: part → its rows. Codes: not_at_rest, missing, generation_falls, duplicate, unknown_reference,
    wrong_type, objects_unfinished, operations_open, requester_cannot_decide, author_cannot_decide,
    and those named in `ONE_AT_MOST` and `NEVER`.
    """
    yield from _check_life(identity, life, rows)
    yield from _check_rest(rows)
    yield from _check_needs(rows)
    yield from _check_never(rows)
    yield from _check_once(rows)
    yield from _check_one_at_most(rows)
    yield from _check_references(rows)
    yield from _check_duties(rows)


def pointer(*pieces: str | int) -> str:
    """Return the JSON pointer (RFC 6901) of a place."""
    return "".join("/" + str(piece).replace("~", "~0").replace("/", "~1") for piece in pieces)


def rows_of(rows: Rows, part: str) -> Iterator[tuple[str, Values]]:
    """Yield each row of `part` with its JSON pointer."""
    for index, row in enumerate(rows[part]):
        yield f"/{KEY_OF[part]}/{index}", row


def _check_life(identity: Values, life: Values, rows: Rows) -> Iterator[Problem]:
    state = life["state"]
    if state not in AT_REST:
        sentence = N_("Only a contract at rest can be taken over: pause it first.")
        yield Problem("/life/state", "not_at_rest", sentence)
    if state in (ContractState.PAUSED, ContractState.COMPLETED) and not identity["deadline"]:
        yield _missing("/identity/deadline", N_("Outside draft a deadline is needed."))
    if state == ContractState.CANCELLED:
        for name in ("cancelled_at", "cancelled_by", "cancel_reason"):
            if not life[name]:
                yield _missing(f"/life/{name}", N_("A cancellation names when, who and why."))
    if state == ContractState.COMPLETED:
        yield from _check_completed(rows)
    granted = [row[fact] or 0 for part, fact in GRANTED for row in rows[part]]
    if life["generation"] < max(granted, default=0):
        sentence = N_("The generation never falls below one that was granted.")
        yield Problem("/life/generation", "generation_falls", sentence)


def _check_completed(rows: Rows) -> Iterator[Problem]:
    for part, states, code in (
        ("object", frozenset(ObjectState) - SETTLED, "objects_unfinished"),
        ("operation", OPEN, "operations_open"),
    ):
        count = sum(row["state"] in states for row in rows[part])
        if count:
            yield Problem("/life/state", code, SENTENCES[code], {"count": count})


def _check_rest(rows: Rows) -> Iterator[Problem]:
    """Refuse work in flight: it belongs to the workbench that granted it, and would run twice."""
    for place, row in rows_of(rows, "operation"):
        if row["state"] == OperationState.SENDING:
            yield Problem(f"{place}/state", "not_at_rest", N_("An operation at rest is not being sent."))
    for place, row in rows_of(rows, "attempt"):
        # One recorded by hand may lack its end, as on the page: it holds no lease here.
        if row["ended_at"] is None and not row["by_hand"]:
            sentence = N_("A worker still holds this attempt: let it end first.")
            yield Problem(f"{place}/ended_at", "not_at_rest", sentence)
    for place, row in rows_of(rows, "step"):
        if not isinstance(row["usage"], dict):
            yield Problem(f"{place}/usage", "wrong_type", N_("This must be a JSON object."))


def _check_needs(rows: Rows) -> Iterator[Problem]:
    for part, concerns, facts, sentence in NEEDS:
        for place, row in rows_of(rows, part):
            if concerns(row):
                yield from (_missing(f"{place}/{fact}", sentence) for fact in facts if not row[fact])


def _check_never(rows: Rows) -> Iterator[Problem]:
    for part, concerns, fact, code in NEVER:
        for place, row in rows_of(rows, part):
            if concerns(row):
                yield Problem(f"{place}/{fact}", code, SENTENCES[code])


def _check_once(rows: Rows) -> Iterator[Problem]:
    for part, facts in ONCE:
        seen: set[tuple[Any, ...]] = set()
        for place, row in rows_of(rows, part):
            identity = tuple(row[fact] for fact in facts)
            if identity in seen:
                yield Problem(f"{place}/{facts[0]}", "duplicate", N_("This stands in the list twice."))
            seen.add(identity)


def _check_one_at_most(rows: Rows) -> Iterator[Problem]:
    for part, concerns, facts, shown, code in ONE_AT_MOST:
        seen: set[tuple[Any, ...]] = set()
        for place, row in rows_of(rows, part):
            if not concerns(row):
                continue
            group = tuple(row[fact] for fact in facts)
            if group in seen:
                yield Problem(f"{place}/{shown}", code, SENTENCES[code])
            seen.add(group)


def _check_references(rows: Rows) -> Iterator[Problem]:
    for part, facts, (target, columns) in REFERENCES:
        known: dict[Any, list[tuple[Any, ...]]] = {}
        for row in rows[target]:
            known.setdefault(row[columns[0]], []).append(tuple(row[column] for column in columns))
        for place, row in rows_of(rows, part):
            wanted = tuple(row[fact] for fact in facts)
            if any(wanted) and not _fits(wanted, known.get(wanted[0], [])):
                sentence = SENTENCES["unknown_reference"]
                yield Problem(f"{place}/{facts[0]}", "unknown_reference", sentence)


def _fits(wanted: tuple[Any, ...], candidates: list[tuple[Any, ...]]) -> bool:
    return any(
        all(given in ("", None, value) for given, value in zip(wanted, candidate, strict=True))
        for candidate in candidates
    )


def _check_duties(rows: Rows) -> Iterator[Problem]:
    """Refuse the word of who asked, and of who wrote or edited unless the policy of that time let them."""
    lenient = {row["number"] for row in rows["policy"] if row["author_may_decide"]}
    items = {row["item_id"]: row for row in rows["approval"]}
    given = [(f"{place}/decided_by", row["decided_by"], row) for place, row in rows_of(rows, "approval")]
    for place, row in rows_of(rows, "vote"):
        if row["item"] in items:  # a missing one is reported among the references
            given.append((f"{place}/decider", row["decider"], items[row["item"]]))
    for place, name, item in given:
        code = "requester_cannot_decide" if name == item["requester"] else "author_cannot_decide"
        wrote = name in (item["author"], item["last_editor"]) and item["policy_number"] not in lenient
        if name and (wrote or name == item["requester"]):
            yield Problem(place, code, SENTENCES[code])


def _missing(place: str, sentence: str) -> Problem:
    return Problem(place, "missing", sentence)
