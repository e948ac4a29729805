"""A queue with one request in every state that looks different, made through the gates; time alone is moved by hand."""

from datetime import timedelta
from typing import Any

from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.form_keys import make_form_key
from contracts.gates.policies import change_policy
from contracts.gates.requesting import request_approval, withdraw
from contracts.gates.rows import add_row
from contracts.gates.sending import dispatch
from contracts.models import Approval, ApprovalPolicy, Contract, Operation
from contracts.rules.parts import PARTS
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Actor, ActorKind, Role, StaleOwner
from tests import builders, people
from tests.gates.watching import own

WORKER = Actor("label-writer", ActorKind.WORKER)
FIRST = (
    "River crossing in winter\nUnknown photographer, 1913\n\nFerrymen break the ice before the first crossing. "
    "The print came to the archive with forty others in one box, without names; "
    "the date was read from the paper’s stamp."
)
SECOND = FIRST.replace("1913", "1931").replace("paper’s stamp", "paper’s maker’s mark")
HIDDEN = SECOND.replace("one box, without", "one box\u200b, without").replace("River", "R\u0456ver")
CHINESE = (
    "冬日渡口\n佚名摄影师，1931 年\n\n第一班渡船开行之前，船夫先要凿开冰面。"
    "照片与另外四十张同装一箱入藏，没有姓名；年代由相纸上的厂标推定。"
)
STATES = (
    "pending",
    "stale",
    "expired",
    "approved",
    "used",
    "rejected",
    "quorum",
    "withdrawn",
    "own",
    "plain",
)


def task(state: str) -> str:
    return f"label-{state}"


def a_label_contract(team: Any, task_id: str, text: str = SECOND) -> Contract:
    """Return a paused contract with a label in two versions, of which the first was approved once."""
    owner = people.owner(team)
    contract = builders.a_paused(team, owner, task_id=task_id)
    draft(contract, "6", FIRST)
    call(contract, 1)
    first = ask(contract, "The label follows the catalogue record.")
    say(first, people.curator(team))
    draft(contract, "7", text)
    return contract


def a_label_call(team: Any, task_id: str = "label") -> Contract:
    """Return such a contract with a second call, for the current version of the label."""
    contract = a_label_contract(team, task_id)
    call(contract, 2)
    return contract


def draft(contract: Contract, version: str, text: str) -> None:
    values = {
        "artefact_id": "label-case-7",
        "version_label": version,
        "inline_text": text,
        "author": "label-writer",
    }
    _add(contract, "artefact", {**values, "source": "P-1"})


def call(contract: Contract, number: int) -> Operation:
    parameters = f'{{"page": "case-7/label", "lang": "en", "try": {number}}}'
    values = {**builders.EXAMPLES["operation"], "round": str(number), "parameters": parameters}
    return _add(contract, "operation", {**values, "target": "cms://collection-site/case-7/label"})


def _add(contract: Contract, part: str, values: dict[str, Any]) -> Any:
    actor = people.acting(people.owner(contract.team))
    return builders.done(add_row(contract_id=contract.pk, actor=actor, part=PARTS[part], values=values))


def ask(
    contract: Contract, reason: str, *, actor: Actor = WORKER, draft_id: str = "label-case-7", hours: int = 26
) -> Approval:
    """Ask for the newest call of the contract."""
    key = Operation.objects.of(contract.pk).last().key
    return builders.done(
        request_approval(
            contract_id=contract.pk,
            actor=actor,
            operation_key=key,
            reason=reason,
            draft_id=draft_id,
            hours=hours,
        )
    )


def say(item: Approval, person: Any, decision: str = "approved", reason: str = "") -> None:
    builders.done(
        decide(
            contract_id=item.contract_id,
            actor=people.acting(person),
            user=person,
            item_id=item.item_id,
            seen=item.fingerprint,
            decision=decision,
            reason=reason,
            form_key=make_form_key(item, person),
            confirmed_at=database_now(),
        )
    )


def use(item: Approval) -> Verdict:
    """Let the worker, who owns the contract at work from now on, send the call of an item."""
    contract = own(item.contract)
    given = {"operation_key": item.operation_key, "generation": contract.generation}
    given["by_proxy"] = item.operation.tool.stale_owner == StaleOwner.SINGLE_WRITE_PROXY
    return dispatch(contract_id=contract.pk, actor=WORKER, **given)


WHY = "The date was corrected after the approval of version 6, so that approval no longer fits. Nothing has been sent."


def fill_the_queue(team: Any) -> dict[str, Approval]:
    """Make one contract and one request for each of `STATES`; return the requests."""
    curator = people.curator(team)
    items = {}
    for state in STATES:
        contract = a_label_contract(team, task(state), HIDDEN if state == "pending" else SECOND)
        call(contract, 2)
        if state == "quorum":
            change_rules(contract, quorum="2")
        asker = people.acting(curator) if state == "own" else WORKER
        items[state] = ask(contract, WHY, actor=asker, draft_id="" if state == "plain" else "label-case-7")
    say(items["approved"], curator, reason="Reads well, and the date is right.")
    say(items["used"], curator)
    builders.done(use(items["used"]))
    say(
        items["rejected"],
        curator,
        "rejected",
        "The date must be 1931, see the dating note; please say “about 1931”.",
    )
    say(items["quorum"], people.person("dora", team, Role.CURATOR), reason="Fine for me.")
    draft(items["stale"].contract, "8", SECOND.replace("without names", "all without names"))
    withdrawn = items["withdrawn"]
    builders.done(
        withdraw(
            contract_id=withdrawn.contract_id,
            actor=WORKER,
            item_id=withdrawn.item_id,
            reason="Being rewritten.",
        )
    )
    Approval.objects.filter(pk=items["expired"].pk).update(expires_at=database_now() - timedelta(minutes=9))
    return items


def change_rules(contract: Contract, **values: str) -> None:
    """Put another version of the contract's policy in force."""
    policy = ApprovalPolicy.objects.of(contract.pk).last()
    known = {field.name: policy.facts()[field.name] for field in PARTS["policy"].given}
    builders.done(
        change_policy(
            contract_id=contract.pk,
            actor=people.acting(people.operator(contract.team), ActorKind.OPERATOR),
            version=policy.version,
            values=known | values,
            reason="So it was agreed.",
        )
    )
