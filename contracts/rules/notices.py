"""What a person is told outside the page where it happens, and in which words."""

from collections.abc import Mapping

from contracts.rules.states import ApprovalState
from contracts.rules.words import N_, Labelled


class Told(Labelled):
    """What a notice is about."""

    WAITING = "waiting", N_("Waits for a decision")
    PASSED_ON = "passed_on", N_("Passed on to you")
    NEAR_EXPIRY = "near_expiry", N_("Little time is left")
    APPROVED = "approved", N_("Approved")
    SENT_BACK = "sent_back", N_("Sent back")
    STALE = "stale", N_("Stale")
    CORRECTED = "corrected", N_("Corrected by a curator")
    EXPIRED = "expired", N_("Expired, nobody decided")
    UNUSED = "unused", N_("Approved, but not used")
    LAPSED = "lapsed", N_("Approved, but not used in time")
    HANDED_OVER = "handed_over", N_("Handed over to you")


# The one sentence of each notice. Values: call (tool and target), title, person, reason, until, member, version.
TOLD_SENTENCES: Mapping[Told, str] = {
    Told.WAITING: N_("%(person)s asks for a decision: %(call)s."),
    Told.PASSED_ON: N_("Nobody decided in time, so this was passed on to you: %(call)s."),
    Told.NEAR_EXPIRY: N_("Little time is left to decide: %(call)s."),
    Told.APPROVED: N_("%(person)s approved: %(call)s."),
    Told.SENT_BACK: N_("%(person)s sent this back: %(call)s."),
    Told.STALE: N_("This no longer covers what it was asked for (%(member)s): %(call)s."),
    Told.CORRECTED: N_(
        "%(person)s corrected the draft as version %(version)s; it needs a new request: %(call)s."
    ),
    Told.EXPIRED: N_("The time ran out and nobody decided: %(call)s."),
    Told.UNUSED: N_("This was approved, and nobody has used it yet: %(call)s."),
    Told.LAPSED: N_("This was approved, but not used in time; it covers nothing any more: %(call)s."),
    Told.HANDED_OVER: N_("What became of this call cannot be known; it is handed over to you: %(call)s."),
}


# What asks for a decision, until there is one.
ASKS_TO_DECIDE = frozenset({Told.WAITING, Told.PASSED_ON, Told.NEAR_EXPIRY})
VOTED = N_("Your vote is recorded; others still decide: %(call)s.")
NO_LONGER_WAITS = N_("This no longer waits for a decision: %(call)s.")


def sentence_since(state: ApprovalState, *, decided: bool) -> str:
    """Return the sentence that stands for a notice that asked for a decision, now that the item is in `state`.

    `decided`: somebody decided on it, which holds of a stale or expired item if it had been approved.
    """
    if state is ApprovalState.PENDING:
        return VOTED
    if not decided:
        return NO_LONGER_WAITS
    return TOLD_SENTENCES[Told.SENT_BACK if state is ApprovalState.REJECTED else Told.APPROVED]


class MailState(Labelled):
    """What is known of the mail of one notice. A claimed mail is never sent a second time."""

    NONE = "none", N_("No address")
    PENDING = "pending", N_("To be mailed")
    SENDING = "sending", N_("Being mailed, or interrupted while it was")
    SENT = "sent", N_("Mailed")
    FAILED = "failed", N_("Refused by the mail server")
