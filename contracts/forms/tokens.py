"""Tokens of workers: whom one is for, what it reaches, how long it is good."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from contracts.forms.words import said
from contracts.models import Contract
from contracts.rules.tokens import LONGEST_DAYS
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import LINE_MAX


class IssueForm(forms.Form):
    """A new token for one worker; the contracts are those the person may give access to."""

    use_required_attribute = False
    worker = forms.CharField(
        label=_("Worker"),
        max_length=LINE_MAX,
        help_text=_("The name under which the worker's acts are recorded, such as “label-writer”."),
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )
    days = forms.IntegerField(
        label=_("Good for (days)"),
        min_value=1,
        max_value=LONGEST_DAYS,
        initial=1,
        help_text=_("At most seven; a token can be rotated while it is in use."),
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )
    contracts = forms.MultipleChoiceField(
        label=_("Contracts"),
        help_text=_("The worker sees these contracts and no others. It can never decide an approval."),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one contract.")},
    )

    def __init__(self, *args: Any, reachable: list[Contract], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(row.task_id, f"{row.task_id} · {row.title}") for row in reachable]
        self.fields["contracts"].choices = choices  # type: ignore[attr-defined]

    def add_refusal(self, verdict: Verdict) -> None:
        """Show a refusal of the gate at the field it belongs to."""
        for problem in verdict.problems:
            self.add_error(problem.field if problem.field in self.fields else None, said(problem))
        if not verdict.problems:
            self.add_error(None, said(verdict))


class TokenForm(forms.Form):
    """What is to be done with one token."""

    deed = forms.ChoiceField(choices=[("rotate", "rotate"), ("revoke", "revoke")])
    token_id = forms.CharField(max_length=20)
