import pytest

from contracts.gates.mailing import choose_mail, claim_mail
from contracts.management.mailing import mail_waiting
from contracts.models import Muted, Notice, Reader
from contracts.rules.notices import MailState, Told
from tests import builders, people
from tests.notices import a_notice
from tests.views.reading import check_accessible, read
from tests.views.visiting import queries, visitor, words

pytestmark = pytest.mark.django_db
PAGE = "/notices/mail/"


@pytest.fixture
def carla():
    return people.curator(builders.a_team())


@pytest.fixture
def mailed(carla):
    carla.email = "carla@example.org"
    carla.save(update_fields=["email"])
    return carla


@pytest.fixture
def contract():
    return builders.a_draft()


def muted(person):
    return {Told(row.kind) for row in Muted.objects.filter(person=person)}


def form_of(page, name):
    return next(one for one in page.every("form") if one["id"] == name)


def ticked(page):
    boxes = [one for one in form_of(page, "kinds").every("input") if one["type"] == "checkbox"]
    return {one["value"] for one in boxes if "checked" in one.attributes}, {one["value"] for one in boxes}


def test_every_kind_is_mailed_until_somebody_chooses(carla):
    page = read(visitor(carla).get(PAGE))
    on, offered = ticked(page)
    assert on == offered == {kind.value for kind in Told}
    check_accessible(page)


def test_the_form_as_it_stands_changes_nothing(carla):
    client = visitor(carla)
    boxes = [
        one for one in form_of(read(client.get(PAGE)), "kinds").every("input") if one["type"] == "checkbox"
    ]
    posted = {
        name: [one["value"] for one in boxes if one["name"] == name and "checked" in one.attributes]
        for name in ("asking", "telling")
    }
    assert client.post(PAGE, {"deed": "kinds", **posted}).status_code == 302
    assert muted(carla) == set()


def test_what_is_not_ticked_is_muted_and_what_is_ticked_again_is_not(carla):
    client = visitor(carla)
    client.post(PAGE, {"deed": "kinds", "asking": ["waiting"], "telling": ["stale", "approved"]})
    wanted = {Told.WAITING, Told.STALE, Told.APPROVED}
    assert muted(carla) == set(Told) - wanted
    assert ticked(read(client.get(PAGE)))[0] == {kind.value for kind in wanted}
    client.post(PAGE, {"deed": "kinds", "asking": ["passed_on"], "telling": []})
    assert muted(carla) == set(Told) - {Told.PASSED_ON}


def test_a_choice_is_ones_own(carla, contract):
    other = people.reviewer(contract.team)
    visitor(carla).post(PAGE, {"deed": "kinds"})
    assert muted(carla) == set(Told)
    assert muted(other) == set()


@pytest.mark.parametrize(
    "values", [{"asking": ["approved"]}, {"asking": ["nothing"]}, {"telling": ["waiting", "stale"]}]
)
def test_kinds_that_were_not_offered_are_refused(carla, values):
    answer = visitor(carla).post(PAGE, {"deed": "kinds", **values})
    assert answer.status_code == 422
    assert "<title>Error:" in words(answer)
    assert muted(carla) == set()
    check_accessible(read(answer))


@pytest.mark.parametrize("values", [{}, {"deed": "read"}, {"deed": "all"}])
def test_other_posts_are_refused(carla, values):
    assert visitor(carla).post(PAGE, values).status_code == 400


def test_a_muted_kind_is_not_mailed_but_stands_in_the_page(mailed, contract, mailoutbox):
    a_notice(contract, mailed, Told.STALE)
    a_notice(contract, mailed, Told.WAITING)
    choose_mail(mailed, [kind for kind in Told if kind is not Told.STALE])
    assert mail_waiting() == 1
    (sent,) = mailoutbox
    assert sent.subject.startswith("Waits for a decision")
    assert Notice.objects.of(mailed).count() == 2
    assert set(Notice.objects.values_list("kind", "mail")) == {
        ("stale", MailState.NONE),
        ("waiting", MailState.SENT),
    }
    assert mail_waiting() == 0


def test_what_was_let_go_is_not_mailed_when_the_kind_is_wanted_again(mailed, contract, mailoutbox):
    notice = a_notice(contract, mailed, Told.STALE)
    choose_mail(mailed, [])
    assert not claim_mail(notice.pk)
    choose_mail(mailed, list(Told))
    assert mail_waiting() == 0
    assert mailoutbox == []


def test_a_mail_on_its_way_is_not_touched_by_a_later_choice(mailed, contract):
    notice = a_notice(contract, mailed, Told.STALE)
    assert claim_mail(notice.pk)
    choose_mail(mailed, [])
    assert not claim_mail(notice.pk)
    notice.refresh_from_db()
    assert notice.mail == MailState.SENDING


def test_every_mail_says_where_that_is_changed(mailed, contract, mailoutbox):
    a_notice(contract, mailed)
    mail_waiting()
    assert mailoutbox[0].body.rstrip().endswith(PAGE)


def test_who_gives_no_address_is_told_that_nothing_is_mailed(carla, mailed):
    carla.email = ""
    assert "No address is given" not in words(visitor(mailed).get(PAGE))
    carla.save(update_fields=["email"])
    assert "No address is given" in words(visitor(carla).get(PAGE))


def test_an_address_is_stored_shown_and_emptied(carla):
    client = visitor(carla)
    client.post(PAGE, {"deed": "address", "email": " carla@example.org "})
    carla.refresh_from_db()
    assert carla.email == "carla@example.org"
    assert 'value="carla@example.org"' in words(client.get(PAGE))
    client.post(PAGE, {"deed": "address", "email": ""})
    carla.refresh_from_db()
    assert carla.email == ""


def test_an_address_is_mailed_in_the_language_of_the_page_it_was_given_on(carla):
    client = visitor(carla)
    client.post(PAGE, {"deed": "address", "email": "c@example.org"}, headers={"Accept-Language": "zh-hans"})
    assert Reader.objects.get(person=carla).language == "zh-hans"


def test_a_wrong_address_is_an_error_at_its_field_and_stays_typed(carla):
    answer = visitor(carla).post(PAGE, {"deed": "address", "email": "carla"})
    assert answer.status_code == 422
    assert "<title>Error:" in words(answer)
    assert 'value="carla"' in words(answer)
    check_accessible(read(answer))
    carla.refresh_from_db()
    assert carla.email == ""


def test_the_page_needs_few_queries_whatever_was_chosen(carla):
    client = visitor(carla)
    before = queries(client, PAGE)
    choose_mail(carla, [])
    assert queries(client, PAGE) == before
