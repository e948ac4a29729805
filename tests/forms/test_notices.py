import pytest
from django.urls import NoReverseMatch, reverse
from django.utils import translation

from contracts.forms.notices import REASON_MAX, SUBJECT_MAX, MailAddressForm, compose, told, until
from contracts.models import Notice, Reader
from contracts.rules.notices import TOLD_SENTENCES, Told
from tests import builders, people
from tests.notices import a_notice

pytestmark = pytest.mark.django_db
HIDDEN = "gold\u200bclay"


@pytest.fixture
def contract():
    return builders.a_draft()


@pytest.fixture
def carla():
    return people.curator(builders.a_team())


def test_every_notice_has_a_sentence():
    assert set(TOLD_SENTENCES) == set(Told)


@pytest.mark.parametrize("kind", Told)
def test_every_notice_is_told_even_with_nothing_stored(contract, carla, kind):
    notice = a_notice(contract, carla, kind)
    assert "cms.publish → cms://pages/label-1" in told(notice)
    notice.words = {}
    assert "—" in told(notice)
    assert compose(notice).text.startswith(told(notice))


def test_a_mail_says_what_who_why_until_when_and_where(contract, carla, settings):
    settings.WORKBENCH_ADDRESS = "https://workbench.example.org"
    settings.TIME_ZONE = "Europe/Berlin"
    notice = a_notice(
        contract, carla, person="otto", reason="Wrong wall.\nTry room 2.", until="2030-03-01T09:00:00+00:00"
    )
    mail = compose(notice)
    assert mail.subject == f"Waits for a decision: {contract.title} ({contract.task_id})"
    for line in (
        "otto asks for a decision: cms.publish → cms://pages/label-1.",
        f"Contract: {contract.title} ({contract.task_id})",
        "Time left until: 1 March 2030, 10:00 CET",
        "> Wrong wall.\n> Try room 2.",
        "The link only shows the item.",
        "https://workbench.example.org/notices/",
    ):
        assert line in mail.text
    link = next(line for line in mail.text.split("\n") if contract.task_id in line and "://" in line)
    assert link.startswith(f"https://workbench.example.org/contracts/{contract.task_id}/")


def test_a_subject_stays_one_line_whatever_the_title_holds(contract, carla):
    notice = a_notice(contract, carla)
    notice.contract.title = "A\r\nBcc: everybody@example.org\nB\u2028C\x85D\x1cE" + "x" * 400
    subject = compose(notice).subject
    assert len(subject.splitlines()) == 1
    assert "⟨U+000D⟩" in subject
    assert len(subject) <= SUBJECT_MAX


def test_hidden_characters_are_shown_and_lines_of_people_do_not_look_like_ours(contract, carla):
    notice = a_notice(contract, carla, reason=f"{HIDDEN}\nhttps://evil.example/decide")
    notice.contract.title = HIDDEN
    notice.words["call"] = f"{HIDDEN}\n\nYou have decided."
    text = compose(notice).text
    assert "\u200b" not in text
    assert text.count("⟨U+200B⟩") == 3
    assert "\n> https://evil.example/decide" in text
    assert "\nYou have decided." not in text


def test_a_long_reason_is_cut_in_a_mail(contract, carla):
    text = compose(a_notice(contract, carla, reason="x" * (REASON_MAX + 5))).text
    assert "x" * REASON_MAX + " …" in text
    assert "x" * (REASON_MAX + 1) not in text


def test_a_mail_is_in_the_language_of_its_reader(contract, carla):
    plain = compose(a_notice(contract, carla, Told.SENT_BACK))
    Reader.objects.create(person=carla, language="zh-hans")
    notice = Notice.objects.of(carla).select_related("person__reader").first()
    with translation.override("zh-hans"):
        expected = translation.gettext(Told.SENT_BACK.label)
    assert compose(notice).subject.startswith(expected)
    assert not plain.subject.startswith(expected)
    carla.reader.language = "tlh"
    notice.person = carla
    assert compose(notice).subject == plain.subject


@pytest.mark.parametrize("value", [None, "", "soon", "2030-13-45T00:00:00Z"])
def test_a_time_that_is_none_is_left_out(contract, carla, value):
    notice = a_notice(contract, carla, until=value)
    assert until(notice) is None
    assert "Time left until" not in compose(notice).text


def test_the_link_leads_to_the_item_and_to_the_contract_where_no_address_can_name_it(contract, carla):
    notice = a_notice(contract, carla)
    assert reverse("contracts:approval", args=[contract.task_id, "A-1"]) in compose(notice).text
    notice.item_id = "a/b\n?"
    with pytest.raises(NoReverseMatch):
        reverse("contracts:approval", args=[contract.task_id, notice.item_id])
    assert f"/contracts/{contract.task_id}/\n" in compose(notice).text


@pytest.mark.parametrize("email", ["", "carla@example.org", "  carla@example.org "])
def test_an_address_or_none_is_taken(email):
    form = MailAddressForm({"email": email})
    assert form.is_valid()
    assert form.cleaned_data["email"] == email.strip()


@pytest.mark.parametrize(
    "email",
    ["carla", "carla@", "a@b@c.org", "a@example.org, b@example.org", "a@example.org\nBcc: b@example.org",
     "Carla <a@example.org>", f"{'x' * 250}@example.org"],
)  # fmt: skip
def test_what_is_no_address_is_refused(email):
    assert list(MailAddressForm({"email": email}).errors) == ["email"]
