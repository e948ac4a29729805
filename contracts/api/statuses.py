"""The one table from a refusal's code to its HTTP status; what is not in it is a conflict with what stands."""

from collections.abc import Mapping

CONFLICT = 409
STATUSES: Mapping[str, int] = {
    # What was sent cannot be read, or lacks what every request has.
    "bad_json": 400,
    "key_missing": 400,
    "token_missing": 401,
    "token_unknown": 401,
    "token_expired": 401,
    "token_revoked": 401,
    # Others may do this; this worker, or any worker, may not.
    "operator_only": 403,
    "workers_never_decide": 403,
    "person_only": 403,
    "workers_only": 403,
    "not_the_named_person": 403,
    "address_not_allowed": 403,
    "not_owner": 403,
    "requester_not_asking": 403,
    # What is not there, or is out of this token's reach.
    "no_such_address": 404,
    "no_such_contract": 404,
    "contract_gone": 404,
    "no_such_operation": 404,
    "no_such_item": 404,
    "no_such_checkpoint": 404,
    "no_such_source": 404,
    "no_such_limit": 404,
    "no_such_token": 404,
    "row_gone": 404,
    "method_not_allowed": 405,
    "answer_retired": 410,
    "too_large": 413,
    "not_json": 415,
    # What was sent can be read and makes no sense here.
    "bad_values": 422,
    "key_reused": 422,
    "unknown_tool": 422,
    "unknown_reference": 422,
    "reason_missing": 422,
    "asked_at_wrong": 422,
    "announcement_incomplete": 422,
    "announcement_wrong": 422,
    "expiry_out_of_range": 422,
    "draft_not_shown": 422,
    "other_version_named": 422,
    "no_compensation": 422,
}


def status_of(code: str) -> int:
    """Return the HTTP status with which a refusal of this code is answered."""
    return STATUSES.get(code, CONFLICT)
