"""The reason a person gives for an act that others will ask about."""

from typing import Any

from django import forms

from contracts.forms.ruled import RuledField
from contracts.rules.fields import Field, Kind
from contracts.rules.words import N_

REASON = Field(
    "reason",
    Kind.TEXT,
    N_("Reason"),
    N_("Everybody who may see the contract can read it, for good."),
    required=True,
)


class ReasonForm(forms.Form):
    """One reason."""

    use_required_attribute = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"] = RuledField(REASON, widget=forms.Textarea(attrs={"rows": 3}))


class NoReasonForm(forms.Form):
    """For acts that explain themselves."""
