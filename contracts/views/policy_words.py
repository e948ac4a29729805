"""The rules of deciding as one sentence, for every page that has to say them."""

from django.utils.translation import gettext, ngettext, pgettext

from contracts.models.people import called
from contracts.rules.approving import Policy
from contracts.rules.vocabulary import OnTimeout, Role


def policy_sentence(policy: Policy) -> str:
    """Return what this version of the policy asks for, in the language in force."""
    head = gettext("Version %(number)d") % {"number": policy.number}
    clauses = pgettext("between the clauses of a policy", "; ").join(policy_clauses(policy))
    shape = pgettext("a version of the policy and its clauses", "%(version)s: %(clauses)s.")
    return shape % {"version": head, "clauses": clauses}


def policy_clauses(policy: Policy) -> list[str]:
    """Return the rules of a policy one by one: who, how long, how sure of the person, and what else happens."""
    second = gettext("a second factor") if policy.second_factor else gettext("no second factor")
    return [_who(policy), _waiting(policy), _sure(policy.login_fresh_seconds), second, _timeout(policy)]


def recipient_words(name: str) -> str:
    """Return whom an item is passed on to: a role of the team by its label, a person by their name."""
    return gettext(Role(name).label) if name in set(Role) else called(name)


def _who(policy: Policy) -> str:
    if policy.author_may_decide:
        said = ngettext(
            "one curator, who may be the author", "%(count)d curators, the author among them", policy.quorum
        )
    else:
        said = ngettext("one curator, not the author", "%(count)d curators, not the author", policy.quorum)
    return said % {"count": policy.quorum}


def _waiting(policy: Policy) -> str:
    said = ngettext(
        "an item waits one hour, at the longest %(longest)d",
        "an item waits %(hours)d hours, at the longest %(longest)d",
        policy.default_expiry_hours,
    )
    return said % {"hours": policy.default_expiry_hours, "longest": policy.longest_expiry_hours}


def _sure(seconds: int) -> str:
    if seconds % 60:
        return gettext("identity confirmed within %(count)d seconds") % {"count": seconds}
    said = ngettext(
        "identity confirmed within one minute", "identity confirmed within %(count)d minutes", seconds // 60
    )
    return said % {"count": seconds // 60}


def _timeout(policy: Policy) -> str:
    if policy.on_timeout != OnTimeout.PASS_ON:
        return gettext("when nobody decides in time: nothing is sent")
    hours = policy.pass_on_hours or policy.default_expiry_hours
    said = ngettext(
        "when nobody decides in time: passed on once to %(recipient)s, for one hour",
        "when nobody decides in time: passed on once to %(recipient)s, for %(hours)d hours",
        hours,
    )
    return said % {"recipient": recipient_words(policy.pass_on_to), "hours": hours}
