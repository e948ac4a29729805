import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from contracts.gates.beats import database_now
from contracts.gates.form_keys import make_form_key
from contracts.gates.lifecycle import cancel
from contracts.gates.people import join_team
from contracts.models import Approval, ApprovalVote, Artefact, Event, Notice, Presence
from contracts.rules.vocabulary import Role
from tests import builders, people, scenes
from tests.gates.watching import snapshot
from tests.views.visiting import HTMX, address, queries, visitor, words

pytestmark = pytest.mark.django_db
OLD = timedelta(minutes=6)


@pytest.fixture
def contract():
    made = scenes.a_label_contract(builders.a_team(), "label")
    scenes.call(made, 2)
    return made


@pytest.fixture
def item(contract):
    return scenes.ask(contract, scenes.WHY)


@pytest.fixture
def curator(contract):
    return people.curator(contract.team)


def page(item):
    return address("approval", item.contract.task_id, item.item_id)


def fields(item, person, decision="approved", **given):
    key = make_form_key(item, person)
    known = {"item": item.item_id, "seen": item.fingerprint, "decision": decision, "reason": "", "key": key}
    return known | given


def refusals(item):
    told = Event.objects.filter(contract=item.contract, subject=item.item_id).exclude(refused="")
    return list(told.order_by("sequence").values_list("refused", flat=True))


def test_the_page_shows_what_is_approved(item, curator):
    seen = words(visitor(curator).get(page(item)))
    for told in (
        "Approve version 7",
        "cms.publish",
        "cms://collection-site/case-7/label",
        scenes.WHY,
        "label-writer",
    ):
        assert told in seen
    assert re.search(r"<del>.*?1913</del>.*?<ins>.*?1931</ins>", seen)
    assert item.fingerprint in seen
    assert "Version 1: one curator, not the author" in seen
    assert "25 h 59 min left" in seen


def test_hidden_and_look_alike_characters_are_marks(contract, curator):
    scenes.draft(contract, "8", scenes.HIDDEN)
    seen = words(visitor(curator).get(page(scenes.ask(contract, scenes.WHY))))
    assert "U+200B" in seen
    assert "U+0456" in seen
    assert "\u200b" not in seen


def test_no_button_has_the_focus_and_nothing_is_decided_in_bulk(item, curator):
    seen = words(visitor(curator).get(page(item)))
    buttons = re.findall(r"<button[^>]*name=\"decision\"[^>]*>", seen)
    assert len(buttons) == 2
    assert not any("autofocus" in button or "accesskey" in button for button in buttons)
    assert seen.count('id="decide"') == 1


def test_an_approval_is_recorded_and_the_page_shows_it(item, curator):
    client = visitor(curator)
    answer = client.post(page(item), fields(item, curator))
    assert (answer.status_code, answer["Location"]) == (302, page(item))
    seen = words(client.get(page(item)))
    assert "Approved by Carla" in seen
    assert 'name="decision"' not in seen
    assert 'class="decide' not in seen  # nothing is left to press: no bar stays above what is read
    assert seen.index("What is recorded") < seen.index('id="live"') < seen.index("As it will hang")
    item.refresh_from_db()
    assert (item.state, item.decided_by) == ("approved", "carla")


def test_sending_back_needs_a_reason_and_keeps_what_was_written(item, curator):
    client = visitor(curator)
    answer = client.post(page(item), fields(item, curator, "rejected"))
    assert answer.status_code == 422
    assert "A reason is needed." in words(answer)
    assert '<details class="send-back" open>' in words(answer)
    assert (
        client.post(page(item), fields(item, curator, "rejected", reason="The date is wrong.")).status_code
        == 302
    )
    seen = words(client.get(page(item)))
    assert "Sent back by Carla" in seen
    assert "The date is wrong." in seen


