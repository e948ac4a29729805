from datetime import timedelta

import pytest

from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.people import share
from contracts.models import Approval, ContractGroupPermission, Notice
from contracts.rules.notices import Told
from contracts.rules.vocabulary import Role
from tests import builders, people
from tests.notices import a_notice
from tests.views.reading import check_accessible, filled_form, read
from tests.views.visiting import HTMX, address, queries, visitor, words

pytestmark = pytest.mark.django_db
PAGE = "/notices/"


@pytest.fixture
def team():
    return builders.a_team()


@pytest.fixture
def carla(team):
    return people.curator(team)


@pytest.fixture
def contract(team):
    return builders.a_draft(team)


def unread(person):
    return Notice.objects.of(person).unread().count()


def items(answer):
    return [one for one in read(answer).every("li") if one["id"].startswith("notice-")]


def test_who_was_told_nothing_reads_what_belongs_here(carla):
    answer = visitor(carla).get(PAGE)
    assert items(answer) == []
    assert "No notices yet" in words(answer)
    assert "Mark all as read" not in words(answer)
    check_accessible(read(answer))


def test_notices_are_shown_newest_first_with_reason_and_time(carla, contract):
    a_notice(contract, carla, person="otto", until="2030-03-01T09:00:00+00:00")
    a_notice(contract, carla, Told.SENT_BACK, person="olga", reason="Wrong wall.")
    answer = visitor(carla).get(PAGE)
    newest, oldest = items(answer)
    assert "Olga sent this back: cms.publish → cms://pages/label-1." in newest.words
    assert "Wrong wall." in newest.words
    assert "1 March 2030" in oldest.words
    assert contract.task_id in oldest.words
    check_accessible(read(answer))


@pytest.mark.parametrize(
    ("decision", "told"), [("approved", "Cleo approved"), ("rejected", "Cleo sent this back")]
)
def test_what_was_decided_asks_for_nothing_any_more(carla, team, decision, told):
    cleo = people.person("cleo", team, Role.CURATOR)
    item = builders.a_waiting_item(builders.a_call(builders.a_paused(team, **builders.keys_of_a_call({}))))
    (open_one,) = items(visitor(carla).get(PAGE))
    assert "asks for a decision" in open_one.words
    assert "Time left until" in open_one.words
    since = (database_now() - timedelta(minutes=1)).isoformat()
    builders.done(decide(contract_id=item.contract_id, **builders.word(item, cleo, decision)))
    answer = visitor(carla).get(PAGE)
    (shown,) = items(answer)
    assert f"{told}: cms.publish → cms://pages/label-1." in shown.words
    assert shown.words.startswith("Unread Decided")
    item.refresh_from_db()
    assert item.decided_at.isoformat() in [one["datetime"] for one in shown.every("time")]
    for asking in ("asks for a decision", "Waits for a decision", "Time left until"):
        assert asking not in shown.words
        assert asking not in words(visitor(carla).get(address("news", since=since)))
    check_accessible(read(answer))


def test_whoever_voted_is_asked_no_more_while_others_are(carla, team):
    contract = builders.a_paused(team, **builders.keys_of_a_call({"quorum": 2}))
    cleo = people.person("cleo", team, Role.CURATOR)
    item = builders.a_waiting_item(builders.a_call(contract))
    builders.done(decide(contract_id=contract.pk, **builders.word(item, carla)))
    assert "Your vote is recorded; others still decide" in words(visitor(carla).get(PAGE))
    assert "asks for a decision" in words(visitor(cleo).get(PAGE))


def test_what_nobody_decided_in_time_waits_no_more(carla, team):
    item = builders.a_waiting_item(builders.a_call(builders.a_paused(team, **builders.keys_of_a_call({}))))
    Approval.objects.filter(pk=item.pk).update(expires_at=item.asked_at + timedelta(microseconds=1))
    (shown,) = items(visitor(carla).get(PAGE))
    assert "This no longer waits for a decision" in shown.words
    assert "Expired" in shown.words


def test_the_unread_say_so_and_the_read_do_not(carla, contract):
    first, second = a_notice(contract, carla), a_notice(contract, carla)
    client = visitor(carla)
    assert client.post(PAGE, {"deed": "read", "notice": first.pk}).status_code == 302
    shown = {one["id"]: "Unread" in one.words for one in items(client.get(PAGE))}
    assert shown == {f"notice-{first.pk}": False, f"notice-{second.pk}": True}


def test_all_are_read_but_those_that_came_after_the_page(carla, contract):
    a_notice(contract, carla)
    client = visitor(carla)
    page = read(client.get(PAGE))
    form = next(one for one in page.every("form") if "Mark all as read" in one.words)
    a_notice(contract, carla)
    assert client.post(PAGE, filled_form(form)).status_code == 302
    assert unread(carla) == 1


def test_looking_reads_nothing(carla, contract):
    a_notice(contract, carla)
    visitor(carla).get(PAGE)
    assert unread(carla) == 1


def test_nobody_sees_or_reads_what_others_were_told(carla, contract, team):
    notice = a_notice(contract, carla)
    client = visitor(people.viewer(team))
    assert items(client.get(PAGE)) == []
    client.post(PAGE, {"deed": "read", "notice": notice.pk})
    client.post(PAGE, {"deed": "read_all", "notice": notice.pk})
    assert unread(carla) == 1


def test_whoever_lost_sight_of_the_contract_learns_nothing_of_it(carla, contract):
    a_notice(contract, carla, Told.SENT_BACK, person="olga", reason="Wrong wall.")
    ContractGroupPermission.objects.filter(content_object=contract).delete()
    answer = visitor(carla).get(PAGE)
    (shown,) = items(answer)
    assert "You may no longer see the contract" in shown.words
    page = answer.content.decode()
    for hidden in ("Wrong wall.", "cms.publish", contract.title, contract.task_id, "olga", "Olga"):
        assert hidden not in page


