import pytest

from contracts.models import Attempt, Checkpoint, Limit, Operation, WorkObject
from contracts.views.operating import DEEDS
from tests import builders, people, shifts
from tests.gates.workers import owners
from tests.views.reading import check_accessible, filled_form, read, summary_targets
from tests.views.visiting import address, queries, visitor, words

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "The worker hangs."


@pytest.fixture
def team():
    return builders.a_team()


def page_of(contract, act, person=None):
    client = visitor(person or people.operator(contract.team))
    answer = client.get(address("operate", contract.task_id, act))
    assert answer.status_code == 200
    check_accessible(read(answer))
    return answer


def done(contract, act, **given):
    client = visitor(people.operator(contract.team))
    typed = {"generation": contract.generation, "reason": WHY, **given}
    answer = client.post(address("operate", contract.task_id, act), typed)
    contract.refresh_from_db()
    return answer


def told(answer):
    return [effect.words for effect in answer.context["effects"]]


def offers(contract, person):
    answer = visitor(person).get(address("overview", contract.task_id))
    return {
        offer.deed.slug: bool(offer.refusal) for offer in answer.context["offers"] if offer.deed.slug in DEEDS
    }


@pytest.mark.parametrize("act", DEEDS)
@pytest.mark.parametrize("who", ["viewer", "reviewer", "curator", "owner"])
def test_only_operators_steer(team, act, who):
    contract = builders.a_paused(team)
    client = visitor(getattr(people, who)(team))
    where = address("operate", contract.task_id, act)
    assert client.get(where).status_code == client.post(where, {"reason": WHY}).status_code == 403


def test_an_act_nobody_knows_is_not_found(team):
    contract = builders.a_paused(team)
    client = visitor(people.operator(team))
    assert client.get(address("operate", contract.task_id, "forget")).status_code == 404


def test_the_overview_offers_what_fits_the_state(team):
    otto = people.operator(team)
    assert offers(builders.a_draft(team), otto) == {}
    assert offers(builders.a_paused(team), otto) == {"roll-back": True, "raise-cap": False}
    working = shifts.working(team)
    assert offers(working, otto) == {
        "pause": False,
        "take-over": False,
        "roll-back": False,
        "raise-cap": False,
    }
    assert offers(working, people.reviewer(team)) == {}
    assert offers(builders.a_cancelled(team), otto) == {}


@pytest.mark.parametrize("act", ["pause", "take-over"])
def test_what_cannot_be_done_now_says_why(team, act):
    contract = builders.a_paused(team)
    answer = page_of(contract, act)
    assert "Not possible now" in words(answer)
    assert done(contract, act).status_code == 409


@pytest.mark.parametrize("act", ["pause", "take-over"])
def test_a_reason_is_needed(team, act):
    contract = shifts.working(team)
    answer = done(contract, act, reason=" ")
    assert answer.status_code == 422
    assert summary_targets(read(answer)) == ["id_reason"]
    assert contract.state == "running"


def test_taking_over_tells_beforehand_what_becomes_of_everything(team):
    contract = shifts.lapsed(team)
    lines = told(page_of(contract, "take-over"))
    assert any(line.startswith("1 write may have left") for line in lines)
    assert "1 object that is half done begins anew." in lines
    assert any(line.startswith("1 object becomes unknown") for line in lines)
    assert any("from 1 to 2" in line for line in lines)
    assert done(contract, "take-over").status_code == 302
    # And so it came.
    assert (contract.state, contract.generation) == ("paused", 2)
    assert Operation.objects.get(contract=contract).state == "unknown"
    states = dict(WorkObject.objects.filter(contract=contract).values_list("object_id", "state"))
    assert states == {"case-5": "pending", "case-6": "pending", "case-7": "unknown"}


def test_a_worker_that_does_not_write_ahead_may_have_sent_what_is_pending(team):
    contract = shifts.working(team)
    Attempt.objects.filter(contract=contract).update(synchronous=False)
    lines = told(page_of(contract, "take-over"))
    assert any(line.startswith("1 write may have left") for line in lines)
    assert any("loses the task at once" in line for line in lines)


