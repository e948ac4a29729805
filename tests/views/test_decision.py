from datetime import timedelta

import pytest

from contracts.gates.beats import database_now
from contracts.models import Approval, Attempt, Operation
from contracts.rules.resume_findings import CheckName, Outcome
from contracts.rules.vocabulary import Role
from tests import builders, documents, people, shifts
from tests.views.reading import check_accessible, read
from tests.views.visiting import HTMX, address, queries, visitor, words

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def team():
    return builders.a_team()


def seen(contract, person):
    answer = visitor(person).get(address("overview", contract.task_id))
    check_accessible(read(answer))
    return answer


def decided(answer):
    return answer.context["shown"]


def check_of(answer, name):
    return next(one for one in decided(answer).checks if one.check.name is name)


def test_a_draft_has_no_decision_yet(team):
    answer = seen(builders.a_draft(team), people.owner(team))
    assert answer.context["shown"] is None
    assert "Resume decision" not in words(answer)


def test_a_paused_contract_may_be_continued_by_an_operator(team):
    answer = seen(builders.a_paused(team), people.operator(team))
    assert decided(answer).verdict is Outcome.CONTINUE
    page = words(answer)
    assert "It may be continued, from the first step on." in page
    assert "This holds for you, Otto" in page
    assert len(decided(answer).checks) == 10
    assert "What goes on" in page


def test_who_may_only_look_is_told_so_and_still_sees_how_it_stands(team):
    answer = seen(builders.a_paused(team), people.viewer(team))
    assert decided(answer).verdict is Outcome.CONTINUE
    assert not decided(answer).own
    page = words(answer)
    assert "You may look at it, but not continue it." in page
    assert "Victor may see the task, but not continue it." in page
    assert check_of(answer, CheckName.ACCESS).where is None  # only who may share is led there
    owner = seen(builders.a_paused(team), people.owner(team))
    assert check_of(owner, CheckName.ACCESS).where.url.endswith("/sharing/")


def test_an_unknown_write_is_asked_about_on_its_page(team):
    contract, operation = shifts.lost_write(team)
    answer = seen(contract, people.operator(team))
    assert decided(answer).verdict is Outcome.RECONCILE
    place = address("operation", contract.task_id, operation.key)
    assert decided(answer).next_deed.url == place
    assert [found.url for found in check_of(answer, CheckName.UNKNOWN).evidence] == [place]
    assert decided(answer).ways[0].choice.ask_first
    assert "Ask first" in words(answer)
    assert words(answer).count("The decision above rests on this check.") == 1


def test_what_nobody_can_know_goes_to_the_named_person(team):
    contract, _ = shifts.lost_write(team, query_path="", settle_seconds=None)
    answer = seen(contract, people.operator(team))
    assert decided(answer).verdict is Outcome.ESCALATE
    assert "a person decides" in words(answer)
    assert "Otto decides on" in words(answer)


def test_a_worker_at_work_is_waited_for_and_its_lease_is_shown(team):
    contract = shifts.working(team)
    answer = seen(contract, people.operator(team))
    assert decided(answer).verdict is Outcome.WAIT
    page = words(answer)
    assert "Wait: label-writer is at work on it." in page
    assert "What goes on" not in page
    holding = answer.context["holding"]
    assert (holding.live, holding.lapsed, holding.quiet_since) == (True, False, None)
    assert 0 < holding.share_left <= 100


def test_a_silent_owner_is_no_owner(team):
    contract = shifts.lapsed(team)
    answer = seen(contract, people.viewer(team))
    page = words(answer)
    assert "no owner: the lease has lapsed" in page
    assert "No progress since" in page
    assert check_of(answer, CheckName.OWNER).check.standing == "attention"
    # What the silent owner was sending may have happened.
    assert decided(answer).verdict is Outcome.RECONCILE


def test_waits_that_last_too_long_are_told(team):
    item = builders.a_waiting_item()
    Approval.objects.filter(pk=item.pk).update(expires_at=database_now() - timedelta(minutes=1))
    answer = seen(item.contract, people.viewer(item.contract.team))
    assert "1 request ran out of time, and nobody decided." in words(answer)
    Approval.objects.filter(pk=item.pk).update(
        state="approved", decided_by="carla", decided_at=database_now() - timedelta(hours=2)
    )
    assert "1 approval waits to be used" in words(seen(item.contract, people.viewer(item.contract.team)))


def test_a_used_up_limit_leads_an_operator_to_raising_it(team):
    contract = shifts.used_up(team)
    answer = seen(contract, people.operator(team))
    assert decided(answer).verdict is Outcome.ESCALATE
    assert decided(answer).next_deed.url == address("operate", contract.task_id, "raise-cap")
    other = decided(seen(contract, people.viewer(team))).next_deed
    assert other.url == address("section", contract.task_id, "limits") + "#part-limit"


def test_what_rests_on_a_changed_source_is_looked_at_again(team):
    contract = shifts.changed(team)
    answer = seen(contract, people.operator(team))
    assert decided(answer).verdict is Outcome.RECHECK
    assert "object-state=recheck" in decided(answer).next_deed.url
    assert "To be rechecked" in words(answer)
    assert [place.words for place in decided(answer).to_recheck] == ["case-5"]


