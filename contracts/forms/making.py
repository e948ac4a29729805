"""How a new contract begins: blank, from an example, as a copy, or from a JSON file. One form for each."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from contracts.forms.ruled import RuledField, TaskIdField
from contracts.forms.words import said
from contracts.models import Contract, Team
from contracts.rules.parts import PARTS
from contracts.rules.refusals import FIELDS
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import IMPORT_MAX_BYTES, PASTE_MAX_BYTES

TASK_ID_HINT = _("Letters, digits, dots, underscores, colons and hyphens. It is never used for another task.")
MEBIBYTE = 1024 * 1024


class MakeForm(forms.Form):
    """What every new contract needs: a team and a task id. `digest` is that of the preview that was shown."""

    use_required_attribute = False
    team = forms.ChoiceField(label=_("Team"))
    task_id = TaskIdField(label=_("Task id"), help_text=TASK_ID_HINT)
    digest = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, teams: Sequence[Team], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["team"].choices = [(team.slug, team.name) for team in teams]  # type: ignore[attr-defined]

    def add_refusal(self, verdict: Verdict) -> None:
        """Show a refusal of the gate at the field it belongs to."""
        name = FIELDS.get(verdict.code)
        self.add_error(name if name in self.fields else None, said(verdict))


class BlankForm(MakeForm):
    """A contract of which only the title is known."""

    field_order = ("title", "task_id", "team")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["title"] = RuledField(PARTS["identity"].field("title"))
        self.order_fields(self.field_order)


class CaseForm(MakeForm):
    """One of the examples that come with the workbench."""

    case = forms.ChoiceField(label=_("Example"), widget=forms.RadioSelect)
    field_order = ("case", "task_id", "team")

    def __init__(self, *args: Any, cases: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["case"].choices = [*cases.items()]  # type: ignore[attr-defined]
        self.fields["case"].initial = next(iter(cases), None)


class CopyForm(MakeForm):
    """Another contract that the person may see; only what defines it is taken over."""

    source = TaskIdField(
        label=_("Task id of the contract to copy"),
        help_text=_("What defines it is taken over; attempts, operations, decisions and results are not."),
        widget=forms.TextInput(attrs={"list": "copyable"}),
    )
    field_order = ("source", "task_id", "team")

    def __init__(self, *args: Any, visible: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.visible = visible

    def clean_source(self) -> Contract:
        """Return the contract itself; one that may not be seen does not exist here."""
        found: Contract | None = self.visible.filter(task_id=self.cleaned_data["source"]).first()
        if found is None:
            raise ValidationError(gettext("You can see no contract with this task id."), code="unknown")
        return found


class ImportForm(MakeForm):
    """A document that was exported before, as a file or as pasted text."""

    file = forms.FileField(
        label=_("JSON file"), required=False, help_text=_("As exported here, up to 64 MiB.")
    )
    text = forms.CharField(
        label=_("Or the JSON itself"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"class": "paste", "rows": 8, "spellcheck": "false"}),
    )
    field_order = ("file", "text", "task_id", "team")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["task_id"].required = False
        self.fields["task_id"].help_text = _(
            "Empty keeps the id the document bears. Under another id, decisions that wait or stand become stale."
        )

    def clean(self) -> dict[str, Any]:
        """Add `content`: the bytes of the document."""
        values = super().clean() or {}
        file, text = values.get("file"), values.get("text") or ""
        if file is None and not text.strip() and "file" not in self.errors:
            self.add_error("file", gettext("Choose a file, or paste the document below."))
        if len(text.encode()) > PASTE_MAX_BYTES:
            limit = PASTE_MAX_BYTES // MEBIBYTE
            words = gettext("More than %(limit)d MiB cannot be pasted; choose a file instead.")
            self.add_error("text", words % {"limit": limit})
        if file is not None and file.size > IMPORT_MAX_BYTES:
            words = gettext("A file holds at most %(limit)d MiB.") % {"limit": IMPORT_MAX_BYTES // MEBIBYTE}
            self.add_error("file", words)
        elif file is not None:
            values["content"] = file.read()
        else:
            values["content"] = text.encode()
        return values