def test_a_pause_is_asked_for_and_says_what_ends_first(team):
    contract = shifts.working(team)
    lines = told(page_of(contract, "pause"))
    assert "1 object is being worked on; it may be finished." in lines
    assert "No write is being sent." in lines
    assert done(contract, "pause").status_code == 302
    assert contract.state == "pause_requested"
    assert "Pause requested" in words(page_of(contract, "pause"))


def test_without_a_lease_the_pause_takes_place_at_once(team):
    contract = shifts.lapsed(team)
    assert any("paused at once" in line for line in told(page_of(contract, "pause")))
    client = visitor(people.operator(team))
    typed = {"reason": WHY, "generation": contract.generation}
    answer = client.post(address("operate", contract.task_id, "pause"), typed, follow=True)
    assert "The contract is paused." in words(answer)
    contract.refresh_from_db()
    assert contract.state == "paused"


def looked(contract, checkpoint_id, **given):
    """Choose a checkpoint and look at what going back to it would do."""
    return done(contract, "roll-back", checkpoint_id=checkpoint_id, show="1", **given)


def form_of(answer):
    (form,) = [one for one in read(answer).every("form") if one.every("select")]
    return filled_form(form)


def test_rolling_back_is_looked_at_first_and_then_told(team):
    contract = shifts.lapsed(team)
    assert "Roll back to checkpoint" not in words(page_of(contract, "roll-back"))
    answer = looked(contract, "cp-0001")
    assert answer.status_code == 200
    check_accessible(read(answer))
    lines = told(answer)
    assert "2 later checkpoints are marked as rolled back; they stay in the record." in lines
    assert "None was asked for or decided after this checkpoint." in words(answer)
    typed = form_of(answer) | {"reason": WHY}
    client = visitor(people.operator(team))
    where = address("operate", contract.task_id, "roll-back")
    after = client.post(where, typed, follow=True)
    page = words(after)
    assert "Work goes on from checkpoint cp-0001, under generation 2." in page
    assert WHY in page
    marked = Checkpoint.objects.filter(contract=contract, rolled_back_at__isnull=False)
    assert marked.count() == 2
    # The same form once more changes nothing.
    again = client.post(where, typed)
    contract.refresh_from_db()
    assert (again.status_code, contract.generation) == (302, 2)


def test_nothing_is_rolled_back_unseen(team):
    contract = shifts.lapsed(team)
    typed = form_of(looked(contract, "cp-0001")) | {"reason": WHY, "checkpoint_id": "cp-0002"}
    answer = done(contract, "roll-back", **typed)
    assert answer.status_code == 200
    assert answer.context["point"].checkpoint_id == "cp-0002"
    assert WHY in words(answer)
    assert contract.generation == 1


def test_a_checkpoint_must_be_chosen(team):
    contract = shifts.lapsed(team)
    answer = looked(contract, "")
    assert summary_targets(read(answer)) == ["id_checkpoint_id"]
    assert looked(contract, "nowhere").context["point"] is None


def test_each_request_made_since_is_told_as_valid_or_stale(team):
    contract = shifts.a_shift(team, "since", needs_approval=True)
    generation = shifts.take_up(contract)
    shifts.step(contract, generation, 1, "publish_label")
    operation = shifts.write(contract, generation)
    item = builders.a_waiting_item(operation, draft_id="", preview="A label.")
    shifts.step(contract, generation, 2, "publish_label")
    ahead = looked(contract, "cp-0001").context["items"]
    assert [(one.item.item_id, one.fate.value) for one in ahead] == [(item.item_id, "stale")]
    typed = form_of(looked(contract, "cp-0001")) | {"reason": WHY}
    client = visitor(people.operator(team))
    page = words(client.post(address("operate", contract.task_id, "roll-back"), typed, follow=True))
    assert item.item_id in page
    assert "Return to an earlier checkpoint" in page
    # From the newest checkpoint nothing was asked for since.
    fresh = shifts.lapsed(team, "fresh")
    assert looked(fresh, "cp-0003").context["items"] == []