def test_t54_the_reason_reaches_who_asked_and_wrote_and_stands_on_the_page_and_in_the_text(contract, curator):
    owner = people.owner(contract.team)
    item = scenes.ask(contract, scenes.WHY, actor=people.acting(owner))
    visitor(curator).post(page(item), fields(item, curator, "rejected", reason="Say about 1931."))
    notice = Notice.objects.get(person=owner, kind="sent_back")
    assert notice.words["reason"] == "Say about 1931."
    assert "Say about 1931." in words(visitor(owner).get(page(item)))
    text = visitor(owner).get(address("export_txt", contract.task_id))
    assert "Say about 1931." in b"".join(text.streaming_content).decode()
    text.close()


@pytest.mark.parametrize("method", ["get", "head", "options"])
def test_t58_looking_changes_nothing(item, curator, method):
    before, events = snapshot(item.contract), Event.objects.count()
    query = fields(item, curator)
    for client in (Client(), visitor(curator), visitor(curator, confirmed=None)):
        getattr(client, method)(page(item), query)
        getattr(client, method)(page(item))
    assert snapshot(item.contract) == before
    assert (Event.objects.count(), Presence.objects.count()) == (events, 0)


def test_a_post_without_login_or_token_decides_nothing(item, curator):
    assert Client().post(page(item), fields(item, curator)).status_code == 302
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(curator, backend="django.contrib.auth.backends.ModelBackend")
    assert strict.post(page(item), fields(item, curator)).status_code == 403
    item.refresh_from_db()
    assert item.state == "pending"


def test_an_old_login_is_asked_again_when_the_page_is_opened_and_not_at_the_button(item, curator):
    client = visitor(curator, confirmed=database_now() - OLD)
    answer = client.get(page(item))
    assert answer.status_code == 302
    assert "/confirm/" in answer["Location"]
    answer = client.post(page(item), fields(item, curator, reason="Kept on the page."))
    assert (answer.status_code, refusals(item)) == (403, ["login_not_fresh"])
    assert "/confirm/" in words(answer)
    assert "Kept on the page.</textarea>" in words(answer)
    assert 'name="decision"' in words(answer)
    item.refresh_from_db()
    assert item.state == "pending"


def test_who_cannot_decide_is_not_asked_to_confirm(item):
    viewer = people.viewer(item.contract.team)
    seen = words(visitor(viewer, confirmed=None).get(page(item)))
    assert "It waits for a curator." in seen
    assert 'name="decision"' not in seen


def test_a_second_factor_is_asked_for_where_the_policy_says_so(contract, curator):
    scenes.change_rules(contract, second_factor="true")
    item = scenes.ask(contract, scenes.WHY)
    answer = visitor(curator).get(page(item))
    assert (answer.status_code, "mfa" in answer["Location"] or "factor" in answer["Location"]) == (302, True)
    assert visitor(curator).post(page(item), fields(item, curator)).status_code == 403
    assert visitor(curator, second_factor=True).get(page(item)).status_code == 200
    assert visitor(curator, second_factor=True).post(page(item), fields(item, curator)).status_code == 302


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda post: post | {"approver": "carla"}, "unknown_fields"),
        (lambda post: post | {"state": '{"approved": true}'}, "unknown_fields"),
        (lambda post: post | {"decision": ["approved", "rejected"]}, "unknown_fields"),
        (lambda post: post | {"file": SimpleUploadedFile("state.json", b"{}")}, "unknown_fields"),
        (lambda post: {name: post[name] for name in post if name != "seen"}, "missing_fields"),
        (lambda _post: {}, "missing_fields"),
    ],
)
def test_t09_t21_a_post_holds_these_fields_and_nothing_else(item, curator, change, code):
    answer = visitor(curator).post(page(item), change(fields(item, curator)))
    assert (answer.status_code, refusals(item)) == (400, [code])
    item.refresh_from_db()
    assert (item.state, ApprovalVote.objects.filter(approval=item).count()) == ("pending", 0)


