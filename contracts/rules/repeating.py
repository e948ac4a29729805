"""What may be done again: a write of unknown result, a step found begun, a key the target has seen.

“Absent” when asked is not “never”. A request may still be travelling, and a frozen former owner may wake up and
send. Absence is certain only once the settle time has passed since the last possible send *and* nobody displaced
can still send; or else the target must be known to recognise the key.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from contracts.rules.approving import Difference, Item, may_use
from contracts.rules.states import ObjectState, OperationState
from contracts.rules.vocabulary import Effect, StaleOwner, StepKind
from contracts.rules.words import N_, Labelled

BY_OWN_NATURE = frozenset({Effect.READ_ONLY, Effect.IDEMPOTENT_WRITE})


class Answer(Labelled):
    """What the target said when it was asked."""

    FOUND = "found", N_("Found")
    ABSENT = "absent", N_("Not found")
    UNCLEAR = "unclear", N_("It cannot tell")


@dataclass(frozen=True, slots=True)
class Tool:
    """What a tool contract says of repeating. Settle time in seconds, the memory of a key in hours."""

    name: str
    effect: Effect
    needs_approval: bool = False
    key_supported: bool = False
    key_memory_hours: int | None = None
    query_path: str = ""
    settle_seconds: int | None = None
    compensation: str = ""
    named_person: str = ""
    stale_owner: StaleOwner = StaleOwner.NONE


@dataclass(frozen=True, slots=True)
class Asked:
    """How the target was asked, as the reconciliation record of an operation tells it.

    `generation`: the owner that asked (None: a person). `announced`, `announced_at`: the generation the target
    was told, and when. `certified_at`: when an operator certified that the former process is dead. `count`: how
    many effects the target holds, if it counts.
    """

    answer: Answer
    at: datetime
    generation: int | None = None
    announced: int | None = None
    announced_at: datetime | None = None
    certified_at: datetime | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the ledger that is not settled yet.

    `sent_at`: when the last sending was stored, before the call left. `last_send`: the latest moment at which
    its sender can have let it leave, by the sender's report or the end of its attempt; None if not known.
    """

    key: str
    tool: str
    step: str
    state: OperationState
    intended_at: datetime
    object: str = ""
    round: int = 1
    generation: int | None = None
    tries: int = 0
    sent_at: datetime | None = None
    last_send: datetime | None = None
    asked: Asked | None = None

    @property
    def shown(self) -> str:
        """Return how people tell it from others: tool, object, step, round."""
        return f"{self.tool} · {self.object or '–'} · {self.step} · {self.round}"


class Certainty(Labelled):
    """Why the absence of a write is certain, or is not."""

    CERTAIN = "certain", N_("Certainly absent")
    NOT_ASKED = "not_asked", N_("The target was not asked since it was sent")
    FOUND = "found", N_("The target has it")
    UNCLEAR = "unclear", N_("The target cannot tell")
    NO_SETTLE_TIME = "no_settle_time", N_("No settle time is stated")
    OWNER_MAY_SEND = "owner_may_send", N_("A displaced owner may still send")
    SETTLING = "settling", N_("It was asked before the settle time had passed")


@dataclass(frozen=True, slots=True)
class Absence:
    """The certainty of an absence; while settling, `until` is the moment from which asking counts."""

    certainty: Certainty
    until: datetime | None = None


def absence(tool: Tool, operation: Operation, *, now: datetime) -> Absence:
    """Return whether the target's “not found” means that the write never happened and never will.

    A record from the future, or of a time before the last sending, says nothing of it.
    """
    asked = operation.asked
    if asked is None or asked.at > now:
        return Absence(Certainty.NOT_ASKED)
    if asked.answer is not Answer.ABSENT:
        return Absence(Certainty.FOUND if asked.answer is Answer.FOUND else Certainty.UNCLEAR)
    if tool.settle_seconds is None:
        return Absence(Certainty.NO_SETTLE_TIME)
    since = last_possible_send(tool, operation, asked)
    if since is None:
        return Absence(Certainty.OWNER_MAY_SEND)
    until = since + timedelta(seconds=tool.settle_seconds)
    return Absence(Certainty.CERTAIN) if asked.at >= until else Absence(Certainty.SETTLING, until)


def last_possible_send(tool: Tool, operation: Operation, asked: Asked) -> datetime | None:
    """Return the last moment at which this write can have left, or None while somebody may still send it.

    Who asked may itself be the sender, or the single proxy is: then the ledger knows. A target that checks
    generations refuses the former one from the moment it was told the new one, which must be before it was
    asked. A process certified dead sends nothing after its certificate.
    """
    if _same_sender(operation, asked) or tool.stale_owner is StaleOwner.SINGLE_WRITE_PROXY:
        return _latest(operation.sent_at, operation.last_send) if operation.last_send else None
    for barred in (_told_before(tool, operation, asked), _certified(operation, asked)):
        if barred is not None:
            return _latest(operation.sent_at, operation.last_send, barred)
    return None


def _same_sender(operation: Operation, asked: Asked) -> bool:
    return operation.generation is not None and asked.generation == operation.generation


def _told_before(tool: Tool, operation: Operation, asked: Asked) -> datetime | None:
    if tool.stale_owner is not StaleOwner.TARGET_CHECKS_GENERATION or operation.generation is None:
        return None
    newer = asked.announced is not None and asked.announced > operation.generation
    before = asked.announced_at is not None and asked.announced_at < asked.at
    return asked.announced_at if newer and before else None


def _certified(operation: Operation, asked: Asked) -> datetime | None:
    """Return when the sender was certified dead; a certificate older than the sending is about another one.

    One given after the target was asked makes no “not found” certain: the target is asked once more.
    """
    at = asked.certified_at
    fits = at is not None and at >= _latest(operation.intended_at, operation.sent_at)
    return at if fits else None


