from datetime import timedelta

import pytest

from contracts.gates.beats import database_now
from contracts.gates.workers.ledger import report
from contracts.models import Attempt, Event, Operation
from contracts.rules.states import ContractState
from tests import builders, documents, people, shifts
from tests.gates.watching import force
from tests.views.reading import check_accessible, read, summary_targets
from tests.views.visiting import address, queries, visitor, words

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "cms://collection-site/pages?key="


@pytest.fixture
def team():
    return builders.a_team()


def where(operation):
    return address("operation", operation.contract.task_id, operation.key)


def seen(operation, person):
    answer = visitor(person).get(where(operation))
    assert answer.status_code == 200
    check_accessible(read(answer))
    return answer


def posted(operation, person, **given):
    return visitor(person).post(where(operation), {"act": "reconcile", "path": PATH, **given})


def state_of(operation):
    operation.refresh_from_db()
    return operation.state


def test_what_is_known_is_said_in_one_sentence(team):
    _, operation = shifts.lost_write(team)
    page = words(seen(operation, people.viewer(team)))
    assert "Nobody knows yet whether it happened." in page
    assert "ask the target before anything else is sent" in page
    assert "River crossing in winter, 1931." in page
    assert "or an operator does so here" in page


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("pending", "It was not sent yet."),
        ("confirmed", "It happened, and is never sent again."),
        ("rejected", "nothing was written"),
        ("abandoned", "It was dropped before it was sent."),
    ],
)
def test_each_state_has_its_sentence(team, state, sentence):
    _, operation = shifts.lost_write(team)
    Operation.objects.filter(pk=operation.pk).update(state=state)
    assert sentence in words(seen(operation, people.viewer(team)))


def test_a_write_on_its_way_is_told_by_whether_its_owner_lives(team):
    contract = shifts.lapsed(team)
    operation = Operation.objects.get(contract=contract)
    assert "its owner is gone" in words(seen(operation, people.viewer(team)))
    later = database_now() + timedelta(minutes=5)
    Attempt.objects.filter(contract=contract).update(lease_end=later)
    assert "It is being sent just now." in words(seen(operation, people.viewer(team)))


def test_only_operators_say_what_the_target_answered(team):
    _, operation = shifts.lost_write(team)
    assert "Store the answer" not in words(seen(operation, people.reviewer(team)))
    assert posted(operation, people.reviewer(team), answer="found").status_code == 403
    assert "Store the answer" in words(seen(operation, people.operator(team)))


def test_what_was_found_is_confirmed_and_kept_with_its_evidence(team):
    _, operation = shifts.lost_write(team)
    otto = people.operator(team)
    given = {"reference": "cms://pages/4711", "count": "1", "note": "Looked twice."}
    said = {"act": "reconcile", "path": PATH, "answer": "found", **given}
    page = words(visitor(otto).post(where(operation), said, follow=True))
    assert state_of(operation) == "confirmed"
    for told in (
        "The answer is stored.",
        "cms://pages/4711",
        "Looked twice.",
        "otto",
        "What was found out",
    ):
        assert told in page
    assert "Store the answer" not in page


def test_not_found_is_not_never_while_somebody_may_still_send(team):
    _, operation = shifts.lost_write(team)
    otto = people.operator(team)
    assert posted(operation, otto, answer="absent").status_code == 302
    assert state_of(operation) == "unknown"
    page = words(seen(operation, otto))
    assert "certify that its process is dead" in page
    assert "The named person is Otto." in page


def test_a_certificate_and_the_settle_time_let_it_be_sent_again(team):
    _, operation = shifts.lost_write(team, settle_seconds=0)
    otto = people.operator(team)
    posted(operation, otto, answer="absent", certify_dead="on")
    assert state_of(operation) == "unknown"  # asked before the certificate was given
    assert "Former process certified dead" in words(seen(operation, otto))
    posted(operation, otto, answer="absent")
    assert state_of(operation) == "pending"