def test_a_rollback_nobody_made_is_not_told(team):
    contract = shifts.lapsed(team)
    client = visitor(people.operator(team))
    answer = client.get(address("operate", contract.task_id, "roll-back", done="nothing"))
    assert answer.context["done"] is None


def test_a_cap_is_raised_and_the_reached_one_is_proposed(team):
    contract = shifts.used_up(team)
    answer = page_of(contract, "raise-cap")
    assert answer.context["form"]["measure"].value() == "model_turns"
    assert "100 of 100" in words(answer)
    assert done(contract, "raise-cap", measure="model_turns", cap="150").status_code == 302
    assert Limit.objects.get(contract=contract, measure="model_turns").cap == 150


@pytest.mark.parametrize(("cap", "place"), [("100", "id_cap"), ("much", "id_cap"), ("", "id_cap")])
def test_a_cap_only_rises(team, cap, place):
    contract = shifts.used_up(team)
    answer = done(contract, "raise-cap", measure="model_turns", cap=cap)
    assert answer.status_code == 422
    assert summary_targets(read(answer)) == [place]
    assert done(contract, "raise-cap", measure="nothing", cap="150").status_code == 422


def test_cancelling_tells_beforehand_what_is_given_up(team):
    contract = shifts.working(team)
    answer = visitor(people.operator(team)).get(address("act", contract.task_id, "cancel"))
    lines = told(answer)
    assert "1 write that waits is given up, and never sent." in lines
    assert any(line.startswith("label-writer loses the task") for line in lines)
    item = builders.a_waiting_item()
    answer = visitor(people.operator(team)).get(address("act", item.contract.task_id, "cancel"))
    assert "1 request or approval that was not used becomes stale." in told(answer)


def test_without_a_cap_there_is_nothing_to_raise(team):
    contract = builders.a_paused(team)
    Limit.objects.filter(contract=contract).update(cap=None)
    assert "Nothing is capped here." in words(page_of(contract, "raise-cap"))


def test_after_its_deadline_nothing_is_rolled_back(team):
    from contracts.gates.beats import database_now
    from contracts.models import Contract

    contract = shifts.lapsed(team)
    Contract.objects.filter(pk=contract.pk).update(deadline=database_now())
    assert "The deadline has passed." in words(page_of(contract, "roll-back"))


def test_the_number_of_queries_does_not_grow_with_the_requests(team):
    contract = shifts.lapsed(team)
    client = visitor(people.operator(team))
    for act in DEEDS:
        few = queries(client, address("operate", contract.task_id, act))
        WorkObject.objects.filter(contract=contract).update(state="in_progress")
        assert queries(client, address("operate", contract.task_id, act)) <= few


def shown(answer):
    """Return the generation that a page holds as the one it shows."""
    return next(one["value"] for one in read(answer).every("input") if one["name"] == "generation")


def another_owner(contract):
    """Let another worker take up what nobody renews any more."""
    owners.lapse(contract)
    return owners.granted(contract, owners.OTHER).attempt


@pytest.mark.parametrize("act", ["pause", "take-over", "roll-back"])
def test_a_tab_left_open_overnight_stops_nobody_who_was_not_shown(team, act):
    contract = shifts.a_shift(team, "overnight")
    shifts.step(contract, shifts.take_up(contract), 1, "publish_label")
    contract.refresh_from_db()
    seen = shown(page_of(contract, act))
    attempt = another_owner(contract)
    more = (
        {"checkpoint_id": "cp-0001", "shown": "cp-0001", "request_key": "r-1"} if act == "roll-back" else {}
    )
    answer = done(contract, act, generation=seen, **more)
    attempt.refresh_from_db()
    assert (answer.status_code, contract.state, attempt.ended_at) == (409, "resuming", None)
    now = shown(answer)
    assert (now, str(contract.generation)) == (str(int(seen) + 1), now)
    # Having looked again, the operator may.
    assert done(contract, act, generation=now, **more).status_code == 302
