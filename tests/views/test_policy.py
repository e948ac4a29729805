import pytest

from contracts.gates.policies import change_policy
from contracts.models import Approval, ApprovalPolicy, Event
from contracts.rules.approving import read_policy
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import ActorKind
from contracts.views.policy_words import policy_sentence
from tests import builders, people
from tests.gates.watching import force, snapshot
from tests.views.reading import check_accessible, filled, read, summary_targets
from tests.views.visiting import address, queries, visitor, words

pytestmark = pytest.mark.django_db
WHY = "Two pairs of eyes from now on."


@pytest.fixture
def contract():
    return builders.a_paused()


@pytest.fixture
def client(contract):
    return visitor(people.operator(contract.team))


def page(client, contract):
    return client.get(address("policy", contract.task_id))


def form(client, contract):
    return filled(read(page(client, contract)), address("policy", contract.task_id))


def post(client, contract, **values):
    typed = {name.replace("policy_", "policy-"): value for name, value in values.items()}
    return client.post(
        address("policy", contract.task_id), {**form(client, contract), "reason": WHY, **typed}
    )


def change(contract, **values):
    row = ApprovalPolicy.objects.of(contract.pk).last()
    actor = people.acting(people.operator(contract.team), ActorKind.OPERATOR)
    values = {name: value for name, value in row.facts().items() if name != "number"} | values
    return builders.done(
        change_policy(
            contract_id=contract.pk, actor=actor, version=row.version, values=values, reason="Because."
        )
    )


def test_everybody_who_sees_the_contract_reads_the_policy(contract):
    answer = page(visitor(people.viewer(contract.team)), contract)
    told = words(answer)
    assert "Version 1: one curator, not the author; an item waits 24 hours, at the longest 72" in told
    assert "identity confirmed within 5 minutes; no second factor" in told
    assert "when nobody decides in time: nothing is sent." in told
    check_accessible(read(answer))
    assert "Put in force" not in told


def test_an_operator_puts_another_version_in_force(contract, client):
    answer = post(client, contract, policy_quorum="2")
    assert (answer.status_code, answer["Location"]) == (302, address("policy", contract.task_id))
    told = words(client.get(answer["Location"]))
    assert "Version 2: 2 curators, not the author" in told
    assert "one curator, not the author" in told  # in the table
    assert WHY in told
    event = Event.objects.of(contract.pk).last()
    assert (event.act, event.actor, event.actor_kind) == ("change_policy", "otto", "operator")


def test_only_an_operator_changes_it(contract):
    for who in (people.owner, people.curator, people.viewer):
        client = visitor(who(contract.team))
        assert client.post(address("policy", contract.task_id), {}).status_code == 403


def test_what_will_go_stale_is_named_before_and_is_stale_after(contract, client):
    item = waiting(contract)
    told = page(client, contract)
    assert "One open item was asked for under the present version" in words(told)
    assert address("approval", contract.task_id, item.item_id) in told.content.decode()
    assert post(client, contract, policy_quorum="2").status_code == 302
    item.refresh_from_db()
    assert (item.state, item.stale_member) == ("stale", "policy_number")


def waiting(contract):
    return builders.a_waiting_item(builders.a_call(contract))


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"policy_quorum": "0"}, "id_policy-quorum"),
        ({"policy_default_expiry_hours": "80"}, "id_policy-default_expiry_hours"),
        ({"policy_quorum": "2", "reason": ""}, "id_reason"),
        (
            {"policy_on_timeout": "pass_on", "policy_pass_on_to": "nobody", "policy_pass_on_hours": "4"},
            "id_policy-pass_on_to",
        ),
    ],
)
def test_what_is_wrong_is_said_at_its_field(contract, client, values, field):
    before = snapshot(contract)
    answer = post(client, contract, **values)
    assert answer.status_code == 422
    root = read(answer)
    check_accessible(root)
    assert field in summary_targets(root)
    assert "<title>Error:" in words(answer)
    assert snapshot(contract) == before


