import pytest

from contracts.models import Event
from tests import builders, people
from tests.views.visiting import address, visitor, words

pytestmark = pytest.mark.django_db
PEOPLE = ("owner", "viewer", "reviewer", "curator", "operator", "exporter")
MAY = {
    "leave-draft": {"owner", "reviewer"},
    "complete": {"owner", "reviewer"},
    "return-to-draft": {"operator"},
    "cancel": {"owner", "operator"},
    "archive": {"owner", "operator"},
    "unarchive": {"owner", "operator"},
}


@pytest.fixture
def team():
    return builders.a_team()


def act(contract, deed):
    return address("act", contract.task_id, deed)


def state_of(contract):
    contract.refresh_from_db()
    return contract.state


@pytest.mark.parametrize("deed", MAY)
@pytest.mark.parametrize("who", PEOPLE)
def test_only_who_holds_the_right_comes_to_the_page(team, deed, who):
    contract = builders.a_paused(team)
    client = visitor(getattr(people, who)(team))
    wanted = 200 if who in MAY[deed] else 403
    assert client.get(act(contract, deed)).status_code == wanted
    if wanted == 403:
        assert client.post(act(contract, deed), {"reason": "so"}).status_code == 403
    assert state_of(contract) == "paused"


@pytest.mark.parametrize("deed", MAY)
def test_a_stranger_finds_nothing(team, deed):
    contract = builders.a_paused(team)
    for person in (people.stranger(), people.neighbour()):
        assert visitor(person).get(act(contract, deed)).status_code == 404
        assert visitor(person).post(act(contract, deed), {"reason": "so"}).status_code == 404


def test_there_is_no_other_act(team):
    assert visitor(people.owner(team)).get(act(builders.a_draft(team), "delete")).status_code == 404


def test_looking_changes_nothing(team):
    contract = builders.a_complete_draft(team)
    client = visitor(people.owner(team))
    count = Event.objects.of(contract.pk).count()
    page = client.get(act(contract, "leave-draft"))
    assert page.status_code == 200
    assert "Only an operator can return it to draft" in words(page)
    assert client.head(act(contract, "leave-draft")).status_code == 200
    assert (state_of(contract), Event.objects.of(contract.pk).count()) == ("draft", count)


def test_a_complete_draft_leaves_draft(team):
    contract = builders.a_complete_draft(team)
    answer = visitor(people.reviewer(team)).post(act(contract, "leave-draft"), follow=True)
    assert answer.redirect_chain == [(address("overview", contract.task_id), 302)]
    assert state_of(contract) == "paused"
    assert "The contract left draft and is paused: it waits for a worker to take it up." in words(answer)


def test_an_incomplete_draft_is_refused_with_every_missing_thing(team):
    contract = builders.a_draft(team)
    answer = visitor(people.owner(team)).post(act(contract, "leave-draft"))
    assert answer.status_code == 409
    assert answer.context["refusal"].code == "incomplete"
    assert address("section", contract.task_id, "windows") + "#part-window" in words(answer)
    assert state_of(contract) == "draft"
    assert Event.objects.of(contract.pk).last().refused == "incomplete"


def test_before_the_attempt_the_page_says_what_stands_against_it(team):
    answer = visitor(people.owner(team)).get(act(builders.a_draft(team), "leave-draft"))
    assert answer.context["ahead"].code == "incomplete"
    assert 'type="submit">Leave draft' not in words(answer)


def test_a_reason_is_asked_for_before_the_gate(team):
    contract = builders.a_paused(team)
    client = visitor(people.operator(team))
    answer = client.post(act(contract, "return-to-draft"), {"reason": "  "})
    assert answer.status_code == 422
    assert answer.context["form"].errors.as_data()["reason"][0].code == "missing"
    assert state_of(contract) == "paused"


def test_a_reason_with_a_secret_is_refused_and_kept_out(team):
    contract = builders.a_paused(team)
    secret = "password=hunter2hunter2"
    answer = visitor(people.operator(team)).post(act(contract, "cancel"), {"reason": secret})
    assert answer.status_code == 422
    assert state_of(contract) == "paused"
    assert all(secret not in str(event.sealed()) for event in Event.objects.of(contract.pk))


def test_an_operator_returns_it_to_draft_with_a_reason(team):
    contract = builders.a_paused(team)
    answer = visitor(people.operator(team)).post(
        act(contract, "return-to-draft"), {"reason": "A source is missing."}
    )
    assert answer.status_code == 302
    assert state_of(contract) == "draft"
    event = Event.objects.of(contract.pk).last()
    assert (event.actor_kind, event.after["reason"]) == ("operator", "A source is missing.")


def test_the_owner_cancels_with_a_reason(team):
    contract = builders.a_paused(team)
    answer = visitor(people.owner(team)).post(act(contract, "cancel"), {"reason": "Called off."})
    assert answer.status_code == 302
    contract.refresh_from_db()
    assert (contract.state, contract.cancelled_by, contract.cancel_reason) == (
        "cancelled",
        "olga",
        "Called off.",
    )


def test_what_is_cancelled_twice_is_refused(team):
    contract = builders.a_cancelled(team)
    answer = visitor(people.owner(team)).post(act(contract, "cancel"), {"reason": "Again."})
    assert answer.status_code == 409
    assert answer.context["refusal"].code == "illegal_move"
    contract.refresh_from_db()
    assert contract.cancel_reason == "The show was called off."


def test_unfinished_objects_keep_it_from_completing(team):
    contract = builders.a_paused(team)
    answer = visitor(people.owner(team)).post(act(contract, "complete"))
    assert (answer.status_code, answer.context["refusal"].code) == (409, "objects_unfinished")


@pytest.mark.parametrize("made", [builders.a_paused, builders.a_draft])
def test_only_an_ended_contract_is_archived(team, made):
    contract = made(team)
    answer = visitor(people.owner(team)).post(act(contract, "archive"))
    assert answer.status_code == 409
    contract.refresh_from_db()
    assert contract.archived_at is None


def test_an_archived_contract_is_brought_back(team):
    contract = builders.a_completed(team)
    client = visitor(people.owner(team))
    assert client.post(act(contract, "archive")).status_code == 302
    contract.refresh_from_db()
    assert contract.archived_at is not None
    assert client.post(act(contract, "unarchive")).status_code == 302
    contract.refresh_from_db()
    assert contract.archived_at is None