def test_a_strange_field_is_named_only_where_it_is_a_name(item, curator):
    client = visitor(curator)
    seen = words(client.post(page(item), fields(item, curator) | {"ghp_" + "a1" * 30: "x", "approver": "x"}))
    assert "approver" in seen
    assert "ghp_a1" not in seen  # the rules for scripts name the prefix
    assert client.post(page(item) + "?decision=approved", fields(item, curator)).status_code == 400


@pytest.mark.parametrize(
    ("given", "code", "status"),
    [
        ({"decision": "always"}, "unknown_decision", 422),
        ({"seen": "0" * 64}, "fingerprint_differs", 409),
        ({"item": "item-other"}, "no_such_item", 409),
        ({"key": ""}, "form_key_wrong", 403),
        ({"key": "made:up:key"}, "form_key_wrong", 403),
        ({"reason": "a\x00b"}, "bad_values", 422),
        ({"item": "a\x00b"}, "no_such_item", 409),
    ],
)
def test_a_post_that_does_not_fit_is_refused_and_recorded(item, curator, given, code, status):
    answer = visitor(curator).post(page(item), fields(item, curator) | given)
    told = Event.objects.filter(contract=item.contract, refused=code)
    assert (answer.status_code, told.count()) == (status, 1)
    item.refresh_from_db()
    assert item.state == "pending"


def test_the_key_of_one_form_fits_no_other_item_and_no_other_person(contract, item, curator):
    scenes.call(contract, 3)
    other = scenes.ask(contract, scenes.WHY)
    dora = people.person("dora", contract.team, Role.CURATOR)
    for post in (
        fields(item, curator, key=make_form_key(other, curator)),
        fields(item, curator, key=make_form_key(item, dora)),
    ):
        assert visitor(curator).post(page(item), post).status_code == 403
    # Both ids of another item, posted to this page.
    assert visitor(curator).post(page(item), fields(other, curator)).status_code == 403
    assert set(Approval.objects.filter(contract=contract, state="approved")) <= {
        one for one in Approval.objects.filter(contract=contract) if one not in (item, other)
    }


def test_t06_t50_a_second_post_is_shown_the_stored_decision(item, curator):
    client, dora = visitor(curator), people.person("dora", item.contract.team, Role.CURATOR)
    post = fields(item, curator)
    assert client.post(page(item), post).status_code == 302
    for late in (
        client.post(page(item), post),
        visitor(dora).post(page(item), fields(item, dora, "rejected")),
    ):
        assert late.status_code == 409
        assert "Approved by Carla" in words(late)
    item.refresh_from_db()
    assert (item.state, item.decided_by) == ("approved", "carla")


def test_t56_an_old_tab_after_expiry_is_refused(item, curator):
    Approval.objects.filter(pk=item.pk).update(expires_at=database_now())
    client = visitor(curator)
    seen = words(client.get(page(item)))
    assert "nobody decided" in seen
    assert 'name="decision"' not in seen
    answer = client.post(page(item), fields(item, curator))
    assert (answer.status_code, refusals(item)) == (409, ["item_expired"])


def test_t51_t65_a_stale_item_shows_the_difference_and_has_no_buttons(item, curator):
    scenes.draft(item.contract, "8", scenes.SECOND.replace("Ferrymen", "Two ferrymen"))
    client = visitor(curator)
    seen = words(client.get(page(item)))
    assert "Draft version changed" in seen
    assert "A new request follows, for version 8, as soon as a worker goes on" in seen
    assert re.search(r"<ins>.*?Two ferrymen", seen)
    assert 'name="decision"' not in seen
    assert client.post(page(item), fields(item, curator)).status_code == 409


def test_who_only_brought_the_draft_in_is_told_from_who_edited_it(item, curator):
    told = "It came with the contract, which Olga created; nobody has edited it here."
    assert told not in words(visitor(curator).get(page(item)))
    drafts = [{"artefact_id": "label-case-7", "version_label": "1", "inline_text": scenes.FIRST}]
    brought = builders.a_paused(item.contract.team, artefacts=drafts)
    scenes.call(brought, 1)
    assert told in words(visitor(curator).get(page(scenes.ask(brought, scenes.WHY))))