def test_text_of_people_is_escaped_and_hidden_characters_are_marks(carla, contract):
    a_notice(contract, carla, Told.SENT_BACK, person="<b>x</b>", reason="<script>\u200b")
    page = visitor(carla).get(PAGE).content.decode()
    assert "<b>x</b>" not in page
    assert "<script>\u200b" not in page
    assert "U+200B" in page


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"deed": "x", "notice": "1"},
        {"deed": "read"},
        {"deed": "read", "notice": "-1"},
        {"deed": "read", "notice": "1 OR 1=1"},
        {"deed": "read_all", "notice": "٣"},
        {"deed": "read_all", "notice": "9" * 19},
        {"deed": "read_all", "notice": "9" * 5000},
        {"deed": "address", "email": "carla@example.org"},
    ],
)
def test_other_posts_are_refused(carla, contract, values):
    a_notice(contract, carla)
    assert visitor(carla).post(PAGE, values).status_code == 400
    assert unread(carla) == 1


def test_the_head_of_every_page_counts_the_unread(carla, contract):
    client = visitor(carla)
    assert 'class="count"' not in client.get("/").content.decode()
    for _ in range(2):
        a_notice(contract, carla)
    page = read(client.get("/"))
    (count,) = [one for one in page.every("span") if one["class"] == "count"]
    assert count.words == "2 unread"
    Notice.objects.bulk_create(Notice(contract=contract, person=carla, kind="waiting") for _ in range(120))
    page = read(client.get(address("overview", contract.task_id)))
    (count,) = [one for one in page.every("span") if one["class"] == "count"]
    assert count.words == "99+ unread"


def test_the_count_is_one_query_of_a_full_page_and_none_of_a_part(carla, contract):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client = visitor(carla)
    client.get("/")
    for headers, times in (({}, 1), ({"HX-Request": "true"}, 0)):
        with CaptureQueriesContext(connection) as captured:
            client.get("/", headers=headers)
        counted = [query for query in captured if "contracts_notice" in query["sql"]]
        assert len(counted) == times


def test_the_page_needs_as_many_queries_for_many_notices_as_for_few(carla, team):
    counts = []
    for number in (2, 300):
        contract = builders.a_draft(team)
        made = (Notice(contract=contract, person=carla, kind="waiting", item_id="A-1") for _ in range(number))
        Notice.objects.bulk_create(made)
        counts.append(queries(visitor(carla), PAGE))
    assert counts[0] == counts[1]


def test_many_notices_have_pages(carla, contract):
    Notice.objects.bulk_create(
        Notice(contract=contract, person=carla, kind="waiting", item_id="A-1") for _ in range(30)
    )
    client = visitor(carla)
    assert [len(items(client.get(PAGE, {"page": page}))) for page in ("1", "2", "x", "99")] == [25, 5, 25, 5]


def test_a_shared_right_taken_away_hides_and_given_back_shows_again(contract, team):
    stefan, owner = people.stranger(), people.acting(people.owner(team))
    from contracts.rules.vocabulary import Right

    def rights(*wanted):
        share(contract_id=contract.pk, actor=owner, username="stefan", rights=frozenset(wanted))

    rights(Right.VIEW)
    a_notice(contract, stefan)
    client = visitor(stefan)
    assert contract.task_id in words(client.get(PAGE))
    rights()
    assert contract.task_id not in words(client.get(PAGE))
    rights(Right.VIEW)
    assert contract.task_id in words(client.get(PAGE))


def title(answer):
    (found,) = read(answer).every("title")
    return found.words


def test_the_title_counts_the_unread(carla, contract):
    client = visitor(carla)
    assert title(client.get(PAGE)) == "Notices · Resume-state workbench"
    a_notice(contract, carla)
    a_notice(contract, carla)
    assert title(client.get(PAGE)) == "(2) Notices · Resume-state workbench"
    Notice.objects.bulk_create(Notice(contract=contract, person=carla, kind="waiting") for _ in range(120))
    assert title(client.get(PAGE)) == "(99+) Notices · Resume-state workbench"


def test_the_page_asks_for_news_and_gets_list_title_and_count_alone(carla, contract):
    client = visitor(carla)
    (asking,) = [one for one in read(client.get(PAGE)).every("div") if one["id"] == "told"]
    assert asking["hx-get"] == PAGE
    assert asking["hx-trigger"] == "every 10s, news from:body"
    a_notice(contract, carla)
    answer = client.get(PAGE, headers=HTMX)
    assert "<header" not in answer.content.decode()
    assert title(answer) == "(1) Notices · Resume-state workbench"
    (count,) = [one for one in read(answer).every("span") if one["id"] == "unread"]
    assert (count["hx-swap-oob"], count.words) == ("true", "1 unread")
    assert len(items(answer)) == 1
    assert answer["Cache-Control"] == "no-store"


def test_the_queue_brings_the_count_along(carla, contract):
    a_notice(contract, carla)
    answer = visitor(carla).get(address("approvals"), headers=HTMX)
    (count,) = [one for one in read(answer).every("span") if one["id"] == "unread"]
    assert count.words == "1 unread"


def test_news_of_a_further_page_are_of_that_page(carla, contract):
    Notice.objects.bulk_create(Notice(contract=contract, person=carla, kind="waiting") for _ in range(30))
    page = read(visitor(carla).get(PAGE, {"page": "2"}))
    (asking,) = [one for one in page.every("div") if one["id"] == "told"]
    assert asking["hx-get"] == f"{PAGE}?page=2"
