"""Whom a contract is shared with, and for what."""

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from contracts.forms.words import said
from contracts.rules.refusals import FIELDS
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Right


class ShareForm(forms.Form):
    """One person by login name, and exactly the rights this person shall hold."""

    use_required_attribute = False
    username = forms.CharField(
        label=_("Login name"),
        max_length=150,
        help_text=_("The name the person logs in with."),
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )
    rights = forms.MultipleChoiceField(
        label=_("Rights"),
        help_text=_("Seeing the contract comes with every other right."),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one right, or remove the person from the list.")},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(right.value, gettext(right.label)) for right in Right]
        self.fields["rights"].choices = choices  # type: ignore[attr-defined]

    def add_refusal(self, verdict: Verdict) -> None:
        """Show a refusal of the gate at the field it belongs to."""
        self.add_error("username" if FIELDS.get(verdict.code) == "person" else None, said(verdict))


class UnshareForm(forms.Form):
    """One person who shall hold no rights of their own any more."""

    username = forms.CharField(max_length=150, widget=forms.HiddenInput)