def test_a_stale_item_says_that_a_newer_request_has_taken_its_place(item, curator):
    scenes.draft(item.contract, "8", scenes.SECOND.replace("Ferrymen", "Two ferrymen"))
    newer = scenes.ask(item.contract, scenes.WHY)
    seen = words(visitor(curator).get(page(item)))
    assert "A newer request has taken its place, for version 8." in seen
    assert page(newer) in seen
    assert "A new request follows" not in seen


def test_a_stale_item_of_a_person_waits_for_a_person_to_ask_again(contract, curator):
    own = scenes.ask(contract, scenes.WHY, actor=people.acting(people.owner(contract.team)))
    scenes.draft(contract, "8", scenes.SECOND.replace("Ferrymen", "Two ferrymen"))
    assert "A new request follows once a reviewer asks again" in words(visitor(curator).get(page(own)))


def test_nothing_follows_a_stale_item_of_a_cancelled_task(item, curator):
    builders.done(
        cancel(
            contract_id=item.contract_id,
            actor=people.acting(people.owner(item.contract.team)),
            reason="Closed.",
        )
    )
    seen = words(visitor(curator).get(page(item)))
    assert "Cancellation of the task changed" in seen
    assert "request follows" not in seen


def test_separation_of_duties_is_said_instead_of_buttons(contract, item):
    owner = people.owner(contract.team)
    join_team(person=owner, team=contract.team, roles=(Role.CURATOR,))
    seen = words(visitor(owner).get(page(item)))
    assert "Who wrote or last edited the draft cannot decide on it." in seen
    assert 'name="decision"' not in seen
    assert visitor(owner).post(page(item), fields(item, owner)).status_code == 403


def test_one_of_two_has_agreed(contract, curator):
    scenes.change_rules(contract, quorum="2")
    item, dora = scenes.ask(contract, scenes.WHY), people.person("dora", contract.team, Role.CURATOR)
    assert visitor(curator).post(page(item), fields(item, curator)).status_code == 302
    seen = words(visitor(curator).get(page(item)))
    assert "1 of 2 agreed" in seen
    assert "You have given your word" in seen
    assert 'name="decision"' not in seen
    assert visitor(curator).post(page(item), fields(item, curator)).status_code == 409
    assert visitor(dora).post(page(item), fields(item, dora)).status_code == 302
    item.refresh_from_db()
    assert (item.state, item.decided_by) == ("approved", "dora")


def test_correcting_makes_the_next_version_with_the_curator_as_its_author(item, curator):
    client, place = visitor(curator), address("correct", item.contract.task_id, item.item_id)
    assert scenes.SECOND.splitlines()[0] in words(client.get(place))
    post = {
        "seen": item.fingerprint,
        "text": scenes.SECOND.replace("1931", "about 1931"),
        "reason": "It is not sure.",
    }
    assert client.post(place, post | {"text": scenes.SECOND}).status_code == 422
    assert client.post(place, post | {"text": ""}).status_code == 422
    assert client.post(place, post | {"reason": ""}).status_code == 422
    assert client.post(place, post).status_code == 302
    version = Artefact.objects.get(contract=item.contract, artefact_id="label-case-7", current=True)
    assert (version.version_label, version.author) == ("8", "carla")
    again = client.post(place, post)
    assert (again.status_code, "about 1931" in words(again)) == (409, True)
    seen = words(client.get(page(item)))
    assert re.search(r"<ins>.*?about", seen)
    assert client.get(place).status_code == 302


def test_a_correction_by_an_old_login_is_kept_on_the_page_and_not_stored(item, curator):
    client, place = visitor(curator), address("correct", item.contract.task_id, item.item_id)
    old = visitor(curator, confirmed=database_now() - OLD)
    post = {"seen": item.fingerprint, "text": "A better label.", "reason": "It reads better."}
    answer = old.post(place, post)
    assert (answer.status_code, "A better label." in words(answer)) == (403, True)
    assert "/confirm/" in words(answer)
    assert client.post(place, post).status_code == 302


