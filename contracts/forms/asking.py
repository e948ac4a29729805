"""Asking for a decision on one call, and taking the question back."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext

from contracts.forms.ruled import RuledField
from contracts.forms.words import said
from contracts.rules.fields import Field, Kind
from contracts.rules.parts.records import APPROVAL, OPERATION
from contracts.rules.refusals import refusal
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import EXPIRY_MAX_HOURS
from contracts.rules.words import N_

HOURS = Field("hours", Kind.WHOLE, N_("It waits for (hours)"), low=1, high=EXPIRY_MAX_HOURS)
# What the gate calls a field → what the form calls it.
NAMES = {"operation_key": "operation", "draft_id": "draft"}
Choices = Sequence[tuple[str, str]]


class AskForm(forms.Form):
    """Which call, with which draft, why, and how long the question waits.

    `shown` names the call and the draft that stood on the page when it was sent.
    """

    use_required_attribute = False
    shown = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, *args: Any, operations: Choices, drafts: Choices, hours_hint: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["operation"] = _choice(
            gettext("Operation"),
            operations if len(operations) == 1 else [("", "—"), *operations],
            required=gettext("Choose the operation that a decision is asked for."),
            wrong=said(refusal("operation_not_pending")),
        )
        self.fields["draft"] = _choice(
            gettext("Draft"),
            [("", gettext("no draft")), *drafts],
            wrong=said(refusal("unknown_reference")),
            hint=gettext("The text that the call publishes, in its current version."),
        )
        self.fields["reason"] = RuledField(
            APPROVAL.field("reason"),
            widget=forms.Textarea(attrs={"rows": 3}),
            help_text=gettext("What whoever decides should know: why this, and why now."),
        )
        self.fields["hours"] = RuledField(
            HOURS,
            widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
            help_text=hours_hint,
        )
        self.fields["preview"] = RuledField(
            APPROVAL.field("preview"),
            widget=forms.Textarea(attrs={"rows": 5}),
            help_text=gettext(
                "Only needed where the draft is not kept here as text: what would be published."
            ),
        )

    def add_refusal(self, verdict: Verdict) -> None:
        """Show a refusal of the gate at the fields it is about, else on top."""
        for problem in verdict.problems:
            name = NAMES.get(problem.field, problem.field)
            self.add_error(name if name in self.fields else None, said(problem))
        if not verdict.problems:
            self.add_error(None, said(verdict))


class RoundForm(forms.Form):
    """The parameters of the next round, as JSON."""

    use_required_attribute = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        widget = forms.Textarea(attrs={"rows": 10, "class": "paste", "spellcheck": "false"})
        self.fields["parameters"] = RuledField(OPERATION.field("parameters"), widget=widget)

    def add_refusal(self, verdict: Verdict) -> None:
        """Show a refusal of the gate at the parameters where it is about them, else on top."""
        for problem in verdict.problems:
            name, _, rest = problem.field.partition("/")
            words = f"/{rest}: {said(problem)}" if rest else said(problem)
            self.add_error(name if name in self.fields else None, words)
        if not verdict.problems:
            self.add_error(None, said(verdict))

    def read(self) -> Any:
        """Return the parameters that stand in the form as far as they can be read, else None."""
        return self.cleaned_data.get("parameters") if self.is_valid() else None


def _choice(
    label: str, choices: Choices, *, wrong: str, required: str = "", hint: str = ""
) -> forms.ChoiceField:
    messages: Mapping[str, str] = {"required": required, "invalid_choice": wrong}
    return forms.ChoiceField(
        label=label, choices=choices, required=bool(required), help_text=hint, error_messages=dict(messages)
    )
