"""What a person says of a write nobody knows the result of: what the target answered, or what was decided."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from contracts.forms.life import REASON
from contracts.forms.ruled import RuledField
from contracts.forms.words import said
from contracts.rules.fields import Field
from contracts.rules.ledger import ASKED, DECIDED, Decided
from contracts.rules.repeating import Answer
from contracts.rules.verdict import Verdict

ANSWERS = [
    (Answer.FOUND.value, _("Found: the target has it")),
    (Answer.ABSENT.value, _("Not found: the target does not have it")),
    (Answer.UNCLEAR.value, _("The target cannot tell")),
]
DECISIONS = [
    (Decided.CONFIRMED.value, _("It happened: it is never sent again")),
    (Decided.REJECTED.value, _("It did not happen, and this call is not sent again")),
]
CHOOSE = _("Choose what it was.")


class MomentField(RuledField):
    """A moment; one that is typed without a zone is meant in the zone in force."""

    def __init__(self, rule: Field, **options: Any) -> None:
        widget = forms.DateTimeInput(
            attrs={"type": "datetime-local", "step": "1"}, format="%Y-%m-%dT%H:%M:%S"
        )
        super().__init__(rule, widget=widget, **options)
        zone = gettext("Time zone: %(zone)s.") % {"zone": timezone.get_current_timezone_name()}
        self.help_text = f"{self.help_text} {zone}".strip()

    def clean(self, value: Any) -> Any:
        """Return the moment, None if nothing was given, or refuse in the words of the rule."""
        try:
            moment = datetime.fromisoformat((value or "").strip())
        except ValueError:
            return super().clean(value)  # left for the rules to judge
        return super().clean((moment if moment.tzinfo else timezone.make_aware(moment)).isoformat())


class SaidForm(forms.Form):
    """A form that shows a refusal of the gate at the fields it is about, else on top."""

    use_required_attribute = False
    ids = "id_%s"  # forms that stand on one page need ids of their own

    def __init__(self, posted: Any = None, *, initial: dict[str, Any] | None = None) -> None:
        super().__init__(posted, auto_id=self.ids, initial=initial)

    def add_refusal(self, verdict: Verdict) -> None:
        """Show why the gate refused what was posted."""
        for problem in verdict.problems:
            self.add_error(problem.field if problem.field in self.fields else None, said(problem))
        if not verdict.problems:
            self.add_error(None, said(verdict))


class ReconcileForm(SaidForm):
    """How the target was asked, and what it answered."""

    ids = "reconcile_%s"
    answer = forms.ChoiceField(
        label=_("What the target answered"),
        choices=ANSWERS,
        widget=forms.RadioSelect,
        error_messages={"required": CHOOSE, "invalid_choice": CHOOSE},
    )
    certify_dead = forms.BooleanField(
        label=_("I certify that the process which sent it is dead and can send nothing more"),
        required=False,
    )

    def __init__(self, posted: Any = None, *, path: str = "", certify_hint: str = "") -> None:
        super().__init__(posted, initial={"path": path})
        line = {"autocomplete": "off", "spellcheck": "false"}
        self.fields["path"] = RuledField(
            ASKED.field("path"),
            label=gettext("Where you asked"),
            help_text=gettext("The address in the target at which you looked."),
            widget=forms.TextInput(attrs=line),
        )
        # Who leaves it empty asked just now.
        self.fields["asked_at"] = MomentField(
            replace(ASKED.field("asked_at"), required=False),
            label=gettext("When you asked"),
            help_text=gettext("Leave it empty if you asked just now."),
        )
        self.fields["reference"] = RuledField(
            ASKED.field("reference"),
            label=gettext("What the target calls it"),
            help_text=gettext(
                "The address or number of the page or record, without spaces, if you found it."
            ),
            widget=forms.TextInput(attrs=line),
        )
        self.fields["count"] = RuledField(
            ASKED.field("count"),
            label=gettext("How many of it the target holds"),
            help_text=gettext("One, if all went well."),
            widget=forms.TextInput(attrs={**line, "inputmode": "numeric"}),
        )
        self.fields["note"] = RuledField(ASKED.field("note"), widget=forms.Textarea(attrs={"rows": 2}))
        self.fields["certify_dead"].help_text = certify_hint
        self.order_fields(["answer", "path", "asked_at", "reference", "count", "note", "certify_dead"])


class SettleForm(SaidForm):
    """What the named person decides where nobody can know."""

    ids = "settle_%s"
    decision = forms.ChoiceField(
        label=_("What you decide"),
        choices=DECISIONS,
        widget=forms.RadioSelect,
        error_messages={"required": CHOOSE, "invalid_choice": CHOOSE},
    )

    def __init__(self, posted: Any = None) -> None:
        super().__init__(posted)
        self.fields["evidence"] = RuledField(
            DECIDED.field("evidence"),
            help_text=gettext("A controlled location where the proof lies, not the proof itself."),
            widget=forms.TextInput(attrs={"autocomplete": "off"}),
        )
        self.fields["reason"] = RuledField(DECIDED.field("reason"), widget=forms.Textarea(attrs={"rows": 3}))


class EscalateForm(SaidForm):
    """Why the write is handed to the named person."""

    ids = "escalate_%s"

    def __init__(self, posted: Any = None) -> None:
        super().__init__(posted)
        self.fields["reason"] = RuledField(REASON, widget=forms.Textarea(attrs={"rows": 3}))
