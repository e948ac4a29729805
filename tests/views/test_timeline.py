import re
from datetime import timedelta

import pytest

from contracts.gates.beats import database_now
from contracts.models import Attempt, Checkpoint, Operation
from contracts.models.timeline_rows import AT_MOST
from tests import builders, people
from tests.histories import a_history
from tests.views.visiting import address, queries, visitor, words

pytestmark = pytest.mark.django_db
HERE = re.compile(r'href="#(mark-[a-z0-9-]+)"')


@pytest.fixture
def team():
    return builders.a_team()


def seen(contract, person, **query):
    return visitor(person).get(address("timeline", contract.task_id, **query))


def marks_of(answer):
    """Return the ids of the lines that the pictures lead to."""
    return set(HERE.findall(answer.content.decode()))


def lines_of(answer):
    return set(re.findall(r'<tr id="(mark-[a-z0-9-]+)"', answer.content.decode()))


def test_an_empty_contract_says_what_will_appear(team):
    answer = seen(builders.a_draft(team), people.viewer(team))
    assert "Nothing has happened yet" in words(answer)
    assert '<svg class="timeline' not in answer.content.decode()


def test_a_stranger_finds_nothing(team):
    assert seen(a_history(team), people.stranger()).status_code == 404


def test_every_mark_of_the_picture_is_a_line_of_the_table(team):
    answer = seen(a_history(team), people.viewer(team), range="all")
    marks = marks_of(answer)
    assert len(marks) > 20
    assert marks <= lines_of(answer)
    assert len(lines_of(answer)) == 4 + 40 + 8 + 19


def test_a_mark_has_a_name_of_its_own(team):
    page = seen(a_history(team), people.viewer(team)).content.decode()
    links = re.findall(r'<a class="glyph[^>]*>', page)
    assert links
    assert all('aria-label="' in link for link in links)
    assert "Operation cms.publish · publish-1: Confirmed" in page


def test_a_lane_says_whose_it_is_and_what_people_recorded(team):
    lanes = seen(a_history(team), people.viewer(team)).context["pictures"][0].lanes
    labels = [lane.label for lane in lanes]
    minute = r"\d\d:\d\d"
    assert re.fullmatch(rf"Generation 1 · {minute}–{minute} · label-writer · recorded by hand", labels[0])
    assert re.fullmatch(rf"Generation 4 · since {minute} · label-writer", labels[3])
    assert labels[4:] == ["Not sent", "Approvals, from request to use"]
    lapsed = [any(piece.lapsed for piece in lane.lane.pieces) for lane in lanes[:4]]
    assert lapsed == [False, True, False, True]


def test_a_range_holds_only_its_own(team):
    contract, viewer = a_history(team), people.viewer(team)
    whole, hour = seen(contract, viewer), seen(contract, viewer, range="hour")
    assert lines_of(hour) < lines_of(whole)
    generations = [lane.lane.generation for lane in hour.context["pictures"][0].lanes]
    assert generations == [2, 4, None, None]  # a write of the second is still unknown
    assert hour.context["earlier"]
    assert not whole.context["earlier"]


def test_a_range_is_chosen_by_its_ends(team):
    contract, viewer = a_history(team), people.viewer(team)
    second = Attempt.objects.of(contract.pk)[1]
    ends = {"from": second.started_at.isoformat(), "to": second.ended_at.replace(tzinfo=None).isoformat()}
    stretch = seen(contract, viewer, **ends).context["stretch"]
    assert (stretch.start, stretch.end) == (second.started_at, second.ended_at)


@pytest.mark.parametrize(
    "query",
    [
        {"range": "decade"},
        {"from": "soon", "to": "later"},
        {"from": "2026-01-02T00:00Z"},
        {"from": "1800-01-02T00:00Z", "to": "1801-01-02T00:00Z"},
        {"from": "9999-12-31T23:59Z", "to": "0001-01-01T00:00Z"},
    ],
)
def test_a_range_that_means_nothing_is_the_first_one(team, query):
    contract, viewer = a_history(team), people.viewer(team)
    assert seen(contract, viewer, **query).context["tabs"][0][2]


def test_a_long_history_begins_with_its_newest_month(team):
    contract, viewer = a_history(team), people.viewer(team)
    first = Attempt.objects.of(contract.pk).filter(number=1)
    first.update(started_at=database_now() - timedelta(days=400))
    answer = seen(contract, viewer)
    assert [current for _, _, current in answer.context["tabs"]][:2] == [False, True]
    assert seen(contract, viewer, range="all").context["tabs"][0][2]


def test_what_is_left_out_is_counted(team):
    contract = a_history(team, checkpoints=AT_MOST + 5)
    answer = seen(contract, people.viewer(team), range="all")
    assert f"Checkpoint: of {AT_MOST + 5} in this range the 5 oldest are left out." in words(answer)
    assert len(answer.context["lines"]) == 4 + AT_MOST + 8 + 19


def test_a_request_whose_time_has_run_out_is_expired_before_the_clock_tends_it(team):
    contract = builders.a_paused(team, **builders.keys_of_a_call({}))
    item = builders.a_waiting_item(builders.a_call(contract))
    type(item).objects.filter(pk=item.pk).update(expires_at=database_now() - timedelta(seconds=1))
    assert f"mark-approval-{item.pk}-expired" in marks_of(seen(contract, people.viewer(team)))


def test_hidden_characters_are_shown(team):
    contract = a_history(team)
    Checkpoint.objects.filter(contract=contract, sequence=40).update(checkpoint_id="cp\u202e40")
    assert "U+202E" in words(seen(contract, people.viewer(team)))


def test_the_overview_shows_the_newest_attempts_and_leads_to_the_whole(team):
    contract, viewer = a_history(team), people.viewer(team)
    answer = visitor(viewer).get(address("overview", contract.task_id))
    generations = [lane.lane.generation for lane in answer.context["pictures"][0].lanes]
    assert generations == [2, 3, 4, None, None]
    page = answer.content.decode()
    place = re.escape(address("timeline", contract.task_id))
    (url, mark) = re.search(rf'href="({place}\?from=[^"#]*)#(mark-operation-[0-9]+)"', page).groups()
    assert mark in lines_of(visitor(viewer).get(url.replace("&amp;", "&")))


def test_the_number_of_queries_does_not_grow(team):
    a_history(team, "few", checkpoints=1)
    many = a_history(team, "many", checkpoints=400)
    Operation.objects.filter(contract=many, generation=1).update(state="unknown")
    client = visitor(people.owner(team))
    for page in ("timeline", "overview"):
        assert queries(client, address(page, "many")) == queries(client, address(page, "few"))


def test_the_plan_of_states_is_a_table_too(team):
    answer = visitor(people.viewer(team)).get(address("states"))
    page = words(answer)
    assert page.count('<svg class="wires"') == len(answer.context["plans"]) == 5
    assert "The generation ended without a report" in page
