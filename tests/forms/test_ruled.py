import pytest
from django.core.exceptions import ValidationError

from contracts.forms.life import REASON, ReasonForm
from contracts.forms.ruled import RuledField, TaskIdField


@pytest.mark.parametrize(
    ("value", "code"),
    [("", "missing"), ("\n ", "missing"), ("x" * 4_001, "too_long"), ("a\x00", "control_character")],
)
def test_a_field_refuses_with_the_code_of_the_rule(value, code):
    with pytest.raises(ValidationError) as refused:
        RuledField(REASON).clean(value)
    assert refused.value.code == code


def test_a_reason_keeps_its_lines():
    form = ReasonForm({"reason": "one\r\ntwo"})
    assert form.is_valid()
    assert form.cleaned_data == {"reason": "one\ntwo"}


def test_a_task_id_loses_only_its_outer_spaces():
    assert TaskIdField().clean(" photo-1 ") == "photo-1"
    assert TaskIdField(required=False).clean("  ") == ""


@pytest.mark.parametrize(
    ("value", "code"), [("", "missing"), ("a/b", "bad_pattern"), ("a" * 121, "too_long")]
)
def test_a_bad_task_id_is_refused(value, code):
    with pytest.raises(ValidationError) as refused:
        TaskIdField().clean(value)
    assert refused.value.code == code
