import pytest
from django.test import Client

from contracts.rules.glossary import GROUPS
from tests import builders, people
from tests.views.reading import check_accessible, read
from tests.views.visiting import queries, visitor, words

pytestmark = pytest.mark.django_db
PAGE = "/glossary/"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_term_is_shown_in_both_languages_whatever_the_reader_has(language):
    answer = Client(headers={"accept-language": language}).get(PAGE)
    page = read(answer)
    rows = {one["id"]: one.words for one in page.every("tr") if one["id"]}
    for group in GROUPS:
        for term in group.terms:
            shown = rows[group.anchor(term)]
            assert term.english in shown
            assert term.chinese in shown
    assert len(rows) == sum(len(group.terms) for group in GROUPS)
    check_accessible(page)


def test_each_word_says_its_language():
    page = read(Client().get(PAGE))
    assert {one["lang"] for one in page.every("td") if one["lang"]} == {"zh-Hans"}
    assert {one["lang"] for one in page.every("a") if one.inside("table")} == {"en"}


def test_the_foot_of_every_page_leads_there():
    team = builders.a_team()
    contract = builders.a_draft(team)
    client = visitor(people.owner(team))
    for where in ("/", "/notices/", f"/contracts/{contract.task_id}/", "/no-such-page/"):
        feet = read(client.get(where)).every("footer")
        assert {one["href"] for foot in feet for one in foot.every("a")} >= {PAGE, "/keys/"}
    assert f'href="{PAGE}"' in words(Client().get("/login/"))


def test_it_asks_nothing_of_the_database_without_a_session(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert Client().get(PAGE).status_code == 200


def test_it_needs_as_many_queries_as_any_page_of_its_reader():
    client = visitor(people.owner(builders.a_team()))
    assert queries(client, PAGE) == queries(client, "/keys/")
