"""An ordinary write without waiting: intended, sent and reported by one statement each, in one round trip.

None leaves it to the slow path, which says why not, or does what is out of the ordinary.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, OperationalError, connection
from django.db.models import DateTimeField

from contracts.gates import answers
from contracts.gates.beats import SUBJECT_MAX, begin, conclude, may_be_tried_again
from contracts.gates.workers.caps import entry_id
from contracts.gates.workers.ledger_statement import DISPATCH, INTEND, REPORT
from contracts.gates.workers.statement_parts import (
    AFTER,
    AT,
    BEFORE,
    KEY,
    SUBJECT,
    Values,
    event_body,
    told_of_owner,
)
from contracts.models import Operation
from contracts.models.prepared import run
from contracts.rules import ledger, rows
from contracts.rules.fingerprint import canonical, event_json, fingerprint
from contracts.rules.parts.records import OPERATION
from contracts.rules.states import OperationState
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor

Statement = tuple[bytes, tuple[str, ...]]
REMEMBERED = 200  # calls under way of which this process knows the parameters
_told: dict[tuple[int, str], str] = {}  # (contract, operation key) → parameters in canonical form
_PARAMETERS = (
    b"SELECT parameters::text FROM contracts_operation WHERE contract_id = $1::bigint AND key = $2::text"
)


def intend(contract_id: int, actor: Actor, generation: int, raw: Mapping[str, Any]) -> Verdict | None:
    """Store the first call of a slot; see `ledger.intend`."""
    if _must_wait():
        return None
    values = told_of_intention(contract_id, actor, generation, raw)
    verdict = _at_once("intend", INTEND, values) if values else None
    if values and verdict:
        _remember(contract_id, verdict.outcome.key, values["parameters"] or "")
    return verdict


def dispatch(contract_id: int, actor: Actor, generation: int, operation_key: str) -> Verdict | None:
    """Let a call leave for the first time that needs no approval; see `sending.dispatch`."""
    if _must_wait():
        return None
    values = told_of_operation("dispatch", contract_id, actor, generation, operation_key)
    return _at_once("dispatch", DISPATCH, {**values, "entry": entry_id()}) if values else None


def report(
    contract_id: int, actor: Actor, generation: int, operation_key: str, raw: Mapping[str, Any]
) -> Verdict | None:
    """Store what the owner that sent a call says of it; see `ledger.report`."""
    if _must_wait():
        return None
    told = told_of_report(raw)
    values = told and told_of_operation("report", contract_id, actor, generation, operation_key)
    return _at_once("report", REPORT, {**values, **told}) if told and values else None


def _must_wait() -> bool:
    """Inside a transaction nothing would be durable, and the answer to a request is stored with what was done."""
    return connection.in_atomic_block or answers.asked() is not None


def _at_once(act: str, statement: Statement, values: Values) -> Verdict | None:
    try:
        begin(act)
        operation = execute(statement, values)
    except IntegrityError:
        return None
    except OperationalError as error:
        if not may_be_tried_again(error):
            raise
        return None
    if operation is None:
        return None
    conclude(act)
    return allow(operation)


def execute(statement: Statement, values: Values) -> Operation | None:
    """Run one of the statements; return the operation it stored, or None where it wrote nothing."""
    text, names = statement
    row = run(text, [values[name] for name in names])
    return None if row is None else _read(row[0] or "")


def _read(text: str) -> Operation:
    """Return the row that the database tells as JSON; what it refers to is read when it is asked for."""
    told = json.loads(text)
    for field in Operation._meta.concrete_fields:
        if isinstance(field, DateTimeField) and told[field.attname] is not None:
            told[field.attname] = datetime.fromisoformat(told[field.attname])
    names = [field.attname for field in Operation._meta.concrete_fields]
    return Operation.from_db(connection.alias, names, [told[name] for name in names])


def told_of_intention(
    contract_id: int, actor: Actor, generation: int, raw: Mapping[str, Any]
) -> Values | None:
    """Return what INTEND is told of the raw values of an operation; None if it cannot be the first of a slot."""
    checked = rows.check_row(OPERATION, raw)
    call = checked.values
    if checked.problems or call["round"] != 1:
        return None
    parameters, print_of = event_json(call["parameters"]), fingerprint(call["parameters"])
    subject = f"{call['tool']} · {call['object'] or '–'} · {call['step']} · 1"[:SUBJECT_MAX]
    after = _intended(call, parameters, print_of)
    return {
        **told_of_owner(contract_id, actor, generation),
        **{name: call[name] for name in ("tool", "object", "step", "target", "expected")},
        "parameters": parameters,
        "fingerprint": print_of,
        # The key is the checksum of the call with the task's id before it, which only the database knows here.
        "call": '",' + canonical([call["step"], 1, call["tool"], call["parameters"]]).decode()[1:],
        "subject": subject,
        "after": after,
        "body": event_body(actor, ("operation", "intend", event_json(subject)), "null", after),
    }


def _intended(call: Mapping[str, Any], parameters: str, print_of: str) -> str:
    """Return the facts of a new operation as canonical JSON, with marks."""
    first = {"expected": call["expected"], "fingerprint": print_of, "generation": None}
    last = {
        "reconciliation": None,
        "response_sha256": "",
        "round": 1,
        "sent_at": None,
        "settled_at": None,
        "state": OperationState.PENDING.value,
        "step": call["step"],
        "target": call["target"],
        "target_reference": "",
        "tool": call["tool"],
        "tries": 0,
    }
    return (
        f'{event_json(first)[:-1]},"intended_at":"{AT}","key":"{KEY}","object":{event_json(call["object"] or None)}'
        f',"parameters":{parameters},{event_json(last)[1:]}'
    )


def told_of_operation(act: str, contract_id: int, actor: Actor, generation: int, key: str) -> Values | None:
    """Return what DISPATCH and REPORT are told of their operation; None if there is none."""
    parameters = _told.pop((contract_id, key), None) or _parameters(contract_id, key)
    if parameters is None:
        return None
    if act == "dispatch":  # its report is still to come
        _remember(contract_id, key, parameters)
    return {
        **told_of_owner(contract_id, actor, generation),
        "key": key,
        "act": act,
        "parameters": parameters,
        "body": event_body(actor, ("operation", act, SUBJECT), BEFORE, AFTER),
    }


def _remember(contract_id: int, key: str, parameters: str) -> None:
    """Keep what an event will hold in canonical form, so that it need not be read once more.

    Should the parameters be others by then, the statement writes nothing: it compares them.
    """
    if len(_told) >= REMEMBERED:
        _told.clear()
    _told[contract_id, key] = parameters


def _parameters(contract_id: int, key: str) -> str | None:
    row = run(_PARAMETERS, [str(contract_id), key])
    return None if row is None else event_json(json.loads(row[0] or ""))


def told_of_report(raw: Mapping[str, Any]) -> Values | None:
    """Return what REPORT is told of a raw report; None if it cannot be read."""
    checked = rows.check_row(ledger.REPORT, raw)
    if checked.problems:
        return None
    told = checked.values
    detail = f'"detail":{event_json(told["detail"])},' if told["detail"] else ""
    return {**{name: told[name] for name in ("result", "reference", "response_sha256")}, "detail": detail}
