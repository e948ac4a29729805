"""Every refusal of a gate: its stable code and the one sentence people read.

A code that names a database constraint is what that constraint's breach becomes.
"""

from collections.abc import Mapping
from typing import Any

from contracts.rules.verdict import Problem, Verdict, refuse
from contracts.rules.words import N_

SENTENCES: Mapping[str, str] = {
    "contract_gone": N_("This contract no longer exists. Go back to the list of contracts."),
    "bad_values": N_("Some fields need attention; nothing was stored. Correct them and save again."),
    "stale_version": N_(
        "Somebody changed this in the meantime; nothing was overwritten. Compare, then save again."
    ),
    "row_gone": N_("This row no longer exists. Reload the page to see what is there."),
    "not_open": N_(
        "This cannot be changed while the contract is “%(state)s”. Its overview says which state comes next."
    ),
    "not_addable": N_("Rows of this kind are not added by hand; they appear with the work itself."),
    "fixed_row": N_(
        "This row belongs to every contract and cannot be removed; leave its fields empty instead."
    ),
    "agreed_in_draft": N_(
        "This was agreed when the contract left draft; an operator can return it to draft."
    ),
    "record_stays": N_(
        "What was recorded before the contract left draft stays. Add another row with what is right."
    ),
    "cap_needs_operator": N_("A cap that was agreed is raised by an operator; ask one."),
    "row_in_use": N_("Other rows refer to this one: %(users)s. Remove or change them first."),
    "kept_by_worker": N_("A worker recorded this; people do not change it. Add a note or a row of your own."),
    "new_version_needed": N_("Versions stay as they are: add the change as a new version."),
    "unknown_reference": N_(
        "There is no such row in this contract. Choose one that is there, or add it first."
    ),
    "illegal_move": N_("From “%(state)s” this step is not possible. Reload the page to see what is."),
    "reason_missing": N_("A reason is needed. Say in a sentence why."),
    "incomplete": N_("The contract is not complete yet; things missing: %(count)d. Fill them in first."),
    "not_ended_by_then": N_(
        "This contract had not ended by that day; nothing was removed. Choose a later day."
    ),
    "kept_longer": N_(
        "What this contract holds is kept until %(until)s. Nothing was removed; wait until then."
    ),
    "objects_unfinished": N_(
        "Objects neither confirmed nor skipped: %(count)d. Accept or skip each of them first."
    ),
    "operations_open": N_("Operations pending, being sent or unknown: %(count)d. Settle each of them first."),
    "deadline_passed": N_(
        "The deadline has passed. An operator may return the contract to draft and set another."
    ),
    "task_id_taken": N_(
        "This task id was used before, with another plan; ids are never used twice. Choose another."
    ),
    "not_a_member": N_(
        "Only a reviewer of the team can create its contracts. Choose a team of yours, or ask to join."
    ),
    "no_such_person": N_("There is no active person of this name. Check the login name."),
    "last_to_share": N_(
        "Somebody must be left who may share this contract. Give that right to another person first."
    ),
    "nothing_selected": N_("Nothing was selected. Tick at least one row."),
    "nothing_to_move": N_("This row is already at the end; move it the other way."),
    "no_such_operation": N_("There is no such operation in this contract. Choose one from its operations."),
    "operation_not_pending": N_("This operation is no longer waiting to be sent. Look at what became of it."),
    "expiry_out_of_range": N_(
        "An item may wait for at most %(hours)d hours here, and not beyond the deadline. Choose less."
    ),
    "no_such_item": N_("There is no such approval item in this contract. Look for it among its approvals."),
    "unknown_decision": N_("A decision is “approved” or “rejected”."),
    "workers_never_decide": N_("Only a person decides. Leave it to a curator."),
    "own_request": N_("Who asked cannot decide. Another curator has to."),
    "own_draft": N_("Who wrote or last edited the draft cannot decide on it. Another curator has to."),
    "author_cannot_decide": N_(
        "Who wrote or last edited the draft cannot decide on it. Another curator has to."
    ),
    "passed_to_another": N_("This item was passed on to somebody else, who decides now. Leave it to them."),
    "approval_stands": N_(
        "This call is approved already, and the approval covers it. There is nothing left to ask for."
    ),
    "form_key_wrong": N_(
        "This form was made for another item, another person or another time; open it again."
    ),
    "form_key_once": N_("This form was sent already; it counts once. Open it again to see what was stored."),
    "unknown_fields": N_(
        "The post holds fields that do not belong to it: %(names)s. Nothing was stored. Open the form again."
    ),
    "missing_fields": N_(
        "The post lacks fields that belong to it: %(names)s. Nothing was stored. Open the form again."
    ),
    "other_version_named": N_(
        "The call names another version of the draft than the current one; change its parameters first."
    ),
    "draft_not_shown": N_(
        "The call names drafts that are kept here (%(names)s); ask with the draft it names."
    ),
    "draft_moved": N_("The draft was changed meanwhile; look at it again, then ask."),
    "not_owner": N_("Another worker owns the task. Wait until it lets go, or have an operator take it over."),
    "nothing_corrected": N_(
        "The text is what it was; nothing was stored. Change it, or go back without saving."
    ),
    "no_text_to_correct": N_(
        "The draft of this item is not kept as text here. Send it back with a reason instead."
    ),
    "round_not_open": N_(
        "A new round opens once nobody is asked about the former one and it was not sent. Wait until then."
    ),
    "rounds_used_up": N_("The cap on tries of this step is reached; an operator raises it."),
    "no_such_recipient": N_(
        "Nobody who may decide has this login name or this role in the team. Name another."
    ),
    "policy_unreadable": N_(
        "The approval policy cannot be read, so nothing is decided or sent. An operator has to store it anew."
    ),
    "no_right_to_decide": N_(
        "You may not decide on approvals of this contract. Leave it to a curator, or ask for the right."
    ),
    "login_not_fresh": N_("Confirm who you are, then decide."),
    "second_factor_missing": N_(
        "This contract asks for a second factor. Set one up in the menu under your name, then decide."
    ),
    "already_decided": N_("This was decided already; the first decision stands. Read it below its state."),
    "item_pending": N_("This item still waits for a decision. Wait for it, or withdraw the item."),
    "item_approved": N_("This item is approved. Its call may be sent once; nothing else is left to decide."),
    "item_rejected": N_("This item was rejected. Read the reason, then open a new round."),
    "item_withdrawn": N_("This item was withdrawn. Ask again if a decision is still needed."),
    "item_stale": N_(
        "What was asked for has changed, so this item no longer covers it: %(member)s. Ask for what holds "
        "now."
    ),
    "item_expired": N_("The time for this item has run out; nobody decided. Ask again."),
    "not_approved": N_("No approval covers this call. Ask for a decision first."),
    "approval_expired": N_("The approval of this call has run out; it was not used in time. Ask again."),
    "approval_used": N_(
        "The approval of this call was used already; it covers one sending. Ask for another."
    ),
    "stale_generation": N_(
        "Another owner has taken over; the generation is %(generation)d now. Stop, and write nothing more."
    ),
    "owner_changed": N_(
        "The task changed hands since this was shown; its generation is %(generation)d now. Look again, then decide."
    ),
    "task_cancelled": N_("This task was cancelled; nothing of it goes on. Go on under another task id."),
    "lease_lapsed": N_("The lease has lapsed; renew it first."),
    "unknown_first": N_(
        "The result of an operation is unknown; ask the target before anything else is sent."
    ),
    "cap_reached": N_("The cap is reached: %(measure)s. An operator may raise it."),
    "resume_wait": N_("%(worker)s holds the task as attempt %(number)d until %(until)s. Wait until then."),
    "resume_refuse": N_("This task is not continued. Read in the resume decision why."),
    "resume_escalate": N_(
        "A person must act before this task is continued. Read in the resume decision what is in the way."
    ),
    "resume_migrate": N_(
        "What the worker brings is another version than was agreed. Read in the resume decision which, and "
        "migrate."
    ),
    "workers_only": N_("Only a worker takes up a task. Start one with a token that reaches it."),
    "no_such_checkpoint": N_(
        "There is no such checkpoint in this contract. Choose one from its checkpoints."
    ),
    "checkpoint_rolled_back": N_(
        "This checkpoint was rolled back itself; nothing goes on from it. Choose an earlier one."
    ),
    "request_key_used": N_("This request key was used for another rollback. Open the form again."),
    "sent_by_proxy": N_("The workbench itself sends for this tool; ask it to send."),
    "not_proxied": N_("The workbench does not send for this tool; its worker does."),
    "target_not_configured": N_(
        "The workbench is not set up to write to this target; nothing was sent. Ask whoever runs it."
    ),
    "address_not_allowed": N_(
        "The target lies at an address that is not on the list; nothing was sent. Ask whoever runs the "
        "workbench."
    ),
    "target_unreachable": N_("The target cannot be reached; nothing was sent. Try again later."),
    "proxy_busy": N_("The workbench is busy sending; nothing was sent, try again in a moment."),
    "fingerprint_differs": N_("What you were shown is not what this item is about; open it again."),
    "one_vote_per_curator": N_(
        "You have given your word on this item already. It waits for another curator."
    ),
    "one_waiting_item_per_operation": N_(
        "Another item waits for a decision on this operation already. Wait for it, or withdraw it."
    ),
    "requester_not_asking": N_(
        "Only who asked can withdraw the item. Send it back instead, if you may decide."
    ),
    "no_such_token": N_("There is no such token here. Reload the page to see which there are."),
    "no_contract_chosen": N_(
        "A token reaches at least one contract, and contracts of one team only. Choose some."
    ),
    "worker_is_person": N_(
        "A person logs in under this name; a worker needs a name of its own. Choose another."
    ),
    "tokens_overlap": N_("Two tokens of this worker reach the contract %(task)s already; revoke one first."),
    "token_ended": N_("This token has ended; issue a new one."),
    "token_missing": N_("The request bears no token. Send it as “Authorization: Bearer …”."),
    "token_unknown": N_("This token is not known here. Check it, or ask for another."),
    "token_expired": N_("This token has expired. Ask for another."),
    "token_revoked": N_("This token was revoked. Ask for another."),
    "no_such_contract": N_(
        "There is no such contract within reach of this token. Check the task id, or ask for a token that "
        "reaches it."
    ),
    "no_such_address": N_("Nothing stands at this address. Look it up in the reference."),
    "method_not_allowed": N_("This address takes other methods only: %(methods)s. Use one of them."),
    "key_missing": N_("The request needs an Idempotency-Key of 1 to 200 visible ASCII characters."),
    "key_running": N_(
        "A request with this key is being carried out at this moment. Wait a second, then send it again."
    ),
    "key_reused": N_("This key was used for another request. Use a new one."),
    "answer_retired": N_(
        "This request was carried out long ago; its answer is no longer kept. Read the contract for what stands."
    ),
    "not_json": N_("The body of a request is JSON, with the media type application/json. Send it so."),
    "bad_json": N_("The body cannot be read as one JSON object. Correct it and send it again."),
    "too_large": N_(
        "The body is larger than %(limit)d bytes. Keep what is large elsewhere and give its location."
    ),
    "operator_only": N_("Only an operator does this, with a reason. Ask one."),
    "pause_requested": N_("A pause was requested: finish what is under way, and begin no other write."),
    "unknown_tool": N_("This contract has no tool of this name. Choose one of its tools."),
    "new_round_needed": N_(
        "This slot was given up; another try is another round, opened by an act of its own."
    ),
    "tool_busy": N_(
        "Another call of this tool is under way, and its contract lets them not overlap. Wait until it has "
        "ended."
    ),
    "key_too_old": N_(
        "This call may have been written, and the target has forgotten its key; ask the target, or the named person."
    ),
    "may_have_left": N_("This call may have been written, so it is not given up; ask the target first."),
    "operation_not_sending": N_("This operation is not being sent by this owner. Read the contract again."),
    "operation_not_unknown": N_(
        "The result of this operation is not unknown. There is nothing to settle: look at what is stored."
    ),
    "operation_not_confirmed": N_("Only a confirmed write is taken back. Settle this one first."),
    "late_report": N_("This owner was displaced: its report is kept as evidence and changes nothing. Stop."),
    "report_stands": N_(
        "Something else was stored of this operation already, and it stands. Go on from what is stored."
    ),
    "asked_at_wrong": N_(
        "The target was asked neither before the write was sent nor in the future. Correct the time."
    ),
    "announcement_incomplete": N_("Say both which generation the target was told, and when."),
    "announcement_wrong": N_(
        "Only a granted generation can have been announced, and not in the future. Correct number and time."
    ),
    "person_only": N_("Only a person says this. Leave it to one."),
    "not_the_named_person": N_("The named person or an operator decides on this. Leave it to them."),
    "no_compensation": N_("The contract of this tool names no compensation. A person has to decide."),
    "no_such_source": N_("There is no such source in this contract. Choose one of its sources."),
    "no_such_limit": N_("Nothing is capped by this measure. Choose one that has a cap."),
    "cap_only_rises": N_("A cap only rises here; it must be above %(cap)s."),
    "sequence_not_next": N_(
        "The next checkpoint of this contract has the sequence %(sequence)d. Use that one."
    ),
    "step_done": N_("This step is done already; its stored result stands. Use it."),
    "step_undecided": N_(
        "This step was begun and may have written; settle its operations before it runs again."
    ),
    "object_not_held": N_(
        "This attempt does not hold these objects: %(objects)s. Nothing was stored. Take only what was "
        "handed out."
    ),
    "lines_bad": N_(
        "Lines that need attention: %(count)d; nothing was stored. Correct them and send the table again."
    ),
    "task_id_is_well_formed": N_(
        "A task id begins with a letter or digit and holds letters, digits, dots, underscores, colons and "
        "hyphens, at most 120."
    ),
    "no_checkpoint_yet": N_("There is no checkpoint to go back to. Cancel the task, or let it go on."),
    "nothing_capped": N_(
        "Nothing is capped here. Caps are set in the section of limits while the contract is a draft."
    ),
    "drills_forbidden": N_(
        "Drills kill processes on this machine, and its settings do not allow them here. Run them on a "
        "machine of your own."
    ),
    # Names of database constraints.
    "one_open_run_per_contract": N_(
        "Another run of this contract has not ended yet. Wait for it, or stop it."
    ),
    "one_result_per_window": N_("This window of the run has its result already. Start another run."),
    "attempt_number_once": N_("There is an attempt with this number already. Use the next number."),
    "attempt_id_once": N_("There is an attempt with this id already. Choose another id."),
    "generation_once": N_("This generation was granted already. Use the next one."),
    "one_open_attempt": N_("Another attempt has not ended yet. Enter when it ended first."),
    "checkpoint_id_once": N_("There is a checkpoint with this id already. Choose another id."),
    "checkpoint_sequence_once": N_(
        "There is a checkpoint with this sequence already. Reload and add it again."
    ),
    "step_key_once": N_("There is a journal step with this key already. Choose another key."),
    "step_sequence_once": N_("There is a journal step with this sequence already. Reload and add it again."),
    "source_version_once": N_(
        "This source version with this checksum is here already. Use it, or give the version another name."
    ),
    "one_current_source_version": N_("Another version of this source is current. Reload to see which."),
    "artefact_version_once": N_(
        "This artefact version with this checksum is here already. Use it, or give the version another name."
    ),
    "one_current_artefact_version": N_("Another version of this artefact is current. Reload to see which."),
    "object_id_once": N_("There is an object with this id already. Choose another id."),
    "tool_once": N_("There is a contract for this tool already. Edit that one."),
    "operation_key_once": N_("This very call is in the ledger already. Look at what became of it."),
    "one_operation_per_slot": N_(
        "This object, step, round and tool hold an operation already, whatever its parameters. Look at that "
        "one."
    ),
    "one_row_per_window": N_("There is a window with this name already. Choose another name."),
    "usage_entry_once": N_("This usage entry is here already. Leave it out."),
    "approval_item_once": N_("This approval item is here already. Open that one."),
    "item_id_is_well_formed": N_(
        "An item id begins with a letter or digit, holds letters, digits, dots, underscores, colons and hyphens, "
        "at most 40, and is neither “ask” nor “mark”."
    ),
    "no_blanket_scope": N_("An item covers one call; there is no wider scope. Ask for each call."),
    "vote_is_yes_or_no": N_("A vote says approved or rejected. Choose one of them."),
    "requester_cannot_decide": N_("Who asked cannot decide. Another curator has to."),
    "expiry_is_nobodys_no": N_("What a person decided after it expired is no decision. Ask again."),
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
