"""A notice in words, for the page and for the mail, and the forms for what is mailed to oneself, and where."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.translation import gettext, override, pgettext
from django.utils.translation import gettext_lazy as _

from contracts.forms.words import said
from contracts.models import Notice
from contracts.models.people import knowing_names
from contracts.rules.notices import TOLD_SENTENCES, Told
from contracts.rules.text import visible_plain

REASON_MAX = 2_000  # characters of a reason in a mail; the page shows the whole
SUBJECT_MAX = 150
# Shown for what an older workbench has not stored, so that the rest of the sentence can still be read.
UNSAID = dict.fromkeys(("call", "title", "person", "reason", "until", "member", "version"), "—")


@dataclass(frozen=True, slots=True)
class Telling:
    """The sentence of a notice and what fills it, as `said` wants them."""

    sentence: str
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail about one notice: one line, and plain text."""

    subject: str
    text: str


def told(notice: Notice, sentence: str = "", **values: str) -> str:
    """Return the sentence of a notice, or another with `values` of its own, in the language that is active."""
    return said(Telling(sentence or TOLD_SENTENCES[Told(notice.kind)], UNSAID | _texts(notice) | values))


def until(notice: Notice) -> datetime | None:
    """Return when the time of the item runs out, if the notice says so."""
    try:
        return parse_datetime(_texts(notice).get("until", ""))
    except ValueError:
        return None


def reason(notice: Notice) -> str:
    """Return the reason somebody gave, if the notice has one."""
    return _texts(notice).get("reason", "")


def _texts(notice: Notice) -> dict[str, str]:
    return {name: str(value) for name, value in notice.words.items() if value is not None}


def compose(notice: Notice) -> Mail:
    """Return the mail that tells `notice` in the language of its reader.

    Text of people stands on lines of its own or behind ">", hidden characters as marks, so that it can be told from
    ours; nothing of it is longer than a screen.
    """
    with override(_language(notice.person)), knowing_names():
        names = {"title": notice.contract.title, "task_id": notice.contract.task_id}
        kind = gettext(Told(notice.kind).label)
        subject = one_line(gettext("%(kind)s: %(title)s (%(task_id)s)") % {"kind": kind, **names})
        return Mail(subject[:SUBJECT_MAX], "\n".join(_lines(notice, names)))


def _lines(notice: Notice, names: Mapping[str, str]) -> list[str]:
    lines = [one_line(told(notice)), "", one_line(gettext("Contract: %(title)s (%(task_id)s)") % names)]
    if moment := until(notice):
        words = date_format(timezone.localtime(moment), pgettext("date format", "j F Y, H:i T"))
        lines.append(gettext("Time left until: %(moment)s") % {"moment": words})
    if why := reason(notice).strip():
        cut = f"{why[:REASON_MAX]} …" if len(why) > REASON_MAX else why
        lines += ["", gettext("Reason:")]
        lines += [f"> {line}" for line in visible_plain(cut).split("\n")]
    return [
        *lines,
        "",
        settings.WORKBENCH_ADDRESS + address_of(notice),
        "",
        gettext("The link only shows the item. To decide, log in and use the buttons of its page."),
        gettext("What is mailed to you is settled here:"),
        settings.WORKBENCH_ADDRESS + reverse("contracts:mail_preferences"),
        "",
    ]


def address_of(notice: Notice) -> str:
    """Return the address of the page about whose item, or operation, the notice is."""
    task_id = notice.contract.task_id
    try:
        if key := _texts(notice).get("operation"):
            return reverse("contracts:operation", args=[task_id, key])
        return reverse("contracts:approval", args=[task_id, notice.item_id])
    except NoReverseMatch:  # an item from a document may have an id that no address can hold
        return reverse("contracts:overview", args=[task_id])


def one_line(text: str) -> str:
    """Return `text` on one line, hidden characters and other control characters as marks."""
    return " ".join(visible_plain(text).split())


def _language(person: Any) -> str:
    language = person.reader.language if hasattr(person, "reader") else ""
    return language if language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE


class MailAddressForm(forms.Form):
    """Where one's own notices are mailed to."""

    use_required_attribute = False
    email = forms.EmailField(
        label=_("Mail address"),
        required=False,
        max_length=254,
        help_text=_(
            "Each notice is mailed here once: what waits for you, what was decided and why, what became stale or ran "
            "out of time. Nothing can be decided by mail. Leave it empty to get no mails."
        ),
        error_messages={"invalid": _("This is not a mail address like name@example.org.")},
        widget=forms.EmailInput(attrs={"autocomplete": "email", "spellcheck": "false"}),
    )


# What asks something of its reader; every other kind tells what became of something.
ASKING = (Told.WAITING, Told.NEAR_EXPIRY, Told.PASSED_ON, Told.HANDED_OVER)
TELLING = tuple(kind for kind in Told if kind not in ASKING)


class MailKindsForm(forms.Form):
    """Which kinds of notice are mailed to oneself. Nothing ticked means that none is."""

    asking = forms.MultipleChoiceField(
        label=_("What waits for you"), required=False, widget=forms.CheckboxSelectMultiple
    )
    telling = forms.MultipleChoiceField(
        label=_("What became of a request"), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, kinds in (("asking", ASKING), ("telling", TELLING)):
            choices = [(kind.value, gettext(kind.label)) for kind in kinds]
            self.fields[name].choices = choices  # type: ignore[attr-defined]

    @property
    def wanted(self) -> list[Told]:
        """Return the kinds that were ticked; the form must be valid."""
        return [Told(kind) for name in ("asking", "telling") for kind in self.cleaned_data[name]]
