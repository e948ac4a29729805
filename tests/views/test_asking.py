import pytest

from contracts.gates.approving import decide
from contracts.models import Approval, ApprovalPolicy, Event, Operation
from contracts.rules.states import ContractState
from tests import builders, people
from tests.gates.watching import force, snapshot
from tests.views.reading import check_accessible, filled, read, summary_targets
from tests.views.visiting import address, visitor, words

pytestmark = pytest.mark.django_db
REASON = "The label hangs from Monday."


@pytest.fixture
def contract():
    paused = builders.a_paused()
    builders.a_row(paused, "artefact")
    builders.a_row(paused, "operation")
    return paused


@pytest.fixture
def client(contract):
    return visitor(people.reviewer(contract.team))


def key(contract, **found):
    return Operation.objects.of(contract.pk).filter(**found).last().key


def page(client, contract, **query):
    return client.get(address("ask", contract.task_id, **query))


def post(client, contract, query=None, **values):
    """Fill in the form as it stands under `query` and send it."""
    where = address("ask", contract.task_id)
    form = filled(read(page(client, contract, **(query or {}))), where)
    return client.post(where, {**form, "reason": REASON, **values})


def test_what_will_be_copied_stands_on_the_page(client, contract):
    answer = page(client, contract, operation=key(contract), draft="L-1")
    told, root = words(answer), read(answer)
    check_accessible(root)
    for word in ("cms.publish", "cms://pages/label-1", "label-1", "one page", "version 1", "Fired clay."):
        assert word in told
    assert "Version 1: one curator, not the author; an item waits 24 hours, at the longest 72" in told
    form = filled(root, address("ask", contract.task_id))
    assert (form["operation"], form["draft"], form["hours"]) == (key(contract), "L-1", "24")


def test_a_reviewer_asks_and_is_led_to_the_item(client, contract):
    answer = post(client, contract, {"draft": "L-1"}, hours="30")
    item = Approval.objects.get(contract=contract)
    assert (answer.status_code, answer["Location"]) == (
        302,
        address("approval", contract.task_id, item.item_id),
    )
    assert (item.requester, item.reason, item.draft_version) == ("rita", REASON, "1")
    assert (item.expires_at - item.asked_at).total_seconds() == 30 * 3600


def test_the_draft_of_the_operations_object_is_there_already(client, contract):
    artefact = builders.a_row(contract, "object", object_id="O-2", artefact="L-1").artefact
    assert artefact.artefact_id == "L-1"
    builders.a_row(contract, "operation", object="O-2", parameters='{"page": "label-2"}')
    answer = page(client, contract, operation=key(contract, work_object__object_id="O-2"))
    assert filled(read(answer), address("ask", contract.task_id))["draft"] == "L-1"


def test_without_a_choice_several_operations_wait_to_be_chosen(client, contract):
    builders.a_row(contract, "operation", round="2")
    answer = page(client, contract)
    assert "What will be copied" not in words(answer)
    assert filled(read(answer), address("ask", contract.task_id))["operation"] == ""
    chosen = key(contract, round=2)
    shown = post(client, contract, operation=chosen, show="1")
    assert shown.status_code == 200
    form = filled(read(shown), address("ask", contract.task_id))
    assert (form["operation"], form["reason"]) == (chosen, REASON)
    assert form["shown"].startswith(chosen)
    assert not Approval.objects.filter(contract=contract).exists()


def test_a_call_that_was_not_shown_is_not_asked_for(client, contract):
    builders.a_row(contract, "operation", round="2")
    first, second = key(contract, round=1), key(contract, round=2)
    before = snapshot(contract)
    answer = post(client, contract, {"operation": first}, operation=second)
    assert answer.status_code == 409
    assert snapshot(contract) == before
    root = read(answer)
    check_accessible(root)
    form = filled(root, address("ask", contract.task_id))
    assert (form["operation"], form["reason"]) == (second, REASON)
    again = client.post(address("ask", contract.task_id), form)
    assert again.status_code == 302
    assert Approval.objects.get(contract=contract).operation_key == second


def test_a_draft_that_changed_meanwhile_is_shown_first(client, contract):
    where = address("ask", contract.task_id)
    form = filled(read(page(client, contract, draft="L-1")), where)
    builders.a_row(contract, "artefact", version_label="2", inline_text="Fired clay, 1931.")
    answer = client.post(where, {**form, "reason": REASON})
    assert answer.status_code == 409
    assert "Fired clay, 1931." in words(answer)
    assert not Approval.objects.filter(contract=contract).exists()


