import pytest

from contracts.rules.states import ApprovalState, ContractState, ObjectState, OperationState
from contracts.rules.vocabulary import SectionState
from contracts.views.style import COLOURS, STATES, TOPICS
from tests import builders, people
from tests.views.reading import check_accessible, read
from tests.views.visiting import queries, visitor

pytestmark = pytest.mark.django_db
PAGE = "/style/"


@pytest.fixture
def client():
    return visitor(people.viewer(builders.a_team()))


@pytest.fixture
def page(client):
    return read(client.get(PAGE))


def test_it_is_for_whoever_is_logged_in(client):
    from django.test import Client

    assert Client().get(PAGE).status_code == 302
    assert client.get(PAGE).status_code == 200
    assert client.post(PAGE).status_code == 405


def test_every_topic_has_its_part_and_both_themes_where_it_says_so(page):
    shown = {one["id"]: one for one in page.every("section") if "topic" in one["class"].split()}
    assert list(shown) == [topic.name for topic in TOPICS]
    for topic in TOPICS:
        sides = [
            one["class"].split()[-1]
            for one in shown[topic.name].every("div")
            if "theme" in one["class"].split()
        ]
        if topic.both:
            assert sides == ["light", "dark"]
        assert shown[topic.name].every()


def test_every_state_has_its_chip_in_both_themes(page):
    chips = [one.words for one in page.every("span") if one["class"].startswith("state ")]
    for kind in (ContractState, ObjectState, OperationState, ApprovalState, SectionState):
        assert kind in [members for _, members in STATES]
        for member in kind:
            assert chips.count(member.label) >= 2


def test_every_colour_of_the_styles_is_a_swatch(page):
    from pathlib import Path

    styles = (Path(__file__).resolve().parents[2] / "static/workbench.css").read_text()
    declared = {
        line.split(":")[0].strip()[2:]
        for line in styles.split("\n")
        if "light-dark(#" in line and line.strip().startswith("--")
    }
    assert declared - {"accent-ink"} == set(COLOURS)
    assert [one.words for one in page.every("code") if one.words in COLOURS] == [*COLOURS, *COLOURS]


def test_what_is_wrong_on_it_takes_no_focus_and_is_no_fault_of_the_page(page):
    summaries = [one for one in page.every("section") if one["class"] == "error-summary"]
    assert len(summaries) == 2
    (title,) = page.every("title")
    assert not title.words.startswith("Error")
    for one in summaries:
        around = one
        while around.parent is not None and "inert" not in around.attributes:
            around = around.parent
        assert "inert" in around.attributes


def test_it_is_made_as_it_should_be(page):
    check_accessible(page)


def test_it_needs_no_query_of_its_own(client):
    assert queries(client, PAGE) == queries(client, "/keys/")
