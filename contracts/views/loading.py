"""How a view comes by its contract: what a person may not see cannot be loaded."""

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django_htmx.middleware import HtmxDetails

from contracts.models import Contract, find_seen, gather_progress
from contracts.rules.completeness import Missing, missing_things, section_states
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Actor, ActorKind, Right, Section, SectionState


class Asked(HttpRequest):
    """A request as the middleware hands it on."""

    htmx: HtmxDetails


@dataclass(slots=True)
class Loaded:
    """A contract together with what this person may do with it."""

    contract: Contract
    rights: frozenset[Right]
    actor: Actor

    def acting(self) -> Actor:
        """Return who acts where an operator may do what others may not: an operator, if the person is one."""
        kind = ActorKind.OPERATOR if self.may(Right.OPERATE) else self.actor.kind
        return Actor(self.actor.name, kind)

    def may(self, right: Right) -> bool:
        """Tell whether the person holds `right` on this contract."""
        return right in self.rights


def load_contract(request: HttpRequest, task_id: str, right: Right = Right.VIEW) -> Loaded:
    """Return the contract, 404 if the person may not see it, 403 if `right` is lacking."""
    found = find_seen(request.user, task_id)
    if found is None:
        raise Http404
    contract, rights = found
    if right not in rights:
        raise PermissionDenied(right.label)
    return Loaded(contract, rights, actor_of(request, right))


def actor_of(request: HttpRequest, right: Right = Right.VIEW) -> Actor:
    """Return who acts: always the person logged in, as an operator where the act is an operator's."""
    kind = ActorKind.OPERATOR if right is Right.OPERATE else ActorKind.PERSON
    return Actor(request.user.get_username(), kind)


@dataclass(slots=True)
class RailEntry:
    """One entry of the rail: where it leads, what it is called, how far it is."""

    url: str
    label: str
    note: str
    mark: str
    current: bool


def contract_context(loaded: Loaded, current: str = "") -> dict[str, Any]:
    """Return what every page of a contract shows: head, rail, rights, missing things.

    `current` is the value of a section or the name of a page (`overview`, `policy`, `events`, …).
    The number of queries does not depend on the content.
    """
    contract = loaded.contract
    progress = gather_progress(contract)
    missing = missing_things(progress, now=timezone.now())
    states = section_states(progress, missing)
    done = sum(state is SectionState.COMPLETE for state in states.values())
    return {
        "contract": contract,
        "state": ContractState(contract.state),
        "rights": {right.name.lower(): right in loaded.rights for right in Right},
        "sections": _rail(loaded, states, current),
        "section_states": states,
        "rail_summary": gettext("%(done)d of %(all)d complete") % {"done": done, "all": len(states)},
        "complete_count": done,
        "current": current,
        "missing": missing,
        "nav_here": "contracts",
    }


def _rail(loaded: Loaded, states: dict[Section, SectionState], current: str) -> list[RailEntry]:
    task_id = loaded.contract.task_id
    pages = [
        ("overview", gettext("Overview")),
        ("timeline", gettext("Timeline")),
        ("policy", gettext("Approval policy")),
        ("events", gettext("Events")),
    ]
    if loaded.may(Right.EXPORT):
        pages.append(("export", gettext("Export")))
    if loaded.may(Right.SHARE):
        pages.append(("sharing", gettext("Sharing")))
    entries = [
        RailEntry(reverse(f"contracts:{name}", args=[task_id]), label, "", "", name == current)
        for name, label in pages
    ]
    if loaded.may(Right.SHARE) or loaded.may(Right.OPERATE):
        place = reverse("contracts:tokens", args=[loaded.contract.team.slug]) + f"?contract={task_id}"
        entries.append(RailEntry(place, gettext("Tokens of workers"), "", "", False))
    entries[1:1] = [
        RailEntry(
            reverse("contracts:section", args=[task_id, section.value]),
            gettext(section.label),
            gettext(state.label),
            state.value,
            section.value == current,
        )
        for section, state in states.items()
    ]
    return entries


def missing_in(missing: tuple[Missing, ...], section: Section) -> list[Missing]:
    """Return what is missing in one section, without its mark."""
    return [thing for thing in missing if thing.section == section and thing.code != "not_marked"]
