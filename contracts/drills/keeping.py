"""The contract around our own client's workers: made for one repetition, decided on by a person, asked afterwards.

Everything goes through the gates, as people and workers use them; drills have a team and people of their own.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model

from contracts.drills.adapter import FIRST_VERSION, NEXT_VERSION, OBJECTS, Environment, FileKeeper, Setting
from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.creating import create_contract
from contracts.gates.form_keys import make_form_key
from contracts.gates.lifecycle import archive, leave_draft
from contracts.gates.people import create_person, create_team
from contracts.gates.tokens import issue_token, revoke_token
from contracts.gates.workers.changing import change_source
from contracts.models import Approval, Contract, Event, Operation, Team, WorkObject
from contracts.models.content import plain
from contracts.rules.document import FORMAT, SCHEMA_VERSION, check_document
from contracts.rules.drilling import Target
from contracts.rules.fingerprint import digest_bytes
from contracts.rules.states import Act, ApprovalState, ContractState, ObjectState, OperationState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import (
    LEASE_MIN_SECONDS,
    Actor,
    ActorKind,
    Measure,
    Plane,
    Role,
    Section,
)
from contracts.rules.windows import Window

TEAM = "drills"
OWNER, CURATOR, WORKER = "drill-owner", "drill-curator", "drill-writer"
PLAIN_TOOL, ASKING_TOOL = "cms.publish", "cms.publish_with_consent"
SYSTEM = Actor("drill", ActorKind.SYSTEM)
SETTLE_SECONDS = 1
CAP = "100000"  # of every measure: a drill is about faults, not about limits
STALE = ("stale_generation", "not_owner")
# What a tool contract says of each target, no more than is true of it.
KEPT_OUT: dict[Target, dict[str, Any]] = {
    Target.PLAIN: {"stale_owner": "none"},
    Target.DEDUPLICATES: {
        "stale_owner": "target_deduplicates",
        "key_supported": True,
        "key_memory_hours": 1,
        "same_key": "ignores",
    },
    Target.CHECKS_GENERATION: {"stale_owner": "target_checks_generation"},
    Target.PROXY: {"stale_owner": "single_write_proxy"},
}


@contextmanager
def keep_contract(setting: Setting) -> Iterator["ContractKeeper"]:
    """Make a contract for this repetition, with a token for its worker; afterwards the token is revoked."""
    contract = _create(setting)
    asked = issue_token(actor=SYSTEM, team=contract.team, worker=WORKER, contract_ids=[contract.pk], days=1)
    issued = _done(asked)
    keeper = ContractKeeper(contract, setting, issued.token)
    try:
        yield keeper
    finally:
        revoke_token(actor=SYSTEM, token_id=issued.row.token_id)
        contract.refresh_from_db()
        if contract.state == ContractState.COMPLETED:
            archive(contract_id=contract.pk, actor=SYSTEM)


class ContractKeeper(FileKeeper):
    """Reads what happened off the contract."""

    def __init__(self, contract: Contract, setting: Setting, token: str) -> None:
        super().__init__(setting.folder)
        self._contract, self._token, self._target = contract, token, setting.target

    def environment(self) -> Environment:
        """Give the token, and say who sends; where the workbench is was said by the services."""
        proxied = {"DRILL_PROXIED": "1"} if self._target is Target.PROXY else {}
        return {"WORKBENCH_TOKEN": self._token, **proxied}

    def approve(self, work_object: str) -> None:
        """Let the curator approve what waits; nothing if nothing does."""
        curator = _person(CURATOR, self._contract.team, Role.CURATOR)
        waiting = Approval.objects.joined().filter(contract=self._contract, state=ApprovalState.PENDING.value)
        for item in waiting.filter(operation__work_object__object_id=work_object):
            _done(
                decide(
                    contract_id=self._contract.pk,
                    actor=Actor(curator.get_username(), ActorKind.PERSON),
                    user=curator,
                    item_id=item.item_id,
                    seen=item.fingerprint,
                    decision=ApprovalState.APPROVED.value,
                    form_key=make_form_key(item, curator),
                    confirmed_at=database_now(),
                )
            )

    def change(self, work_object: str) -> None:
        """Replace the source, in the contract too."""
        super().change(work_object)
        _done(
            change_source(contract_id=self._contract.pk, actor=SYSTEM, **_source(work_object, NEXT_VERSION))
        )

    def held(self) -> int:
        """Count the writes of unknown result."""
        return int(self._operations().filter(state=OperationState.UNKNOWN.value).count())

    def unfinished(self) -> frozenset[str]:
        """Name the objects that nobody has accepted."""
        rows = WorkObject.objects.filter(contract=self._contract)
        settled = (ObjectState.CONFIRMED.value, ObjectState.SKIPPED.value)
        return frozenset(rows.exclude(state__in=settled).values_list("object_id", flat=True))

    def recovered(self) -> int:
        """Count the writes that were settled by asking the target."""
        return int(self._events().filter(act=Act.RECONCILED.value, part="operation").count())

    def refused(self) -> int:
        """Count what a displaced worker was refused."""
        return int(self._events().filter(refused__in=STALE).count())

    def _operations(self) -> Any:
        return Operation.objects.filter(contract=self._contract)

    def _events(self) -> Any:
        return Event.objects.filter(contract=self._contract)


def _create(setting: Setting) -> Contract:
    team = create_team(slug=TEAM, name="Drills")
    owner = _person(OWNER, team, Role.REVIEWER)
    _person(CURATOR, team, Role.CURATOR)
    document = check_document({**_document(setting), "task_id": setting.task, "team": team.slug})
    made = create_contract(user=owner, actor=SYSTEM, team=team, document=document)
    contract: Contract = _done(leave_draft(contract_id=_done(made).pk, actor=SYSTEM))
    return contract


def _person(username: str, team: Team, role: Role) -> Any:
    """Return one of the drills' own people, who can never log in."""
    found = get_user_model().objects.filter(username=username).first()
    if found is None:
        secret = secrets.token_urlsafe(48)
        found = create_person(
            username=username, full_name=username, password=secret, team=team, roles=(role,)
        )
        found.set_unusable_password()
        found.save(update_fields=["password"])
    return found


