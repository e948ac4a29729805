import json

import pytest

from contracts.models import Artefact, Limit, Operation, UsageEntry
from tests import builders, people
from tests.gates.watching import force, snapshot
from tests.views.reading import check_accessible, filled_form, read, summary_targets
from tests.views.visiting import address, queries, visitor, words

pytestmark = pytest.mark.django_db
WHY = "The date is wrong."


@pytest.fixture
def item():
    """An item that a curator sent back, of a call that names its draft's version."""
    call = builders.a_call()
    draft = Artefact.objects.of(call.contract_id).get()
    parameters = {"page": "label-2", "draft": {"artefact": "L-1", "version": "1", "sha256": draft.sha256}}
    second = builders.a_row(call.contract, "operation", round="2", parameters=json.dumps(parameters))
    return sent_back(second)


def sent_back(call):
    item = builders.a_waiting_item(call)
    carla = people.curator(item.contract.team)
    word = builders.word(item, carla, "rejected", reason=WHY)
    return builders.done(builders.decide(contract_id=item.contract_id, **word))


@pytest.fixture
def client(item):
    return visitor(people.reviewer(item.contract.team))


def where(item):
    return address("round", item.contract.task_id, item.operation_key)


def form(answer):
    (found,) = [one for one in read(answer).every("form") if one.every("textarea")]
    return filled_form(found)


def test_the_next_round_begins_with_the_current_version_of_the_draft(item, client):
    builders.a_row(item.contract, "artefact", version_label="2", inline_text="Fired clay, 1931.")
    answer = client.get(where(item))
    check_accessible(read(answer))
    typed = json.loads(form(answer)["parameters"])
    draft = Artefact.objects.get(contract=item.contract, current=True)
    assert typed["draft"] == {"artefact": "L-1", "version": "2", "sha256": draft.sha256}
    told = words(answer)
    for word in (WHY, "version 1 then, version 2 now", "/draft/version", "2 of 100 used"):
        assert word in told
    places = [row.every("th")[0].words for row in read(answer).every("tbody")[0].every("tr")]
    assert sorted(places) == ["/draft/sha256", "/draft/version"]


def test_opening_leads_to_the_question_for_the_new_call(item, client):
    answer = client.post(where(item), form(client.get(where(item))))
    new = Operation.objects.get(contract=item.contract, round=3)
    ask = address("ask", item.contract.task_id, operation=new.key, draft="L-1")
    assert (answer.status_code, answer["Location"]) == (302, ask)
    assert "Round 3 is open." in words(client.get(ask))
    assert new.key != item.operation_key
    assert UsageEntry.objects.filter(contract=item.contract, step="publish").count() == 1


def test_other_parameters_are_compared_before_anything_is_stored(item, client):
    before = snapshot(item.contract)
    answer = client.post(where(item), {"parameters": '{"page": "label-3"}', "show": "1"})
    assert answer.status_code == 200
    assert snapshot(item.contract) == before
    cells = [cell.words for cell in read(answer).every("tbody")[0].every("th", "td")]
    assert cells == ["/page", "label-2", "label-3", "/draft", cells[4], "–"]


@pytest.mark.parametrize("text", ["", "{", '{"a": 1, "a": 2}'])
def test_parameters_that_cannot_be_read_are_refused_at_the_field(item, client, text):
    before = snapshot(item.contract)
    answer = client.post(where(item), {"parameters": text})
    assert answer.status_code == 422
    root = read(answer)
    check_accessible(root)
    assert summary_targets(root) == ["id_parameters"]
    assert form(answer)["parameters"] == text
    assert "cannot be read as they stand" in words(answer)
    assert snapshot(item.contract) == before


def test_a_round_that_was_opened_is_not_opened_twice(item, client):
    typed = form(client.get(where(item)))
    client.post(where(item), typed)
    assert client.post(where(item), typed).status_code == 409
    answer = client.get(where(item))
    assert "Round 3 was opened already." in words(answer)
    new = Operation.objects.get(contract=item.contract, round=3)
    assert address("ask", item.contract.task_id, operation=new.key) in answer.content.decode()


def test_an_item_that_still_waits_has_no_next_round():
    item = builders.a_waiting_item()
    client = visitor(people.reviewer(item.contract.team))
    assert "A new round opens once" in words(client.get(where(item)))
    assert client.post(where(item), {"parameters": "{}"}).status_code == 409


def test_a_call_nobody_was_asked_about_can_give_way_to_the_next_round(item, client):
    """Its draft has changed since: asked as it stands it would show one text and carry another."""
    call = builders.a_row(
        item.contract, "operation", round="3", parameters='{"artefact": "L-1", "version": "1"}'
    )
    builders.a_row(item.contract, "artefact", version_label="2", inline_text="Fired clay, 1931.")
    place = address("round", item.contract.task_id, call.key)
    assert (
        place
        in client.get(address("ask", item.contract.task_id, operation=call.key, draft="L-1")).content.decode()
    )
    typed = form(client.get(place))
    assert client.post(place, typed).status_code == 302
    call.refresh_from_db()
    assert call.state == "abandoned"
    assert Operation.objects.get(contract=item.contract, round=4).parameters["artefact"] == "L-1"


def test_the_cap_on_tries_is_said_before_and_holds(item, client):
    typed = form(client.get(where(item)))
    Limit.objects.filter(contract=item.contract, measure="tries_per_step").update(cap=2)
    assert "The cap on tries of this step is reached" in words(client.get(where(item)))
    assert client.post(where(item), typed).status_code == 409
    Limit.objects.filter(contract=item.contract, measure="tries_per_step").update(cap=None)
    assert "2 used, no cap" in words(client.get(where(item)))


@pytest.mark.parametrize("state", ["draft", "cancelled"])
def test_a_contract_that_is_not_in_use_opens_none(item, client, state):
    from contracts.rules.states import ContractState

    force(item.contract, ContractState(state))
    assert "Not possible now" in words(client.get(where(item)))
    assert client.post(where(item), {"parameters": "{}"}).status_code == 409


@pytest.mark.parametrize("who", ["viewer", "curator", "operator"])
def test_only_a_reviewer_opens_a_round(item, who):
    client = visitor(getattr(people, who)(item.contract.team))
    assert client.get(where(item)).status_code == client.post(where(item), {}).status_code == 403


def test_many_rounds_need_as_many_queries_as_few(item, client):
    few = queries(client, where(item))
    for number in range(3, 13):
        builders.a_row(item.contract, "operation", round=str(number), parameters=f'{{"n": {number}}}')
    assert queries(client, where(item)) <= few
