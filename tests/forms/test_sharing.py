from contracts.forms.sharing import ShareForm
from contracts.rules.refusals import refusal
from contracts.rules.vocabulary import Right


def test_a_right_nobody_knows_is_refused():
    assert list(ShareForm({"username": "a", "rights": ["superuser"]}).errors) == ["rights"]


def test_each_right_is_offered():
    assert [value for value, _ in ShareForm().fields["rights"].choices] == [right.value for right in Right]


def test_a_refusal_about_the_person_stands_at_the_name():
    form = ShareForm({"username": "a", "rights": [Right.VIEW.value]})
    assert form.is_valid()
    form.add_refusal(refusal("no_such_person"))
    assert list(form.errors) == ["username"]


def test_any_other_refusal_stands_on_top():
    form = ShareForm({"username": "a", "rights": [Right.VIEW.value]})
    assert form.is_valid()
    form.add_refusal(refusal("contract_gone"))
    assert list(form.errors) == ["__all__"]