def _latest(*moments: datetime | None) -> datetime:
    return max(moment for moment in moments if moment is not None)


def key_may_be_resent(tool: Tool, operation: Operation, *, now: datetime) -> bool:
    """Tell whether the target still recognises this key, so that sending it again writes nothing twice.

    The age counts from the first sending; after several the ledger knows only that it was not before the
    intention. A memory that nobody stated proves nothing.
    """
    if not tool.key_supported or tool.key_memory_hours is None:
        return False
    once = operation.tries <= 1 and operation.sent_at is not None
    first = operation.sent_at if once and operation.sent_at else operation.intended_at
    return now - first < timedelta(hours=tool.key_memory_hours)


class Ahead(Labelled):
    """What may be done with an operation of unknown result."""

    CONFIRM = "confirm", N_("Store what the target has")
    SEND_AGAIN = "send_again", N_("Send the same call again")
    ASK = "ask", N_("Ask the target")
    WAIT = "wait", N_("Wait, then ask the target again")
    PERSON = "person", N_("The named person decides")


@dataclass(frozen=True, slots=True)
class Outlook:
    """What may be done with an unknown operation and why; `until` is when waiting ends."""

    ahead: Ahead
    sentence: str
    until: datetime | None = None


FOUND = Outlook(
    Ahead.CONFIRM, N_("The target has it: it is confirmed with that evidence, and never sent again.")
)
KEY = Outlook(Ahead.SEND_AGAIN, N_("The target recognises this key: the same call may be sent again."))
GONE = Outlook(Ahead.SEND_AGAIN, N_("It is certainly absent: the same call may be sent again."))
ASK = Outlook(Ahead.ASK, N_("It may have left: ask the target before anything else is sent."))
ASK_AGAIN = Outlook(
    Ahead.ASK, N_("The target was asked before the settle time had passed: ask it once more.")
)
ANNOUNCE = Outlook(
    Ahead.ASK, N_("A displaced owner may still send: tell the target the new generation, then ask it again.")
)
SETTLING = N_("It may still appear in the target: wait out the settle time, then ask again.")
NO_QUERY = Outlook(Ahead.PERSON, N_("The target can neither be asked nor recognises the key any more."))
CANNOT_TELL = Outlook(Ahead.PERSON, N_("The target was asked and cannot tell."))
NO_SETTLE_TIME = Outlook(
    Ahead.PERSON, N_("No settle time is stated for this tool, so “not found” is not “never”.")
)
OWNER_MAY_SEND = Outlook(
    Ahead.PERSON,
    N_(
        "A displaced owner may still send, and nothing keeps it out: certify that its process is dead, or decide."
    ),
)


def outlook(tool: Tool, operation: Operation, *, now: datetime) -> Outlook:
    """Return what may be done with an operation whose result is unknown."""
    found = absence(tool, operation, now=now)
    if found.certainty is Certainty.FOUND:
        return FOUND
    if key_may_be_resent(tool, operation, now=now):
        return KEY
    if not tool.query_path:
        return GONE if found.certainty is Certainty.CERTAIN else NO_QUERY
    if found.until is not None:
        return ASK_AGAIN if now >= found.until else Outlook(Ahead.WAIT, SETTLING, found.until)
    if found.certainty is Certainty.OWNER_MAY_SEND:
        told = tool.stale_owner is StaleOwner.TARGET_CHECKS_GENERATION
        return ANNOUNCE if told else OWNER_MAY_SEND
    return AFTER_ASKING[found.certainty]


AFTER_ASKING: Mapping[Certainty, Outlook] = {
    Certainty.CERTAIN: GONE,
    Certainty.NOT_ASKED: ASK,
    Certainty.UNCLEAR: CANNOT_TELL,
    Certainty.NO_SETTLE_TIME: NO_SETTLE_TIME,
}


def may_use_again(item: Item, *, present: Difference | None, now: datetime, decider_still_may: bool) -> str:
    """Return the code of what forbids sending again under the approval this operation used, or an empty text."""
    fresh = Item(
        item.state, item.bound, item.author, item.last_editor, item.expires_at, False, item.decided_by
    )
    return may_use(fresh, present=present, now=now, decider_still_may=decider_still_may)


def may_repeat_step(kind: StepKind, effect: Effect | None, operations: Collection[OperationState]) -> bool:
    """Tell whether a step found begun may be run again.

    Only a call of a tool reaches outside. One whose tool neither reads only nor is idempotent, or is not known,
    is decided by its operations: none may be on its way, unknown or confirmed. Without an operation nothing
    left, since the intention is stored before the call.
    """
    if kind is not StepKind.TOOL_CALL or effect in BY_OWN_NATURE:
        return True
    return not {OperationState.SENDING, OperationState.UNKNOWN, OperationState.CONFIRMED} & set(operations)


def operation_after_loss(state: OperationState, *, synchronous: bool) -> OperationState:
    """Return the state of an operation once its generation has ended without a report.

    `synchronous`: the ledger was written before the call could leave; else one still pending may have left.
    """
    left = state is OperationState.SENDING or (state is OperationState.PENDING and not synchronous)
    return OperationState.UNKNOWN if left else state


def object_after_loss(state: ObjectState, operations: Collection[OperationState]) -> ObjectState:
    """Return the state of an object once its generation has ended; `operations` are its own, settled before.

    Half a draft is not a draft: without a call that may have left, the work begins anew.
    """
    if state is not ObjectState.IN_PROGRESS:
        return state
    left = {OperationState.SENDING, OperationState.UNKNOWN} & set(operations)
    return ObjectState.UNKNOWN if left else ObjectState.PENDING
