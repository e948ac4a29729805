"""What is drilled: which worker, at what kind of target, in which windows, how often."""

from collections.abc import Collection, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from contracts.forms.words import said
from contracts.rules.drill_runs import OUT_OF_RANGE, REPEAT_MAX_ON_PAGE
from contracts.rules.drilling import Target
from contracts.rules.verdict import Verdict
from contracts.rules.windows import Window


class AdapterSelect(forms.Select):
    """A select in which workers whose parts are missing stand, but cannot be chosen."""

    lacking: Collection[str] = ()

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Disable the options of workers that cannot run here."""
        option = super().create_option(name, value, *args, **kwargs)
        if str(value) in self.lacking:
            option["attrs"]["disabled"] = True
        return option


class DrillForm(forms.Form):
    """One run. Its shape only: whether it may begin now, the gate decides."""

    adapter = forms.ChoiceField(label=_("Worker"), widget=AdapterSelect)
    target = forms.ChoiceField(
        label=_("How the target behaves"),
        help_text=_(
            "The target is a small content system of the drill's own; nothing of yours is written to."
        ),
    )
    repeat = forms.IntegerField(
        label=_("Repetitions of each window"),
        help_text=_("Up to 10 from here; longer runs are started with “manage.py drill --repeat”."),
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
        error_messages={"invalid": _("A whole number, such as 3.")},
    )
    windows = forms.MultipleChoiceField(
        label=_("Windows"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one window.")},
    )

    def __init__(
        self,
        posted: Any = None,
        *,
        adapters: Sequence[tuple[str, str]],
        lacking: Collection[str] = (),
        windows: Sequence[str] = (),
    ) -> None:
        every = [window.value for window in Window]
        chosen = [name for name in every if name in windows] or every
        first = next((name for name, _title in adapters if name not in lacking), "")
        start = {
            "adapter": first,
            "target": Target.CHECKS_GENERATION.value,
            "repeat": 1,
            "windows": chosen,
        }
        super().__init__(posted, initial=start)
        worker, target, which = self.fields["adapter"], self.fields["target"], self.fields["windows"]
        assert isinstance(worker, forms.ChoiceField)  # noqa: S101
        assert isinstance(target, forms.ChoiceField)  # noqa: S101
        assert isinstance(which, forms.MultipleChoiceField)  # noqa: S101
        worker.choices = list(adapters)
        worker.widget.lacking = lacking
        target.choices = [(one.value, gettext(one.label)) for one in Target]
        which.choices = [(one.value, gettext(one.label)) for one in Window]

    def clean_repeat(self) -> int:
        """Refuse in the words of the rule."""
        repeat = int(self.cleaned_data["repeat"])
        if not 1 <= repeat <= REPEAT_MAX_ON_PAGE:
            raise forms.ValidationError(
                gettext(OUT_OF_RANGE) % {"most": REPEAT_MAX_ON_PAGE}, code="out_of_range"
            )
        return repeat

    def add_refusal(self, verdict: Verdict) -> None:
        """Show a refusal of the gate at its fields, or above the form."""
        if not verdict.problems:
            self.add_error(None, said(verdict))
        for problem in verdict.problems:
            self.add_error(problem.field if problem.field in self.fields else None, said(problem))