def test_the_next_write_waits_for_a_person(team):
    call = builders.a_call()
    answer = seen(call.contract, people.operator(call.contract.team))
    assert decided(answer).verdict is Outcome.APPROVE
    assert decided(answer).next_deed.url == address("operation", call.contract.task_id, call.key)
    item = builders.a_waiting_item(call)
    later = decided(seen(call.contract, people.operator(call.contract.team)))
    assert later.next_deed.url == address("approval", call.contract.task_id, item.item_id)
    builders.done(_rejected(item))
    # As where the rejected call was not given up.
    Operation.objects.filter(pk=call.pk).update(state="pending")
    refused = decided(seen(call.contract, people.operator(call.contract.team)))
    assert refused.verdict is Outcome.REFUSE
    assert "A person rejected the next write" in refused.lead


def _rejected(item):
    from contracts.gates.approving import decide

    curator = people.curator(item.contract.team)
    return decide(contract_id=item.contract_id, **builders.word(item, curator, "rejected"))


def test_what_may_be_sent_is_named(team):
    contract = builders.a_paused(team)
    call = builders.a_row(contract, "operation")
    answer = seen(contract, people.operator(team))
    place = address("operation", contract.task_id, call.key)
    assert [found.url for found in decided(answer).sendable] == [place]


def test_ended_contracts_say_why_nothing_goes_on(team):
    for contract, lead in (
        (builders.a_cancelled(team), "Cancelled: nothing of it may be continued."),
        (builders.a_completed(team), "Completed: nothing is left to do."),
    ):
        answer = seen(contract, people.operator(team))
        assert (decided(answer).verdict, decided(answer).lead) == (Outcome.REFUSE, lead)
        assert 'id="holder"' not in words(answer)  # nobody takes it over any more


def test_versions_that_do_not_fit_stop_everything(team):
    raw = documents.full_document("a-full", team)
    raw["checkpoints"][1]["schema_version"] = 9
    contract = builders.done(builders.created(team, people.owner(team), raw))
    answer = seen(contract, people.operator(team))
    assert decided(answer).verdict is Outcome.MIGRATE
    assert "The versions do not fit" in words(answer)


def test_sentences_are_told_in_the_readers_language(team):
    contract = shifts.used_up(team)
    client = visitor(people.operator(team))
    page = client.get(address("overview", contract.task_id), headers={"accept-language": "zh-hans"})
    assert "Model turns" not in words(page)


def test_the_live_part_is_small_while_nothing_changed(team):
    contract = shifts.working(team)
    client = visitor(people.operator(team))
    shown = decided(client.get(address("overview", contract.task_id)))
    answer = client.get(address("holder", contract.task_id, mark=shown.mark), headers=HTMX)
    page = read(answer)
    assert [one["id"] for one in page.children] == ["holder"]
    assert "HX-Retarget" not in answer.headers


def test_the_live_part_brings_the_whole_decision_once_it_is_another(team):
    contract = shifts.working(team)
    client = visitor(people.operator(team))
    shown = decided(client.get(address("overview", contract.task_id)))
    shifts.let_lapse(contract)
    answer = client.get(address("holder", contract.task_id, mark=shown.mark), headers=HTMX)
    assert answer.headers["HX-Retarget"] == "#decision"
    assert "data-announce" in words(answer)
    # The same verdict on other facts is shown anew without being spoken.
    before = decided(client.get(address("overview", contract.task_id))).mark
    verdict, _, revision = before.partition(".")
    old = client.get(address("holder", contract.task_id, mark=f"{verdict}.{int(revision) - 1}"), headers=HTMX)
    assert "data-announce" not in words(old)


def test_the_section_of_the_owner_shows_who_holds_it_and_a_draft_does_not(team):
    contract = shifts.working(team)
    page = visitor(people.viewer(team)).get(address("section", contract.task_id, "owner"))
    assert page.context["holding"].live
    live = visitor(people.viewer(team)).get(address("holder", contract.task_id), headers=HTMX)
    assert "label-writer" in words(live)
    draft = builders.a_draft(team)
    assert "holder" not in words(visitor(people.viewer(team)).get(address("section", draft.task_id, "owner")))


def test_a_silent_owner_is_found_in_the_list_by_operators(team):
    contract = shifts.lapsed(team)
    for person, found in ((people.operator(team), True), (people.viewer(team), False)):
        page = words(visitor(person).get(address("list", mine="on")))
        assert (contract.task_id in page) is found
    assert "no owner" in words(visitor(people.viewer(team)).get(address("list")))


def test_hidden_characters_of_a_worker_are_shown(team):
    contract = shifts.working(team)
    Attempt.objects.filter(contract=contract).update(worker="label\u202ewriter")
    assert "U+202E" in words(seen(contract, people.viewer(team)))


def test_the_number_of_queries_does_not_grow_with_what_is_unfinished(team):
    contract, _ = shifts.lost_write(team)
    client, url = visitor(people.operator(team)), address("overview", contract.task_id)
    few = queries(client, url)
    people.person("dora", team, Role.OPERATOR)
    for number in range(8):
        builders.a_row(contract, "object", object_id=f"N-{number}")
        builders.a_row(
            contract,
            "operation",
            tool="cms.publish_label",
            object=f"N-{number}",
            parameters=f'{{"n": {number}}}',
        )
    assert queries(client, url) <= few