@pytest.mark.parametrize("recipient", ["curator", "carla"])
def test_whoever_may_decide_is_offered_and_taken(contract, client, recipient):
    people.curator(contract.team)
    people.viewer(contract.team)
    offered = [
        option["value"] for option in read(page(client, contract)).every("datalist")[0].every("option")
    ]
    assert offered == ["curator", "carla"]
    values = {"policy_on_timeout": "pass_on", "policy_pass_on_to": recipient, "policy_pass_on_hours": "4"}
    assert post(client, contract, **values).status_code == 302
    named = "Curator" if recipient == "curator" else "Carla"
    assert f"passed on once to {named}, for 4 hours" in words(page(client, contract))


def test_a_version_put_in_force_meanwhile_shows_both_and_overwrites_nothing(contract, client):
    typed = form(client, contract)
    change(contract, quorum="3")
    before = snapshot(contract)
    answer = client.post(address("policy", contract.task_id), {**typed, "policy-quorum": "2", "reason": WHY})
    assert answer.status_code == 409
    assert snapshot(contract) == before
    root = read(answer)
    check_accessible(root)
    assert "Stored by somebody else" in words(answer)
    again = filled(root, address("policy", contract.task_id))
    assert (again["policy-quorum"], again["reason"]) == ("2", WHY)
    assert client.post(address("policy", contract.task_id), again).status_code == 302
    assert list(ApprovalPolicy.objects.of(contract.pk).values_list("number", "quorum")) == [
        (1, 1), (2, 3), (3, 2)
    ]  # fmt: skip


def test_saving_what_stands_changes_nothing_and_says_so(contract, client):
    before = snapshot(contract)
    answer = post(client, contract)
    assert answer.status_code == 302
    assert "Nothing was changed." in words(client.get(answer["Location"]))
    assert snapshot(contract) == before


def test_a_draft_is_changed_in_its_section():
    contract = builders.a_draft()
    reviewer, operator = (visitor(who(contract.team)) for who in (people.owner, people.operator))
    section = address("section", contract.task_id, "approvals")
    assert f"{section}#part-policy" in page(reviewer, contract).content.decode()
    assert "Put in force" not in words(page(operator, contract))
    assert operator.post(address("policy", contract.task_id), {}).status_code == 422


def test_a_cancelled_contract_keeps_its_policy(contract, client):
    typed = form(client, contract)
    force(contract, ContractState.CANCELLED)
    assert "Put in force" not in words(page(client, contract))
    answer = client.post(address("policy", contract.task_id), {**typed, "policy-quorum": "2", "reason": WHY})
    assert answer.status_code == 409


def test_without_a_policy_that_parses_the_gate_is_closed(contract, client):
    ApprovalPolicy.objects.filter(contract=contract).delete()
    assert "The gate is closed" in words(page(client, contract))
    assert client.post(address("policy", contract.task_id), {}).status_code == 409


def test_many_versions_need_as_many_queries_as_one(contract, client):
    waiting(contract)
    few = queries(client, address("policy", contract.task_id))
    for quorum in range(2, 12):
        change(contract, quorum=str(quorum))
    Approval.objects.filter(contract=contract).update(state="pending", stale_member="")
    assert queries(client, address("policy", contract.task_id)) <= few


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "one curator, not the author"),
        ({"author_may_decide": True}, "one curator, who may be the author"),
        ({"quorum": 2, "author_may_decide": True}, "2 curators, the author among them"),
        ({"default_expiry_hours": 1}, "an item waits one hour, at the longest 72"),
        ({"login_fresh_seconds": 60}, "identity confirmed within one minute"),
        ({"login_fresh_seconds": 90}, "identity confirmed within 90 seconds"),
        ({"second_factor": True}, "; a second factor;"),
        (
            {"on_timeout": "pass_on", "pass_on_to": "curator", "pass_on_hours": 1},
            "when nobody decides in time: passed on once to Curator, for one hour.",
        ),
    ],
)
def test_a_policy_is_said_in_words(given, said):
    assert said in policy_sentence(read_policy({"number": 1, **given}))
