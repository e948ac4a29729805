"""What a worker does about a refusal: one sentence for each class of codes."""

from collections.abc import Mapping

from contracts.rules.words import N_

_READ_AGAIN = N_("Read the contract again and decide anew; the same request would be refused again.")
_CLASSES: Mapping[str, tuple[str, ...]] = {
    N_("Correct the request as the problems say and send it with a new key."): (
        "bad_json",
        "bad_values",
        "not_json",
        "reason_missing",
        "unknown_reference",
        "unknown_tool",
        "no_such_source",
        "no_such_operation",
        "no_such_item",
        "sequence_not_next",
        "announcement_incomplete",
        "announcement_wrong",
        "no_such_checkpoint",
        "asked_at_wrong",
        "expiry_out_of_range",
        "draft_not_shown",
        "draft_moved",
        "other_version_named",
    ),
    N_("Send less: keep what is large at a controlled location and give its location and checksum."): (
        "too_large",
    ),
    N_("Ask whoever shares the contract for a token that reaches it; stop until you have one."): (
        "token_missing",
        "token_unknown",
        "token_expired",
        "token_revoked",
        "no_such_contract",
        "contract_gone",
    ),
    N_("Send an Idempotency-Key of your own with each request that changes something."): ("key_missing",),
    N_("Wait a second, then send the same request with the same key again."): ("key_running",),
    N_("Use a new key for each request; the same key only to send the very same request again."): (
        "key_reused",
    ),
    N_("Look at the reference page for addresses and methods."): ("no_such_address", "method_not_allowed"),
    N_("Stop at once: write nothing more, and resume only if the decision says so."): (
        "stale_generation",
        "task_cancelled",
        "not_owner",
        "late_report",
        "object_not_held",
    ),
    N_("Renew the lease; if that is refused, stop at once."): ("lease_lapsed",),
    N_("Stop: nothing of this task may be continued."): (
        "not_open",
        "deadline_passed",
        "illegal_move",
        "resume_refuse",
    ),
    N_("Wait until the lease named has ended or its owner lets go, then try again."): ("resume_wait",),
    N_("Finish or return what is begun, then release the task; begin nothing new."): ("pause_requested",),
    N_("Stop and release the task: a person has to decide."): (
        "resume_escalate",
        "resume_migrate",
        "cap_reached",
        "rounds_used_up",
        "policy_unreadable",
        "step_undecided",
        "key_too_old",
        "may_have_left",
        "no_compensation",
        "target_not_configured",
        "address_not_allowed",
    ),
    N_("Leave it to a person: workers have no such right, and asking again changes nothing."): (
        "operator_only",
        "person_only",
        "not_the_named_person",
        "workers_never_decide",
        "requester_not_asking",
    ),
    N_("Ask the target what became of the unknown operation and store its answer; then go on."): (
        "unknown_first",
        "operations_open",
    ),
    N_("Ask for an approval of exactly this call, and wait for the decision."): (
        "not_approved",
        "approval_expired",
        "approval_used",
        "item_stale",
        "item_expired",
        "item_withdrawn",
    ),
    N_("Wait for the decision on the item that is there."): (
        "item_pending",
        "one_waiting_item_per_operation",
    ),
    N_("Do not send it: a person said no. A new round opens by an explicit request only."): (
        "item_rejected",
    ),
    N_("Go on with the operation that is stored; open a new round only once it was rejected or abandoned."): (
        "one_operation_per_slot",
        "new_round_needed",
        "round_not_open",
        "operation_not_pending",
        "operation_key_once",
    ),
    N_("Settle the objects that are left, then complete."): ("objects_unfinished",),
    N_("Wait until the call under way has ended, then try again."): ("tool_busy", "proxy_busy"),
    N_("Nothing has left; try again later, with a new key."): ("target_unreachable",),
    N_("Leave the sending to the workbench: ask it to send this call."): ("sent_by_proxy",),
    N_("Send this call yourself: dispatch it first, then report what became of it."): ("not_proxied",),
    N_("Use what is stored; it is not done again."): (
        "step_done",
        "answer_retired",
        "report_stands",
        "operation_not_sending",
        "operation_not_unknown",
        "operation_not_confirmed",
        "checkpoint_id_once",
        "artefact_version_once",
        "approval_stands",
    ),
}
WHAT_TO_DO: Mapping[str, str] = {code: sentence for sentence, codes in _CLASSES.items() for code in codes}


def what_to_do(code: str) -> str:
    """Return what a worker does about the refusal `code`, as one sentence."""
    return WHAT_TO_DO.get(code, _READ_AGAIN)
