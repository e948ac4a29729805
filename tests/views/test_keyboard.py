import pytest
from django.test import Client

from tests.views.reading import check_accessible, read

pytestmark = pytest.mark.django_db
PAGE = "/keys/"


def keys_in(place):
    return [" ".join(one.words for one in entry.every("kbd")) for entry in place.every("dt")]


def test_the_page_lists_the_keys_of_the_dialog_and_those_of_the_browser():
    page = read(Client().get(PAGE))
    (dialog,) = page.every("dialog")
    (main,) = page.every("main")
    assert keys_in(dialog)
    assert keys_in(main)[: len(keys_in(dialog))] == keys_in(dialog)
    assert {"Tab", "Enter", "Esc"} <= set(keys_in(main))
    check_accessible(page)


def test_they_can_be_switched_off_here_and_in_the_dialog():
    page = read(Client().get(PAGE))
    boxes = [one for one in page.every("input") if "data-keys-on" in one.attributes]
    assert {one["id"] for one in boxes} == {"keys-on", "keys-here"}
    assert [one.inside("dialog") for one in boxes].count(True) == 1


def test_the_link_in_the_foot_is_a_page_without_scripts_and_the_list_with_them():
    (foot,) = read(Client().get("/login/")).every("footer")
    (link,) = [one for one in foot.every("a") if one["data-show"]]
    assert (link["href"], link["data-show"]) == (PAGE, "keys")
