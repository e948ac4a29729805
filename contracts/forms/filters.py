"""Filters of the lists. They stand in the address; what cannot be understood filters nothing and says so."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from contracts.models import Team
from contracts.rules.states import ContractState

EXPIRED, ARCHIVED = "expired", "archived"  # not stored as states: by the deadline, and by the shelf
SORTS = {
    "": _("Last revised"),
    "deadline": _("Deadline"),
    "title": _("Title"),
    "state": _("State"),
}


class Filters(forms.Form):
    """A form whose fields are read even where others are wrong."""

    use_required_attribute = False

    def understood(self) -> dict[str, Any]:
        """Return the values of the fields that could be read; empty ones are left out."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}


class ListFilters(Filters):
    """What narrows and orders the list of contracts."""

    q = forms.CharField(
        label=_("Search"),
        required=False,
        max_length=200,
        widget=forms.TextInput(
            attrs={"type": "search", "data-search": "", "autocomplete": "off", "spellcheck": "false"}
        ),
    )
    state = forms.ChoiceField(label=_("State"), required=False)
    team = forms.ChoiceField(label=_("Team"), required=False)
    sort = forms.ChoiceField(label=_("Order"), required=False, choices=list(SORTS.items()))
    mine = forms.BooleanField(label=_("Needs me"), required=False)

    def __init__(self, *args: Any, teams: Iterable[Team], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        states = {state.value: gettext(state.label) for state in ContractState}
        states |= {EXPIRED: gettext("Expired"), ARCHIVED: gettext("Archived")}
        set_choices(self.fields["state"], states)
        set_choices(self.fields["team"], {team.slug: team.name for team in teams})


class EventFilters(Filters):
    """What narrows the list of events."""

    actor = forms.CharField(
        label=_("Actor"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "data-search": ""}),
    )
    part = forms.ChoiceField(label=_("Part"), required=False)
    kind = forms.ChoiceField(label=_("What was done"), required=False)
    refused = forms.BooleanField(label=_("Refused only"), required=False)

    def __init__(self, *args: Any, parts: Mapping[str, str], kinds: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self.fields["part"], parts)
        set_choices(self.fields["kind"], kinds)


def set_choices(field: forms.Field, words: Mapping[str, str]) -> None:
    """Offer `words` (value → what is shown) and, first, no filter at all."""
    field.choices = [("", gettext("All")), *words.items()]  # type: ignore[attr-defined]