def test_a_login_that_ages_does_not_take_away_what_is_being_written(item, curator):
    place = address("looking", item.contract.task_id, item.item_id)
    mark = re.search(r'"mark": "([^"]+)"', words(visitor(curator).get(page(item)))).group(1)
    old = visitor(curator, confirmed=database_now() - OLD)
    assert "HX-Retarget" not in old.post(place, {"mark": mark, "reason": "Half a"}, headers=HTMX)


def test_only_who_may_decide_corrects(item):
    place = address("correct", item.contract.task_id, item.item_id)
    assert visitor(people.reviewer(item.contract.team)).get(place).status_code == 403
    answer = visitor(people.curator(item.contract.team), confirmed=None).get(place)
    assert (answer.status_code, "/confirm/" in answer["Location"]) == (302, True)


def test_who_else_looks_is_seen_and_forgotten(item, curator):
    place = address("looking", item.contract.task_id, item.item_id)
    dora = people.person("dora", item.contract.team, Role.CURATOR)
    mark = re.search(r'"mark": "([^"]+)"', words(visitor(curator).get(page(item)))).group(1)
    visitor(dora).post(place, {"mark": mark}, headers=HTMX)
    answer = visitor(curator).post(place, {"mark": mark}, headers=HTMX)
    assert "Also looking at this: Dora" in words(answer)
    assert "Also looking at this: Carla" in words(visitor(dora).post(place, {"mark": mark}, headers=HTMX))
    Presence.objects.filter(person=dora).update(seen_at=database_now() - timedelta(minutes=1))
    assert "Nobody else is looking" in words(visitor(curator).post(place, {"mark": mark}, headers=HTMX))


def test_the_open_page_notices_a_decision_and_keeps_what_is_being_written(item, curator):
    place = address("looking", item.contract.task_id, item.item_id)
    dora = people.person("dora", item.contract.team, Role.CURATOR)
    mark = re.search(r'"mark": "([^"]+)"', words(visitor(dora).get(page(item)))).group(1)
    calm = visitor(dora).post(place, {"mark": mark, "reason": "Half a"}, headers=HTMX)
    assert "HX-Retarget" not in calm
    visitor(curator).post(page(item), fields(item, curator))
    told = visitor(dora).post(place, {"mark": mark, "reason": "Half a"}, headers=HTMX)
    assert (told["HX-Retarget"], "Approved by Carla" in words(told)) == ("#item", True)


def test_items_of_other_contracts_and_teams_are_not_there(item, curator):
    assert visitor(people.neighbour()).get(page(item)).status_code == 404
    assert visitor(curator).get(address("approval", item.contract.task_id, "item-none")).status_code == 404
    other = builders.a_paused(item.contract.team)
    assert visitor(curator).get(address("approval", other.task_id, item.item_id)).status_code == 404


def test_the_page_needs_the_same_queries_however_much_there_is(contract, item, curator):
    before = queries(visitor(curator), page(item))
    for number in range(3, 9):
        scenes.draft(contract, str(number + 5), f"{scenes.SECOND} {number}")
        scenes.call(contract, number)
        last = scenes.ask(contract, scenes.WHY)
    assert queries(visitor(curator), page(last)) <= before + 1


def test_what_was_told_about_an_item_is_read_once_its_page_was_open(contract, curator):
    dora = people.person("dora", contract.team, Role.CURATOR)
    item = scenes.ask(contract, scenes.WHY)
    told = Notice.objects.filter(item_id=item.item_id).unread()
    assert {notice.person for notice in told} >= {curator, dora}
    place = address("looking", item.contract.task_id, item.item_id)
    assert visitor(curator).post(place, {"mark": ""}, headers=HTMX).status_code == 200
    assert curator not in {notice.person for notice in told.all()}
    assert dora in {notice.person for notice in told.all()}
