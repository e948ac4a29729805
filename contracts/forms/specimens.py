"""A form that is only looked at: every kind of field the pages have, for the page of the visual language."""

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from contracts.rules.vocabulary import Effect, Right


class SpecimenForm(forms.Form):
    """Nothing reads it. The labels are those of the pages."""

    use_required_attribute = False
    title = forms.CharField(
        label=_("Title"),
        initial=_("Label of the water jar in case 7"),
        help_text=_("A sentence below the field says what belongs there."),
    )
    deadline = forms.CharField(
        label=_("Deadline"), required=False, widget=forms.TextInput(attrs={"readonly": True})
    )
    effect = forms.ChoiceField(label=_("Effect"))
    purpose = forms.CharField(label=_("Purpose"), required=False, widget=forms.Textarea(attrs={"rows": 2}))
    needs_approval = forms.BooleanField(label=_("Needs a person's approval"), required=False, initial=True)
    rights = forms.MultipleChoiceField(
        label=_("Rights"), required=False, widget=forms.CheckboxSelectMultiple, initial=[Right.VIEW.value]
    )

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        for name, members in (("effect", Effect), ("rights", list(Right)[:3])):
            choices = [(member.value, gettext(member.label)) for member in members]
            self.fields[name].choices = choices  # type: ignore[attr-defined]
