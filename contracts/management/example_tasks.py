"""The two tasks that the example workers do: their contracts, and a token that reaches one of them."""

from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError
from django.utils.translation import gettext

from contracts.exports.definition import case
from contracts.gates.beats import database_now
from contracts.gates.creating import create_contract
from contracts.gates.lifecycle import leave_draft
from contracts.gates.rows import add_row
from contracts.gates.tokens import issue_token, revoke_token
from contracts.models import Contract, Team, WorkerToken
from contracts.models.content import plain
from contracts.rules.document import check_document
from contracts.rules.parts import PARTS
from contracts.rules.states import ContractState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Actor, ActorKind, Section

TEAM, OWNER = "collection", "reviewer"  # as `create_examples` makes them
SYSTEM = Actor("example", ActorKind.SYSTEM)
WORKERS = {"museum-label": "example-label-writer", "archive-photographs": "example-describer"}
PHOTOGRAPHS = 5
HAPPENED = ("attempts", "checkpoints", "journal", "artefacts", "operations", "approvals", "votes", "usage")
ENDED = (ContractState.COMPLETED.value, ContractState.CANCELLED.value)
PUBLISHING = {
    "tool": "cms.publish_label",
    "effect": "non_idempotent_write",
    "needs_approval": True,
    "key_supported": False,
    "concurrency": "one_at_a_time",
    "query_path": "cms://collection-site/pages/by-key",
    "settle_seconds": 2,
    "stale_owner": "target_checks_generation",
}


def find_or_create(name: str, language: str = "en") -> Contract:
    """Return the newest example contract of this name that has not ended, else a new one in `language`."""
    prefix = f"example-{name}-"
    former = Contract.objects.filter(task_id__startswith=prefix)
    open_one = former.exclude(state__in=ENDED).order_by("-pk").first()
    contract = open_one or _create(name, f"{prefix}{former.count() + 1}", language)
    if contract.state == ContractState.DRAFT:
        contract = _done(leave_draft(contract_id=contract.pk, actor=SYSTEM))
    return contract


def fresh_token(contract: Contract, name: str) -> str:
    """Return a new token of the example's worker; what was left of a former run is revoked."""
    worker = WORKERS[name]
    left = WorkerToken.objects.filter(worker=worker, scopes__contract=contract, revoked_at=None)
    for row in left:
        revoke_token(actor=SYSTEM, token_id=row.token_id)
    verdict = issue_token(actor=SYSTEM, team=contract.team, worker=worker, contract_ids=[contract.pk], days=1)
    token: str = _done(verdict).token
    return token


def correct_date(contract: Contract, label: dict[str, Any], former: str, date: str) -> str:
    """Store the label with another date, as a colleague does it in the browser; return the new version."""
    values = {
        "artefact_id": label["artefact_id"],
        "version_label": f"{label['version_label']}-corrected",
        "inline_text": label["inline_text"].replace(former, date),
        "source": label["source"],
        "author": "A. Lindgren",
        "note": gettext("The date was corrected."),
    }
    verdict = add_row(contract_id=contract.pk, actor=SYSTEM, part=PARTS["artefact"], values=values)
    return str(_done(verdict).version_label)


def _create(name: str, task_id: str, language: str) -> Contract:
    team = Team.objects.filter(slug=TEAM).first()
    owner = get_user_model().objects.filter(username=OWNER, is_active=True).first()
    if team is None or owner is None:
        raise CommandError(gettext("There is no example team here. Run `manage.py up` first."))
    document = check_document({**_document(name, language), "team": team.slug}, task_id=task_id)
    actor = Actor(owner.get_username(), ActorKind.SYSTEM)
    contract: Contract = _done(create_contract(user=owner, actor=actor, team=team, document=document))
    return contract


def _document(name: str, language: str) -> dict[str, Any]:
    """Return the case of this name as it was before anything had happened, with quick times."""
    now = database_now()
    raw = case(name, language, now)
    raw |= {key: [] for key in HAPPENED}
    raw["complete_sections"] = [section.value for section in Section]
    raw["life"] = {}
    raw["identity"]["deadline"] = plain(now + timedelta(days=30))
    raw["gate"] |= {
        "lease_seconds": 10,
        "renew_seconds": 3,
        "named_person": raw["identity"]["accountable_owner"],
    }
    raw["limits"] = [{**row, "cap": "50"} if "per_step" in row["measure"] else row for row in raw["limits"]]
    sources = [row for row in raw["sources"] if row["current"]]
    if name == "museum-label":
        raw["identity"]["acceptance"] = "worker"  # a curator has approved the exact text before
        raw["tools"] = [PUBLISHING]
        raw["sources"] = sources
        raw["objects"] = [{"object_id": "case-7-label", "source": "object-record", "step": "publish"}]
        return raw
    raw["sources"] = sources[:PHOTOGRAPHS]
    raw["objects"] = [
        {"object_id": row["source_id"], "source": row["source_id"], "step": "describe"}
        for row in raw["sources"]
    ]
    return raw


def _done(verdict: Verdict) -> Any:
    if not verdict.allowed:
        told = ", ".join(f"{problem.field}: {problem.code}" for problem in verdict.problems)
        raise CommandError(f"{verdict.code} {told} {verdict.outcome or ''}".strip())
    return verdict.outcome
