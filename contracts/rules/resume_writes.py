"""What the resume decision says of writes: those of unknown result, and the approval of the next one."""

from collections.abc import Mapping
from datetime import datetime

from contracts.rules.approving import may_use, member_words
from contracts.rules.repeating import Ahead, may_use_again, outlook
from contracts.rules.resume_facts import Facts, Held, OpenWrite
from contracts.rules.resume_findings import Case, Finding, Findings, Outcome, Reference, attention, blocked
from contracts.rules.states import ApprovalState, ContractState, ObjectState, OperationState
from contracts.rules.words import N_


def _shown(writes: tuple[OpenWrite, ...]) -> tuple[Reference, ...]:
    return tuple(Reference("operation", write.operation.shown) for write in writes)


def look_at_unknown(case: Case) -> Findings:
    """Yield what is found of results nobody knows."""
    facts, uncertain = case.facts, case.facts.uncertain(case.now)
    objects = facts.count(ObjectState.UNKNOWN)
    if uncertain:
        yield _uncertain(case, uncertain)
    elif objects:
        rows = (row for row in facts.rows if row.state is ObjectState.UNKNOWN)
        sentence = N_("Objects of unknown result without a write to ask about: %(count)d. Somebody looks.")
        keys = (Reference("object", row.object_id) for row in rows)
        yield blocked(Outcome.ESCALATE, sentence, *keys, count=objects, person=facts.task.named_person)
    sending = facts.in_state(OperationState.SENDING)
    if sending and sending[0] not in uncertain:
        sentence = N_("Being sent by the present owner: %(count)d.")
        yield attention(sentence, *_shown(sending), count=len(sending))


def _uncertain(case: Case, uncertain: tuple[OpenWrite, ...]) -> Finding:
    """Find what the worker can settle first; only where nothing is left of that, the named person must."""
    tools, now = case.facts.tools, case.now
    ahead = [(write, outlook(tools[write.operation.tool], write.operation, now=now)) for write in uncertain]
    own = [(write, seen) for write, seen in ahead if seen.ahead is not Ahead.PERSON]
    (first, seen), *_ = own or ahead
    values = {"count": len(uncertain), "row": first.operation.shown, "why": seen.sentence}
    if own:
        sentence = N_("Operations of unknown result: %(count)d. %(row)s: %(why)s")
        return blocked(Outcome.RECONCILE, sentence, *_shown(uncertain), until=seen.until, **values)
    person = tools[first.operation.tool].named_person or case.facts.task.named_person
    sentence = N_("Operations of unknown result: %(count)d. %(person)s decides on %(row)s: %(why)s")
    return blocked(Outcome.ESCALATE, sentence, *_shown(uncertain), person=person, **values)


def next_write(facts: Facts) -> OpenWrite | None:
    """Return the write that comes next: the oldest pending one of the next step, else the oldest of all."""
    pending = [write for write in facts.in_state(OperationState.PENDING) if not write.held_back]
    of_step = [write for write in pending if write.operation.step == facts.next_step]
    return next(iter(of_step or pending), None)


def approval_code(case: Case, write: OpenWrite) -> str:
    """Return what forbids sending this write under its approval: a code of `may_use`, `missing`, or nothing."""
    if not case.facts.tools[write.operation.tool].needs_approval:
        return ""
    held = write.held
    if held is None:
        return "missing"
    if held.item.state == ApprovalState.PENDING and (code := _no_longer_waits(held, case.now)):
        return code
    # One that was sent before and is certainly absent goes out again under the approval it used.
    rule = may_use_again if write.operation.tries > 0 else may_use
    return rule(held.item, present=held.present, now=case.now, decider_still_may=held.deciders_still_may)


def _no_longer_waits(held: Held, now: datetime) -> str:
    if held.present is not None:
        return "item_stale"
    return "item_expired" if held.item.expires_at <= now else ""


def sendable(case: Case) -> tuple[OpenWrite, ...]:
    """Return the pending operations that may be sent: none at all while one is unknown or a pause is requested."""
    facts = case.facts
    if facts.uncertain(case.now) or facts.task.state is ContractState.PAUSE_REQUESTED:
        return ()
    pending = facts.in_state(OperationState.PENDING)
    return tuple(write for write in pending if not write.held_back and not approval_code(case, write))


def look_at_approvals(case: Case) -> Findings:
    """Yield what is found of the decisions that the next write, and those after it, need."""
    write = next_write(case.facts)
    if write is None:
        return
    code = approval_code(case, write)
    keys = [*_shown((write,)), *((Reference("approval", write.held.item_id),) if write.held else ())]
    if code:
        leads_to, sentence = _why_not(code, write.held)
        member = _member(write.held) if write.held and code == "item_stale" else ""
        yield blocked(leads_to, sentence, *keys, row=write.operation.shown, member=member)
    others = [other for other in case.facts.in_state(OperationState.PENDING) if other is not write]
    waiting = tuple(other for other in others if approval_code(case, other))
    if waiting:
        sentence = N_("Further writes without a decision that covers them: %(count)d.")
        yield attention(sentence, *_shown(waiting), count=len(waiting))


def _why_not(code: str, held: Held | None) -> tuple[Outcome, str]:
    if code == "not_approved" and held is not None and held.item.state in UNDECIDED:
        return UNDECIDED[held.item.state]
    return Outcome.APPROVE, NOT_COVERED[code]


def _member(held: Held) -> str:
    return member_words(held.present.member if held.present else held.stale_member or "decider")


UNDECIDED: Mapping[str, tuple[Outcome, str]] = {
    ApprovalState.REJECTED: (Outcome.REFUSE, N_("%(row)s: a person rejected this call.")),
    ApprovalState.PENDING: (Outcome.APPROVE, N_("%(row)s waits for a decision.")),
}
NOT_COVERED: Mapping[str, str] = {
    "missing": N_("%(row)s: nobody was asked for a decision yet."),
    "not_approved": N_("%(row)s: the request for a decision was withdrawn; ask anew."),
    "approval_used": N_("%(row)s: the approval was used already; ask anew."),
    "item_stale": N_("%(row)s: what was asked for has changed; ask anew. %(member)s"),
    "item_expired": N_("%(row)s: the time ran out and nobody decided; ask anew."),
    "approval_expired": N_("%(row)s: the approval has run out; ask anew."),
}
