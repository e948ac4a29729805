"""What an operator says when steering a contract that is at work or paused."""

import secrets
from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from contracts.forms.life import REASON
from contracts.forms.reconciling import SaidForm
from contracts.forms.ruled import RuledField
from contracts.rules.fields import Field, Kind
from contracts.rules.words import N_

CAP = Field(
    "cap", Kind.AMOUNT, N_("New cap"), N_("More than the present one; a cap only rises."), required=True
)
REQUEST_KEY = Field("request_key", Kind.ID, N_("Request"), required=True, limit=80)
Choices = Sequence[tuple[str, str]]


class OperateForm(SaidForm):
    """The reason of an operator's act, and the generation that was shown: nobody else is meant."""

    generation = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def __init__(self, posted: Any = None, *, initial: dict[str, Any] | None = None) -> None:
        super().__init__(posted, initial=initial)
        self.fields["reason"] = RuledField(REASON, widget=forms.Textarea(attrs={"rows": 3}))


class RollBackForm(OperateForm):
    """To which checkpoint, and why; the request key makes the same form count once."""

    def __init__(
        self, posted: Any = None, *, checkpoints: Choices, initial: dict[str, Any] | None = None
    ) -> None:
        kept = {name: value for name, value in (initial or {}).items() if value}
        super().__init__(posted, initial={"request_key": secrets.token_hex(12), **kept})
        self.fields["checkpoint_id"] = _choice(_("Back to"), checkpoints, _("Choose a checkpoint."))
        self.fields["request_key"] = RuledField(REQUEST_KEY, widget=forms.HiddenInput)
        self.order_fields(["checkpoint_id", "reason", "request_key"])


class RaiseCapForm(OperateForm):
    """Which limit, to what, and why."""

    def __init__(self, posted: Any = None, *, measures: Choices, chosen: str = "") -> None:
        super().__init__(posted, initial={"measure": chosen})
        del self.fields["generation"]  # a cap belongs to the task, whoever holds it
        self.fields["measure"] = _choice(_("Limit"), measures, _("Choose a limit."))
        number = {"inputmode": "decimal", "autocomplete": "off"}
        self.fields["cap"] = RuledField(CAP, widget=forms.TextInput(attrs=number))
        self.order_fields(["measure", "cap", "reason"])


def _choice(label: Any, choices: Choices, wrong: Any) -> forms.ChoiceField:
    return forms.ChoiceField(
        label=label,
        choices=[("", gettext("Choose…")), *choices],
        error_messages={"required": wrong, "invalid_choice": wrong},
    )