def test_a_draft_left_as_it_was_gives_way_to_that_of_the_other_call(client, contract):
    builders.a_row(contract, "artefact", artefact_id="L-2", inline_text="Glass.")
    builders.a_row(contract, "object", object_id="O-2", artefact="L-2")
    builders.a_row(contract, "operation", object="O-2", parameters='{"page": "label-2"}')
    first, second = key(contract, work_object__object_id="O-1"), key(contract, work_object__object_id="O-2")
    query = {"operation": first, "draft": "L-1"}
    untouched = post(client, contract, query, operation=second, show="1")
    assert filled(read(untouched), address("ask", contract.task_id))["draft"] == "L-2"
    chosen = post(client, contract, query, operation=second, draft="", show="1")
    assert filled(read(chosen), address("ask", contract.task_id))["draft"] == ""


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"reason": " "}, "id_reason"),
        ({"hours": "73"}, "id_hours"),
        ({"hours": "soon"}, "id_hours"),
        ({"hours": "0"}, "id_hours"),
        ({"draft": "L-9"}, "id_draft"),
        ({"operation": "0" * 64}, "id_operation"),
        ({"operation": ""}, "id_operation"),
        ({"operation": "", "reason": ""}, "id_reason"),
        ({"preview": "a\x07b"}, "id_preview"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_stays(client, contract, values, field):
    before = snapshot(contract)
    answer = post(client, contract, **values)
    assert answer.status_code == 422
    root = read(answer)
    check_accessible(root)
    assert field in summary_targets(root)
    assert "<title>Error:" in words(answer)
    assert snapshot(contract) == before


def test_a_call_that_names_another_version_is_refused_at_the_draft(client, contract):
    builders.a_row(contract, "operation", round="2", parameters='{"artefact": "L-1", "version": "0"}')
    query = {"operation": key(contract, round=2), "draft": "L-1"}
    assert "names another version" in words(page(client, contract, **query))
    answer = post(client, contract, query)
    assert answer.status_code == 422
    assert "id_draft" in summary_targets(read(answer))


def test_a_second_question_for_the_same_call_leads_to_the_first(client, contract):
    post(client, contract)
    item = Approval.objects.get(contract=contract)
    told = page(client, contract)
    assert address("approval", contract.task_id, item.item_id) in told.content.decode()
    assert "reason" not in filled(read(told), address("ask", contract.task_id))  # no button promises anything
    assert post(client, contract).status_code == 409
    assert Approval.objects.filter(contract=contract).count() == 1
    told = Event.objects.filter(contract=contract, refused="one_waiting_item_per_operation")
    assert told.count() == 1


def test_somebody_elses_question_gives_way_and_the_page_says_so(contract):
    post(visitor(people.owner(contract.team)), contract)
    mine = visitor(people.reviewer(contract.team))
    assert "Olga has asked for this call already" in words(page(mine, contract))
    assert post(mine, contract).status_code == 302
    assert sorted(Approval.objects.filter(contract=contract).values_list("requester", "state")) == [
        ("olga", "stale"),
        ("rita", "pending"),
    ]


def test_an_approved_call_is_not_asked_for_again(client, contract):
    post(client, contract)
    item, carla = Approval.objects.get(contract=contract), people.curator(contract.team)
    builders.done(decide(contract_id=contract.pk, **builders.word(item, carla)))
    assert "is approved already" in words(page(client, contract))
    assert post(client, contract).status_code == 409


def test_with_no_pending_operation_the_page_says_what_belongs_there(contract, client):
    Operation.objects.filter(contract=contract).update(state="abandoned")
    answer = page(client, contract)
    assert "No operation waits to be sent" in words(answer)
    assert address("section", contract.task_id, "operations") in answer.content.decode()
    assert not [form for form in read(answer).every("form") if form["action"].endswith("/ask/")]


@pytest.mark.parametrize("state", [ContractState.COMPLETED, ContractState.CANCELLED, ContractState.DRAFT])
def test_where_nothing_can_be_asked_a_sentence_stands_instead_of_the_form(contract, client, state):
    force(contract, state)
    answer = page(client, contract)
    assert "Not possible now" in words(answer)
    assert not [form for form in read(answer).every("form") if form["action"].endswith("/ask/")]


def test_a_policy_that_cannot_be_read_closes_the_page(contract, client):
    ApprovalPolicy.objects.filter(contract=contract).delete()
    answer = page(client, contract)
    assert "The approval policy cannot be read" in words(answer)
    assert address("policy", contract.task_id) in answer.content.decode()


def test_a_null_in_the_address_is_no_fault_of_the_program(contract, client):
    assert client.get(address("ask", contract.task_id) + "?operation=%00&draft=%00").status_code == 200


def test_sections_lead_to_the_question(contract, client):
    from contracts.models import ToolContract

    operations = address("section", contract.task_id, "operations")
    asks = address("ask", contract.task_id, operation=key(contract))
    assert asks not in client.get(operations).content.decode()
    ToolContract.objects.filter(contract=contract).update(needs_approval=True)
    assert asks in client.get(operations).content.decode()
    viewer = visitor(people.viewer(contract.team))
    assert asks not in viewer.get(operations).content.decode()
    post(client, contract)
    item = Approval.objects.get(contract=contract)
    approvals = client.get(address("section", contract.task_id, "approvals")).content.decode()
    for where in (("approval", item.item_id), ("ask",), ("policy",)):
        assert f'href="{address(where[0], contract.task_id, *where[1:])}"' in approvals
    overview = client.get(address("overview", contract.task_id)).content.decode()
    assert f'href="{address("approval", contract.task_id, item.item_id)}"' in overview


def test_in_a_draft_the_button_says_why_it_is_shut():
    contract = builders.a_draft()
    client = visitor(people.owner(contract.team))
    answer = client.get(address("section", contract.task_id, "approvals"))
    root = read(answer)
    check_accessible(root)
    (button,) = [one for one in root.every("button") if one["aria-describedby"] == "ask-refusal"]
    assert "disabled" in button.attributes
