"""What a decision may hold: exactly these fields, each once. A post with anything else is no decision."""

import re
from dataclasses import dataclass

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from contracts.forms.life import REASON
from contracts.forms.ruled import RuledField
from contracts.forms.words import said
from contracts.rules.parts.records import ARTEFACT
from contracts.rules.refusals import refusal
from contracts.rules.verdict import Verdict

FIELDS = ("item", "seen", "decision", "reason", "key")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision as it was posted; nothing of it has been checked."""

    item: str
    seen: str
    decision: str
    reason: str
    key: str


def read_decision(request: HttpRequest) -> Decision | Verdict:
    """Return what was posted, or the refusal that names what does not belong to it or is missing."""
    posted = request.POST
    once = {name for name in posted if len(posted.getlist(name)) == 1}
    known = {*FIELDS, "csrfmiddlewaretoken"}
    strange = [*(set(posted) - (once & known)), *request.FILES, *request.GET]
    if strange:
        return refusal("unknown_fields", names=_names(strange))
    missing = [name for name in FIELDS if name not in posted]
    if missing:
        return refusal("missing_fields", names=_names(missing))
    return Decision(**{name: posted[name] for name in FIELDS})


def _names(names: list[str]) -> str:
    """Return the names as they may be shown: one that is no name could be anything, and is not repeated."""
    return ", ".join(sorted({name if NAME.fullmatch(name) else "…" for name in names}))


class CorrectionForm(forms.Form):
    """The draft as it should read, and why."""

    use_required_attribute = False
    seen = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        rule = ARTEFACT.field("inline_text")
        text = forms.Textarea(attrs={"rows": 12})
        self.fields["text"] = RuledField(
            rule, widget=text, label=_("The text as it should read"), help_text=""
        )
        why = _("Who asked and who wrote the draft read it.")
        self.fields["reason"] = RuledField(REASON, widget=forms.Textarea(attrs={"rows": 3}), help_text=why)

    def add_refusal(self, verdict: Verdict, place: str) -> None:
        """Show a refusal of the gate at the field it belongs to."""
        self.add_error(place if place in self.fields else None, said(verdict))
