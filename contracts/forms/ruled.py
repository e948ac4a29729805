"""Form fields that ask the rules, so that a page refuses what an import and the API refuse, in the same words."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from contracts.forms.words import said
from contracts.rules.fields import Field, Refused, check_field
from contracts.rules.text import check_task_id
from contracts.rules.vocabulary import TASK_ID_MAX


class RuledField(forms.CharField):
    """One field of the rules as a form field; its value is the clean one of `check_field`."""

    def __init__(self, rule: Field, **options: Any) -> None:
        self.rule = rule
        options.setdefault("label", gettext(rule.label))
        options.setdefault("help_text", gettext(rule.hint) if rule.hint else "")
        super().__init__(required=rule.required, strip=False, **options)

    def clean(self, value: Any) -> Any:
        """Return the clean value, or refuse in the words of the rule."""
        try:
            return check_field(self.rule, value or "")
        except Refused as refused:
            raise ValidationError(said(refused.problem), code=refused.problem.code) from None


class TaskIdField(forms.CharField):
    """The id of a task; where it is not required, an empty one stays empty."""

    def clean(self, value: Any) -> str:
        """Return the id without outer spaces, or refuse in the words of the rule."""
        text = str(value or "").strip()
        if not text and not self.required:
            return ""
        if problem := check_task_id("task_id", text):
            raise ValidationError(said(problem), code=problem.code)
        return text

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        """Tell the browser that an id is neither corrected nor remembered."""
        attributes = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        return {**super().widget_attrs(widget), **attributes, "maxlength": str(TASK_ID_MAX)}