def test_more_than_one_in_the_target_is_shown(team):
    _, operation = shifts.lost_write(team)
    posted(operation, people.operator(team), answer="found", count="2")
    assert "more than once" in words(seen(operation, people.operator(team)))


def test_what_is_wrong_is_said_at_its_field_and_nothing_typed_is_lost(team):
    _, operation = shifts.lost_write(team)
    answer = posted(operation, people.operator(team), path="", count="many", note="kept")
    assert answer.status_code == 422
    root = read(answer)
    check_accessible(root)
    assert set(summary_targets(root)) == {"reconcile_answer", "reconcile_path", "reconcile_count"}
    assert "kept" in words(answer)
    assert state_of(operation) == "unknown"


def test_a_time_in_the_future_is_refused(team):
    _, operation = shifts.lost_write(team)
    later = (database_now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S")
    answer = posted(operation, people.operator(team), answer="found", asked_at=later)
    assert answer.status_code == 422
    assert "reconcile_asked_at" in summary_targets(read(answer))
    assert posted(operation, people.operator(team), answer="found", asked_at="yesterday").status_code == 422


def test_a_known_result_is_not_settled_again(team):
    _, operation = shifts.lost_write(team)
    posted(operation, people.operator(team), answer="found")
    answer = posted(operation, people.operator(team), answer="absent")
    assert (answer.status_code, state_of(operation)) == (409, "confirmed")
    assert "The result of this operation is not unknown." in words(answer)


@pytest.mark.parametrize("who", ["operator", "curator"])
def test_the_named_person_or_an_operator_decides_where_nobody_can_know(team, who):
    person = getattr(people, who)(team)
    named = {"named_person": person.get_full_name()} if who == "curator" else {}
    _, operation = shifts.lost_write(team, query_path="", settle_seconds=None, **named)
    assert "Store the decision" in words(seen(operation, person))
    said = {"act": "settle", "decision": "rejected", "evidence": "mail://cms/12", "reason": "They looked."}
    answer = visitor(person).post(where(operation), said)
    assert (answer.status_code, state_of(operation)) == (302, "rejected")


def test_nobody_else_decides(team):
    _, operation = shifts.lost_write(team, query_path="", settle_seconds=None)
    rita = people.reviewer(team)
    assert "Store the decision" not in words(seen(operation, rita))
    said = {"act": "settle", "decision": "confirmed", "evidence": "x://1", "reason": "So."}
    answer = visitor(rita).post(where(operation), said)
    assert (answer.status_code, state_of(operation)) == (403, "unknown")


def test_a_decision_needs_evidence_and_a_reason(team):
    _, operation = shifts.lost_write(team, query_path="")
    answer = visitor(people.operator(team)).post(where(operation), {"act": "settle"})
    assert answer.status_code == 422
    targets = set(summary_targets(read(answer)))
    assert targets == {"settle_decision", "settle_evidence", "settle_reason"}


def test_an_owner_at_work_is_stopped_when_the_write_goes_to_a_person(team):
    contract = shifts.a_shift(team, "handing")
    generation = shifts.take_up(contract)
    operation = shifts.write(contract, generation)
    shifts.send(contract, generation, operation)
    shifts.lose(contract, generation, operation)
    otto = people.operator(team)
    assert "Hand it to the named person" in words(seen(operation, otto))
    answer = visitor(otto).post(where(operation), {"act": "escalate", "reason": "Nobody answers."})
    assert answer.status_code == 302
    contract.refresh_from_db()
    assert (contract.state, state_of(operation)) == ("paused", "unknown")


@pytest.mark.parametrize("who", ["operator", "curator"])
def test_it_goes_to_a_person_also_when_nobody_is_at_work(team, who):
    person = getattr(people, who)(team)
    _, operation = shifts.lost_write(team, named_person=person.get_full_name())
    assert "Hand it to the named person" in words(seen(operation, person))
    answer = visitor(person).post(where(operation), {"act": "escalate", "reason": "Nobody answers."})
    assert answer.status_code == 302
    assert Event.objects.filter(contract=operation.contract, act="hand_over").count() == 1


def test_the_named_person_stops_no_owner_at_work(team):
    carla = people.curator(team)
    contract = shifts.a_shift(team, "handing", named_person=carla.get_full_name())
    generation = shifts.take_up(contract)
    operation = shifts.write(contract, generation)
    shifts.send(contract, generation, operation)
    shifts.lose(contract, generation, operation)
    assert "Hand it to the named person" not in words(seen(operation, carla))
    answer = visitor(carla).post(where(operation), {"act": "escalate", "reason": "Nobody answers."})
    assert (answer.status_code, state_of(operation)) == (403, "unknown")


def test_of_a_task_that_is_completed_nothing_is_handed_over(team):
    contract, operation = shifts.lost_write(team)
    force(contract, ContractState.COMPLETED)
    assert "Hand it to the named person" not in words(seen(operation, people.operator(team)))


def test_an_act_nobody_knows_is_no_act(team):
    _, operation = shifts.lost_write(team)
    answer = visitor(people.operator(team)).post(where(operation), {"act": "forget"})
    assert answer.status_code == 400


def test_what_happened_is_told_newest_first_and_late_reports_are_kept(team):
    contract, operation = shifts.lost_write(team)
    late = {
        "operation_key": operation.key,
        "generation": 1,
        "result": "confirmed",
        "reference": "cms://pages/9",
    }
    assert not report(contract_id=contract.pk, actor=shifts.WORKER, **late).allowed
    answer = seen(operation, people.viewer(team))
    acts = [told.event.act for told, _ in answer.context["shown"].events]
    assert acts[-1] == "intend"
    assert "late_report" in acts
    assert "Late report kept as evidence" in words(answer)


def test_requests_for_a_decision_are_linked(team):
    item = builders.a_waiting_item()
    page = words(seen(item.operation, people.viewer(item.contract.team)))
    assert address("approval", item.contract.task_id, item.item_id) in page


def test_whoever_fills_in_goes_on_from_here(team):
    call = builders.a_call()
    rita = people.reviewer(call.contract.team)
    ask = address("ask", call.contract.task_id, operation=call.key)
    assert seen(call, rita).context["shown"].next_url == ask
    Operation.objects.filter(pk=call.pk).update(state="abandoned")
    next_round = address("round", call.contract.task_id, call.key)
    assert seen(call, rita).context["shown"].next_url == next_round
    assert seen(call, people.viewer(call.contract.team)).context["shown"].next_url == ""


def test_an_imported_operation_is_shown_as_far_as_it_is_known(team):
    raw = documents.full_document("a-full", team)
    contract = builders.done(builders.created(team, people.owner(team), raw))
    page = words(seen(Operation.objects.get(contract=contract), people.operator(team)))
    assert "The record names no answer that can be relied on." in page
    assert "it came with an imported contract" in page


def test_the_section_leads_to_the_page(team):
    contract, operation = shifts.lost_write(team)
    page = visitor(people.viewer(team)).get(address("section", contract.task_id, "operations"))
    assert f'href="{where(operation)}"' in words(page)


def test_other_contracts_operations_are_not_found(team):
    _, operation = shifts.lost_write(team)
    other = builders.a_paused(team)
    client = visitor(people.operator(team))
    assert client.get(address("operation", other.task_id, operation.key)).status_code == 404
    assert visitor(people.stranger()).get(where(operation)).status_code == 404


def test_the_number_of_queries_does_not_grow_with_the_history(team):
    _, operation = shifts.lost_write(team)
    client = visitor(people.operator(team))
    few = queries(client, where(operation))
    for _ in range(5):
        posted(operation, people.operator(team), answer="unclear")
    assert Event.objects.filter(contract=operation.contract, act="asked").count() == 5
    assert queries(client, where(operation)) <= few
