"""Every refusal of a gate: its stable code and the one sentence people read.

A code that names a database constraint is what that constraint's breach becomes.
"""

from collections.abc import Mapping
from typing import Any

from contracts.rules.verdict import Problem, Verdict, refuse
from contracts.rules.words import N_

SENTENCES: Mapping[str, str] = {
    "contract_gone": N_("This contract no longer exists."),
    "bad_values": N_("Some fields need attention; nothing was stored."),
    "stale_version": N_("Somebody changed this in the meantime; nothing was overwritten."),
    "row_gone": N_("This row no longer exists."),
    "not_open": N_("This cannot be changed while the contract is “%(state)s”."),
    "not_addable": N_("Rows of this kind are not added by hand."),
    "fixed_row": N_("This row belongs to every contract and cannot be removed."),
    "agreed_in_draft": N_(
        "This was agreed when the contract left draft; an operator can return it to draft."
    ),
    "record_stays": N_("What was recorded before the contract left draft stays."),
    "cap_needs_operator": N_("A cap that was agreed is raised by an operator."),
    "row_in_use": N_("Other rows refer to this one: %(users)s. Remove or change them first."),
    "kept_by_worker": N_("A worker recorded this; people do not change it."),
    "new_version_needed": N_("Versions stay as they are: add the change as a new version."),
    "unknown_reference": N_("There is no such row in this contract."),
    "illegal_move": N_("From “%(state)s” this step is not possible."),
    "reason_missing": N_("A reason is needed."),
    "incomplete": N_("The contract is not complete yet; things missing: %(count)d."),
    "objects_unfinished": N_("Objects neither confirmed nor skipped: %(count)d."),
    "operations_open": N_("Operations pending, being sent or unknown: %(count)d."),
    "deadline_passed": N_("The deadline has passed."),
    "task_id_taken": N_("This task id was used before, with another plan; ids are never used twice."),
    "not_a_member": N_("Only a reviewer of the team can create its contracts."),
    "no_such_person": N_("There is no active person of this name."),
    "last_to_share": N_("Somebody must be left who may share this contract."),
    "nothing_selected": N_("Nothing was selected."),
    "nothing_to_move": N_("This row is already at the end."),
    "no_such_operation": N_("There is no such operation in this contract."),
    "operation_not_pending": N_("This operation is no longer waiting to be sent."),
    "expiry_out_of_range": N_(
        "An item may wait for at most %(hours)d hours here, and not beyond the deadline."
    ),
    "no_such_item": N_("There is no such approval item in this contract."),
    "unknown_decision": N_("A decision is “approved” or “rejected”."),
    "workers_never_decide": N_("Only a person decides."),
    "own_request": N_("Who asked cannot decide."),
    "own_draft": N_("Who wrote or last edited the draft cannot decide on it."),
    "author_cannot_decide": N_("Who wrote or last edited the draft cannot decide on it."),
    "passed_to_another": N_("This item was passed on to somebody else."),
    "approval_stands": N_("This call is approved already, and the approval covers it."),
    "form_key_wrong": N_(
        "This form was made for another item, another person or another time; open it again."
    ),
    "form_key_once": N_("This form was sent already; it counts once."),
    "unknown_fields": N_("The post holds fields that do not belong to it: %(names)s. Nothing was stored."),
    "missing_fields": N_("The post lacks fields that belong to it: %(names)s. Nothing was stored."),
    "other_version_named": N_(
        "The call names another version of the draft than the current one; change its parameters first."
    ),
    "draft_not_shown": N_(
        "The call names drafts that are kept here (%(names)s); ask with the draft it names."
    ),
    "draft_moved": N_("The draft was changed meanwhile; look at it again, then ask."),
    "not_owner": N_("Another worker owns the task."),
    "nothing_corrected": N_("The text is what it was; nothing was stored."),
    "no_text_to_correct": N_("The draft of this item is not kept as text here."),
    "round_not_open": N_("A new round opens once nobody is asked about the former one and it was not sent."),
    "rounds_used_up": N_("The cap on tries of this step is reached; an operator raises it."),
    "no_such_recipient": N_("Nobody who may decide has this login name or this role in the team."),
    "policy_unreadable": N_("The approval policy cannot be read, so nothing is decided or sent."),
    "no_right_to_decide": N_("You may not decide on approvals of this contract."),
    "login_not_fresh": N_("Confirm who you are, then decide."),
    "second_factor_missing": N_("This contract asks for a second factor."),
    "already_decided": N_("This was decided already; the first decision stands."),
    "item_pending": N_("This item still waits for a decision."),
    "item_approved": N_("This item is approved."),
    "item_rejected": N_("This item was rejected."),
    "item_withdrawn": N_("This item was withdrawn."),
    "item_stale": N_("What was asked for has changed, so this item no longer covers it: %(member)s."),
    "item_expired": N_("The time for this item has run out; nobody decided."),
    "not_approved": N_("No approval covers this call."),
    "approval_expired": N_("The approval of this call has run out; it was not used in time."),
    "approval_used": N_("The approval of this call was used already; it covers one sending."),
    "stale_generation": N_("Another owner has taken over; the generation is %(generation)d now."),
    "owner_changed": N_(
        "The task changed hands since this was shown; its generation is %(generation)d now. Look again, then decide."
    ),
    "task_cancelled": N_("This task was cancelled; nothing of it goes on."),
    "lease_lapsed": N_("The lease has lapsed; renew it first."),
    "unknown_first": N_(
        "The result of an operation is unknown; ask the target before anything else is sent."
    ),
    "cap_reached": N_("The cap is reached: %(measure)s. An operator may raise it."),
    "resume_wait": N_("%(worker)s holds the task as attempt %(number)d until %(until)s."),
    "resume_refuse": N_("This task is not continued; the decision tells why."),
    "resume_escalate": N_(
        "A person must act before this task is continued; the decision tells what is in the way."
    ),
    "resume_migrate": N_(
        "What the worker brings is another version than was agreed; the decision tells which."
    ),
    "workers_only": N_("Only a worker takes up a task."),
    "no_such_checkpoint": N_("There is no such checkpoint in this contract."),
    "checkpoint_rolled_back": N_("This checkpoint was rolled back itself; nothing goes on from it."),
    "request_key_used": N_("This request key was used for another rollback."),
    "sent_by_proxy": N_("The workbench itself sends for this tool; ask it to send."),
    "not_proxied": N_("The workbench does not send for this tool; its worker does."),
    "target_not_configured": N_("The workbench is not set up to write to this target; nothing was sent."),
    "address_not_allowed": N_("The target lies at an address that is not on the list; nothing was sent."),
    "target_unreachable": N_("The target cannot be reached; nothing was sent."),
    "proxy_busy": N_("The workbench is busy sending; nothing was sent, try again in a moment."),
    "fingerprint_differs": N_("What you were shown is not what this item is about; open it again."),
    "one_vote_per_curator": N_("You have given your word on this item already."),
    "one_waiting_item_per_operation": N_("Another item waits for a decision on this operation already."),
    "requester_not_asking": N_("Only who asked can withdraw the item."),
    "no_such_token": N_("There is no such token here."),
    "no_contract_chosen": N_("A token reaches at least one contract, and contracts of one team only."),
    "worker_is_person": N_("A person logs in under this name; a worker needs a name of its own."),
    "tokens_overlap": N_("Two tokens of this worker reach the contract %(task)s already; revoke one first."),
    "token_ended": N_("This token has ended; issue a new one."),
    "token_missing": N_("The request bears no token."),
    "token_unknown": N_("This token is not known here."),
    "token_expired": N_("This token has expired."),
    "token_revoked": N_("This token was revoked."),
    "no_such_contract": N_("There is no such contract within reach of this token."),
    "no_such_address": N_("Nothing stands at this address."),
    "method_not_allowed": N_("This address takes other methods only: %(methods)s."),
    "key_missing": N_("The request needs an Idempotency-Key of 1 to 200 visible ASCII characters."),
    "key_running": N_("A request with this key is being carried out at this moment."),
    "key_reused": N_("This key was used for another request."),
    "not_json": N_("The body of a request is JSON, with the media type application/json."),
    "bad_json": N_("The body cannot be read as one JSON object."),
    "too_large": N_("The body is larger than %(limit)d bytes."),
    "operator_only": N_("Only an operator does this, with a reason."),
    "pause_requested": N_("A pause was requested: work under way ends, and no other write begins."),
    "unknown_tool": N_("This contract has no tool of this name."),
    "new_round_needed": N_(
        "This slot was given up; another try is another round, opened by an act of its own."
    ),
    "tool_busy": N_("Another call of this tool is under way, and its contract lets them not overlap."),
    "key_too_old": N_(
        "This call may have been written, and the target has forgotten its key; ask the target, or the named person."
    ),
    "may_have_left": N_("This call may have been written, so it is not given up; ask the target first."),
    "operation_not_sending": N_("This operation is not being sent by this owner."),
    "operation_not_unknown": N_("The result of this operation is not unknown."),
    "operation_not_confirmed": N_("Only a confirmed write is taken back."),
    "late_report": N_("This owner was displaced: its report is kept as evidence and changes nothing."),
    "report_stands": N_("Something else was stored of this operation already, and it stands."),
    "asked_at_wrong": N_("The target was asked neither before the write was sent nor in the future."),
    "announcement_incomplete": N_("Say both which generation the target was told, and when."),
    "announcement_wrong": N_("Only a granted generation can have been announced, and not in the future."),
    "person_only": N_("Only a person says this."),
    "not_the_named_person": N_("The named person or an operator decides on this."),
    "no_compensation": N_("The contract of this tool names no compensation."),
    "no_such_source": N_("There is no such source in this contract."),
    "no_such_limit": N_("Nothing is capped by this measure."),
    "cap_only_rises": N_("A cap only rises here; it must be above %(cap)s."),
    "sequence_not_next": N_("The next checkpoint of this contract has the sequence %(sequence)d."),
    "step_done": N_("This step is done already; its stored result stands."),
    "step_undecided": N_(
        "This step was begun and may have written; settle its operations before it runs again."
    ),
    "object_not_held": N_("This attempt does not hold these objects: %(objects)s. Nothing was stored."),
    "lines_bad": N_("Lines that need attention: %(count)d; nothing was stored."),
    "task_id_is_well_formed": N_(
        "A task id begins with a letter or digit and holds letters, digits, dots, underscores, colons and "
        "hyphens, at most 120."
    ),
    "no_checkpoint_yet": N_("There is no checkpoint to go back to."),
    "nothing_capped": N_("Nothing is capped here."),
    "drills_forbidden": N_("Drills kill processes on this machine, and its settings do not allow them here."),
    # Names of database constraints.
    "one_open_run_per_contract": N_("Another run of this contract has not ended yet."),
    "one_result_per_window": N_("This window of the run has its result already."),
    "attempt_number_once": N_("There is an attempt with this number already."),
    "attempt_id_once": N_("There is an attempt with this id already."),
    "generation_once": N_("This generation was granted already."),
    "one_open_attempt": N_("Another attempt has not ended yet."),
    "checkpoint_id_once": N_("There is a checkpoint with this id already."),
    "checkpoint_sequence_once": N_("There is a checkpoint with this sequence already."),
    "step_key_once": N_("There is a journal step with this key already."),
    "step_sequence_once": N_("There is a journal step with this sequence already."),
    "source_version_once": N_("This source version with this checksum is here already."),
    "one_current_source_version": N_("Another version of this source is current."),
    "artefact_version_once": N_("This artefact version with this checksum is here already."),
    "one_current_artefact_version": N_("Another version of this artefact is current."),
    "object_id_once": N_("There is an object with this id already."),
    "tool_once": N_("There is a contract for this tool already."),
    "operation_key_once": N_("This very call is in the ledger already."),
    "one_operation_per_slot": N_(
        "This object, step, round and tool hold an operation already, whatever its parameters."
    ),
    "one_row_per_window": N_("There is a window with this name already."),
    "usage_entry_once": N_("This usage entry is here already."),
    "approval_item_once": N_("This approval item is here already."),
    "item_id_is_well_formed": N_(
        "An item id begins with a letter or digit, holds letters, digits, dots, underscores, colons and hyphens, "
        "at most 40, and is neither “ask” nor “mark”."
    ),
    "no_blanket_scope": N_("An item covers one call; there is no wider scope."),
    "vote_is_yes_or_no": N_("A vote says approved or rejected."),
    "requester_cannot_decide": N_("Who asked cannot decide."),
    "expiry_is_nobodys_no": N_("What a person decided after it expired is no decision."),
}
# The field at which a refusal by a constraint is shown.
FIELDS: Mapping[str, str] = {
    "attempt_id_once": "attempt_id",
    "one_open_attempt": "ended_at",
    "checkpoint_id_once": "checkpoint_id",
    "step_key_once": "key",
    "source_version_once": "version_label",
    "artefact_version_once": "version_label",
    "object_id_once": "object_id",
    "tool_once": "tool",
    "operation_key_once": "parameters",
    "one_operation_per_slot": "round",
    "one_row_per_window": "window",
    "task_id_taken": "task_id",
    "task_id_is_well_formed": "task_id",
    "no_such_person": "person",
    "reason_missing": "reason",
    "not_a_member": "team",
    "no_such_operation": "operation_key",
    "expiry_out_of_range": "hours",
    "unknown_decision": "decision",
    "nothing_corrected": "text",
    "no_such_recipient": "pass_on_to",
    "other_version_named": "draft_id",
    "draft_not_shown": "draft_id",
    "draft_moved": "draft_id",
    "unknown_tool": "tool",
    "new_round_needed": "round",
    "asked_at_wrong": "asked_at",
    "announcement_incomplete": "announced_at",
    "announcement_wrong": "announced_generation",
    "no_such_source": "source_id",
    "no_such_limit": "measure",
    "cap_only_rises": "cap",
    "worker_is_person": "worker",
    "tokens_overlap": "worker",
    "no_contract_chosen": "contracts",
    "no_such_checkpoint": "checkpoint_id",
    "checkpoint_rolled_back": "checkpoint_id",
    "request_key_used": "request_key",
}


def refusal(code: str, *, outcome: Any = None, problems: tuple[Problem, ...] = (), **values: Any) -> Verdict:
    """Return the refusal `code` with its sentence; KeyError if there is no such code."""
    sentence = SENTENCES[code]
    if code in FIELDS and not problems:
        problems = (Problem(FIELDS[code], code, sentence, values),)
    return refuse(code, sentence, problems=problems, outcome=outcome, **values)
