import pytest

from contracts.models import Approval, Event
from tests import builders, people
from tests.gates.watching import snapshot
from tests.views.reading import check_accessible, read, summary_targets
from tests.views.visiting import address, visitor, words

pytestmark = pytest.mark.django_db
WHY = "The label is being rewritten."


@pytest.fixture
def item():
    call = builders.a_call()
    asker = people.acting(people.reviewer(call.contract.team))
    return builders.a_waiting_item(call, actor=asker)


def where(item):
    return address("withdraw", item.contract.task_id, item.item_id)


def test_who_asked_takes_it_back_with_a_reason(item):
    client = visitor(people.reviewer(item.contract.team))
    page = client.get(where(item))
    check_accessible(read(page))
    assert "cms://pages/label-1" in words(page)
    answer = client.post(where(item), {"reason": WHY})
    assert (answer.status_code, answer["Location"]) == (
        302,
        address("approval", item.contract.task_id, item.item_id),
    )
    item.refresh_from_db()
    assert (item.state, item.operation.state) == ("withdrawn", "abandoned")
    told = Event.objects.get(contract=item.contract, part="approval", act="withdraw", refused="")
    assert (told.actor, told.after["reason"]) == ("rita", WHY)


@pytest.mark.parametrize("who", ["viewer", "owner", "curator", "operator"])
def test_nobody_else_does(item, who):
    client = visitor(getattr(people, who)(item.contract.team))
    page = client.get(where(item))
    assert "Only who asked can withdraw the item." in words(page)
    assert "Withdraw</button>" not in page.content.decode()
    before = snapshot(item.contract)
    assert client.post(where(item), {"reason": WHY}).status_code == 409
    assert snapshot(item.contract) == before
    assert Event.objects.filter(contract=item.contract, refused="requester_not_asking").count() == 1


def test_a_reason_is_needed(item):
    client = visitor(people.reviewer(item.contract.team))
    answer = client.post(where(item), {"reason": " "})
    assert answer.status_code == 422
    root = read(answer)
    check_accessible(root)
    assert summary_targets(root) == ["id_reason"]
    assert "<title>Error:" in words(answer)
    item.refresh_from_db()
    assert item.state == "pending"


def test_what_has_ended_is_not_withdrawn(item):
    client = visitor(people.reviewer(item.contract.team))
    client.post(where(item), {"reason": WHY})
    assert "From “Withdrawn” this step is not possible." in words(client.get(where(item)))
    assert client.post(where(item), {"reason": WHY}).status_code == 409


def test_an_approval_that_was_used_is_not_withdrawn(item):
    carla = people.curator(item.contract.team)
    builders.done(builders.decide(contract_id=item.contract_id, **builders.word(item, carla)))
    client = visitor(people.reviewer(item.contract.team))
    assert "Withdraw</button>" in client.get(where(item)).content.decode()
    Approval.objects.filter(pk=item.pk).update(consumed_at=item.asked_at, consumed_generation=1)
    assert "was used already" in words(client.get(where(item)))
    assert client.post(where(item), {"reason": WHY}).status_code == 409


def test_an_item_of_another_contract_is_not_found(item):
    other = builders.a_paused(item.contract.team)
    client = visitor(people.reviewer(item.contract.team))
    assert client.get(address("withdraw", other.task_id, item.item_id)).status_code == 404


def test_looking_changes_nothing(item):
    client = visitor(people.reviewer(item.contract.team))
    before = snapshot(item.contract)
    assert client.get(where(item)).status_code == client.head(where(item)).status_code == 200
    assert snapshot(item.contract) == before
