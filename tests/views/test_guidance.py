import re

import pytest

from contracts.rules.vocabulary import Section, SectionState
from tests import builders, people
from tests.views.reading import check_accessible, read
from tests.views.visiting import address, visitor

pytestmark = pytest.mark.django_db


def guidance(client, contract, section):
    page = read(client.get(address("section", contract.task_id, section)))
    check_accessible(page)
    (found,) = [one for one in page.every("details") if "guidance" in one["class"].split()]
    (entry,) = [one for one in page.every("nav") if one["id"] == "rail"]
    (current,) = [one for one in entry.every("a") if one["aria-current"] == "page"]
    return found, SectionState.NOT_STARTED.label in current.words


@pytest.mark.parametrize("section", [section.value for section in Section])
def test_each_section_says_in_two_sentences_what_belongs_there_and_shows_an_example(section):
    team = builders.a_team()
    found, _ = guidance(visitor(people.owner(team)), builders.a_draft(team), section)
    says = found.every("p")[0].words
    assert len(re.findall(r"\.( |$)", says)) == 2
    assert len(found.every("dt")) == len(found.every("dd")) >= 4


@pytest.mark.parametrize("section", [section.value for section in Section])
def test_it_is_open_as_long_as_nothing_is_filled_in(section):
    team = builders.a_team()
    client = visitor(people.owner(team))
    for contract in (builders.a_draft(team), builders.a_complete_draft(team, task_id="all-there")):
        found, empty = guidance(client, contract, section)
        assert ("open" in found.attributes) is empty
    assert not empty
