"""One approval item as a page shows it: what would happen, what changed, who may decide, and how it stands."""

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.http import HttpRequest

from contracts.gates.binding import ASKED, Present
from contracts.gates.requesting import ASKABLE, Writers, writers_of
from contracts.gates.rows import not_open
from contracts.models import Approval, ApprovalVote, Artefact, Event, Operation, roles_of
from contracts.rules.approving import MEMBERS, Decider, Difference, Policy, may_decide
from contracts.rules.refusals import refusal
from contracts.rules.states import ApprovalState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import ActorKind, Right
from contracts.rules.wording import Change, LabelText, label_text, shortened, word_changes
from contracts.views.confirming import confirmed
from contracts.views.loading import Loaded
from contracts.views.policy_words import recipient_words
from contracts.views.presence import lookers_at

NOT_SURE = ("login_not_fresh", "second_factor_missing")


@dataclass(frozen=True, slots=True)
class Compared:
    """What the changes are counted from: an earlier version, and the decision on it if there was one."""

    version: str
    decided_by: str
    decided_at: datetime | None
    changes: list[Change]


@dataclass
class Shown:
    """One item with everything its page tells; what not every page needs is read when asked for."""

    loaded: Loaded
    item: Approval
    now: datetime
    policy: Policy | None
    difference: Difference | None
    decider: Decider
    user: Any
    asked_kind: str = ""  # of the actor who asked, where it was read already

    @property
    def state(self) -> ApprovalState:
        """Return how the item stands, whether that was stored already or not."""
        if self.live and self.difference is not None:
            return ApprovalState.STALE
        if self.live and self.item.expires_at <= self.now:
            return ApprovalState.EXPIRED
        return ApprovalState(self.item.state)

    @property
    def live(self) -> bool:
        """Tell whether something can still become of it: it waits, or is approved and not used."""
        unused = self.item.state == ApprovalState.APPROVED and self.item.consumed_at is None
        return unused or self.item.state == ApprovalState.PENDING

    @cached_property
    def code(self) -> str:
        """Return the code of what keeps this person from deciding now, or an empty text."""
        if self.state is ApprovalState.PENDING and self.loaded.contract.state not in ASKABLE:
            return "not_open"
        writers = self.writers.names if self.open and self.writers else ()
        return may_decide(
            replace(self.item.item(), writers=frozenset(writers)),
            self.decider,
            self.policy,
            present=self.difference,
            now=self.now,
            seen=self.item.fingerprint,
        )

    @property
    def open(self) -> bool:
        """Tell whether the item still waits."""
        return self.state is ApprovalState.PENDING

    @property
    def decidable(self) -> bool:
        """Tell whether this person may decide on it now."""
        return not self.code and self.own_vote is None

    @property
    def needs_confirming(self) -> bool:
        """Tell whether nothing is missing but to be sure who this is."""
        return self.code in NOT_SURE and self.own_vote is None

    @property
    def offers_buttons(self) -> bool:
        """Tell whether the page has the form: what was written is kept while the person confirms who they are."""
        return self.decidable or self.needs_confirming

    @property
    def why_not(self) -> Verdict | None:
        """Return the refusal that stands where the buttons would be, for an item that waits."""
        if not self.open or not self.code or self.code == "no_right_to_decide":
            return None
        if self.code == "not_open":
            return not_open(self.loaded.contract)
        return refusal(self.code)

    @property
    def mark(self) -> str:
        """Return what changes when the page must be shown anew.

        A login that ages is asked about at the button, and a further vote is told in its place: whoever is writing
        a reason is not disturbed.
        """
        code = "" if self.code in NOT_SURE else self.code
        return f"{self.state.value}.{code}.{'said' if self.own_vote else ''}.{bool(self.item.consumed_at)}"

    @property
    def seconds_left(self) -> int:
        """Return the seconds until it expires, by the database's clock."""
        return max(0, int((self.item.expires_at - self.now).total_seconds()))

    @cached_property
    def votes(self) -> list[ApprovalVote]:
        """Return the words given so far."""
        return list(ApprovalVote.objects.of(self.item.contract_id).filter(approval=self.item))

    @property
    def quorum(self) -> int:
        """Return how many must agree."""
        return self.policy.quorum if self.policy else 1

    @property
    def yes(self) -> int:
        """Return how many said yes."""
        return sum(vote.decision == ApprovalState.APPROVED for vote in self.votes)

    @property
    def own_vote(self) -> ApprovalVote | None:
        """Return what this person said already."""
        return next((vote for vote in self.votes if vote.decider == self.user.get_username()), None)

    @cached_property
    def lookers(self) -> str:
        """Return the names of who else has the item open just now."""
        return lookers_at(self.item.contract_id, place_of(self.item), self.user)

    @cached_property
    def writers(self) -> Writers | None:
        """Return who wrote the draft, if there is one."""
        draft = self.item.draft
        return writers_of(self.loaded.contract, draft) if draft is not None else None

    @property
    def came_along(self) -> bool:
        """Tell whether the editor named is only who created the contract, with the draft already in it."""
        if self.item.last_editor != self.loaded.contract.created_by:
            return False
        return self.writers is not None and self.writers.came_along

    @property
    def recipient(self) -> str:
        """Return whom the item was passed on to."""
        return recipient_words(self.item.passed_to)

    @property
    def operation(self) -> Operation:
        """Return the operation the item is about, with its tool and object."""
        operation: Operation = self.item.operation
        return operation

    @cached_property
    def asked_by(self) -> ActorKind:
        """Return what kind of actor asked; of an imported item nobody knows, so it counts as a worker."""
        asked = Event.objects.filter(
            contract=self.item.contract_id, part="approval", act__in=ASKED, subject=self.item.item_id
        )
        first = self.item.passed_from or self.item.item_id
        asked = (
            asked
            if first == self.item.item_id
            else Event.objects.filter(
                contract=self.item.contract_id, part="approval", act="request", subject=first
            )
        )
        kind = self.asked_kind or asked.values_list("actor_kind", flat=True).first()
        return ActorKind(kind) if kind else ActorKind.WORKER

    @cached_property
    def label(self) -> LabelText | None:
        """Return the preview as it will hang on the wall."""
        return label_text(self.item.preview) if self.item.preview else None

    @cached_property
    def parameters(self) -> str:
        """Return the whole parameters as readable JSON."""
        return json.dumps(self.item.parameters, indent=2, ensure_ascii=False, sort_keys=True)

    @cached_property
    def compared(self) -> Compared | None:
        """Return what changed since the last approved version, or else since the version before."""
        return self._since_approved() or self._since_before()

    def _since_approved(self) -> Compared | None:
        if self.item.draft is None:
            return None
        ever = Approval.objects.joined().filter(
            contract=self.item.contract_id, draft__artefact_id=self.item.draft.artefact_id
        )
        approved = (
            ever.exclude(pk=self.item.pk).exclude(decided_by="").exclude(state=ApprovalState.REJECTED.value)
        )
        last = approved.filter(asked_at__lte=self.item.asked_at).order_by("-decided_at").first()
        if last is None:
            return None
        changes = word_changes(last.preview, self.item.preview)
        return Compared(last.draft_version, last.decided_by, last.decided_at, shortened(changes))

    def _since_before(self) -> Compared | None:
        draft = self.item.draft
        if draft is None:
            return None
        versions = Artefact.objects.of(self.item.contract_id).filter(
            artefact_id=draft.artefact_id, position__lt=draft.position
        )
        before = versions.exclude(inline_text="").last()
        if before is None:
            return None
        changes = word_changes(before.inline_text, self.item.preview)
        return Compared(before.version_label, "", None, shortened(changes))

    @cached_property
    def changed(self) -> Difference | None:
        """Return what made the item stale, now or when it was stored."""
        if self.state is not ApprovalState.STALE:
            return None
        stored = Difference(self.item.stale_member, self.item.stale_was, self.item.stale_now)
        return self.difference if self.live else stored

    @property
    def changed_member(self) -> str:
        """Return the words for the member that changed."""
        return MEMBERS[self.changed.member] if self.changed and self.changed.member in MEMBERS else ""

    @cached_property
    def since_asked(self) -> Compared | None:
        """Return what became of the draft since a stale item was asked for."""
        if self.changed is None or self.item.draft is None:
            return None
        current = Artefact.objects.of(self.item.contract_id).filter(
            artefact_id=self.item.draft.artefact_id, current=True
        )
        draft = current.first()
        if draft is None or not draft.inline_text or draft.sha256 == self.item.draft_sha256:
            return None
        changes = word_changes(self.item.preview, draft.inline_text)
        return Compared(draft.version_label, "", None, shortened(changes))

    @cached_property
    def successor(self) -> Approval | None:
        """Return the newest item for the same step of the same object, if it is a later one."""
        later = Approval.objects.joined().filter(
            contract=self.item.contract_id,
            operation__work_object=self.operation.work_object,
            operation__step=self.operation.step,
            operation__tool=self.operation.tool,
            asked_at__gt=self.item.asked_at,
        )
        return later.order_by("-asked_at").first()

    @property
    def correctable(self) -> bool:
        """Tell whether this person may correct the draft."""
        return self.offers_buttons and self.item.draft is not None and bool(self.item.draft.inline_text)