def _document(setting: Setting) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "identity": _identity(setting),
        "planes": [
            {"plane": plane.value, "authority": "drill://evidence", "readers": "drills", "retention_days": 30}
            for plane in Plane
        ],
        "sources": [{**_source(name, FIRST_VERSION), "current": True} for name in OBJECTS],
        "objects": [{"object_id": name, "source": name, "step": "publish"} for name in OBJECTS],
        "tools": [
            {**_tool(setting.target), "tool": PLAIN_TOOL},
            {**_tool(setting.target), "tool": ASKING_TOOL, "needs_approval": True},
        ],
        "policies": [{"number": 1}],
        "limits": [
            {"measure": measure.value, "cap": CAP, "currency": "EUR" if measure is Measure.COST else ""}
            for measure in Measure
        ],
        "gate": {"lease_seconds": LEASE_MIN_SECONDS, "renew_seconds": 1, "named_person": OWNER},
        "windows": [{"window": window.value, "setting": setting.task} for window in Window],
        "complete_sections": [section.value for section in Section],
    }


def _identity(setting: Setting) -> dict[str, Any]:
    return {
        "title": setting.task,
        "purpose": "A drill: one page for each object.",
        "accountable_owner": OWNER,
        "workflow_name": "drill",
        "workflow_version": "1",
        "state_schema_version": 1,
        "agent_version": "drill",
        "acceptance": "worker",
        "deadline": plain(database_now() + timedelta(days=1)),
    }


def _tool(target: Target) -> dict[str, Any]:
    known = {
        "effect": "non_idempotent_write",
        "query_path": "cms://pages?key",
        "settle_seconds": SETTLE_SECONDS,
        "named_person": OWNER,
    }
    return {**known, **KEPT_OUT[target]}


def _source(name: str, version: str) -> dict[str, Any]:
    return {
        "source_id": name,
        "version_label": version,
        "sha256": digest_bytes(f"{name} {version}".encode()),
        "location": f"drill://sources/{name}",
    }


def _done(verdict: Verdict) -> Any:
    if not verdict.allowed:
        told = ", ".join(f"{problem.field}: {problem.code}" for problem in verdict.problems)
        raise RuntimeError(f"a gate refused the drill: {verdict.code} {told} {verdict.outcome or ''}")
    return verdict.outcome