def shown_item(request: HttpRequest, loaded: Loaded, item: Approval) -> Shown:
    """Return the item as it stands now for the person at the browser."""
    now: datetime = item.read_at  # type: ignore[attr-defined]
    present = Present(loaded.contract, [item], read_whole=True)
    shown = Shown(
        loaded=loaded,
        item=item,
        now=now,
        policy=present.policy,
        difference=None,
        decider=_decider(request, loaded, item),
        user=request.user,
        asked_kind="" if item.passed_from else present.asked_by.get(item.item_id, ""),
    )
    if shown.live:
        shown.difference = present.difference(item)
    return shown


def _decider(request: HttpRequest, loaded: Loaded, item: Approval) -> Decider:
    """Return who looks, by what this request has read of the person already; the gate reads all of it afresh."""
    known = confirmed(request)
    user: Any = request.user  # nobody comes here without having logged in
    return Decider(
        name=loaded.actor.name,
        kind=loaded.actor.kind,
        may_decide=loaded.may(Right.DECIDE),
        confirmed_at=known.at,
        second_factor_at=known.second_factor_at,
        known_as=frozenset({user.get_username(), user.get_full_name()}),
        roles=roles_of(user, loaded.contract.team_id) if item.passed_to else frozenset(),
    )


def place_of(item: Approval) -> str:
    """Return the name under which presence at an item is kept."""
    return f"approval:{item.item_id}"


def fresh_until(shown: Shown) -> datetime | None:
    """Return until when the confirmed login is fresh enough to decide."""
    if shown.policy is None or shown.decider.confirmed_at is None:
        return None
    return shown.decider.confirmed_at + timedelta(seconds=shown.policy.login_fresh_seconds)
