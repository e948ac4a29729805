"""Every field of every part: refused by its own name, taken from where it may come, and fit to be stored."""

import pytest
from django.db import models

from contracts.models import ROWS, Contract
from contracts.rules.document import LIFE, LISTS
from contracts.rules.fields import Kind
from contracts.rules.parts import PARTS, parts_of
from contracts.rules.rows import check_row, safe_name
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Section
from tests.rules.samples import BAD, SECRET, good

ALL = [*PARTS.values(), LIFE]
FIELDS = [pytest.param(part, field, id=f"{part.name}.{field.name}") for part in ALL for field in part.fields]
# What is computed from other facts where nobody gives it.
COMPUTED = {
    ("operation", "key"),
    ("operation", "fingerprint"),
    ("artefact", "sha256"),
    ("checkpoint", "sha256"),
    ("checkpoint", "size_bytes"),
    ("checkpoint", "generation"),
}


def required(part, **more):
    """Return the fewest raw values that `part` needs in a document."""
    return {field.name: good(field) for field in part.fields if field.required} | more


def codes(part, raw, name, **options):
    return [problem.code for problem in check_row(part, raw, **options).problems if problem.field == name]


@pytest.mark.parametrize(("part", "field"), FIELDS)
def test_every_field_refuses_its_bad_values_under_its_own_name(part, field):
    for raw, code in BAD[field.kind]:
        problems = check_row(part, required(part, **{field.name: raw}), document=True).problems
        tighter = {"too_long", "too_large"} if field.limit else set()
        assert [problem.field for problem in problems] == [field.name]
        assert problems[0].code in {code} | tighter
        assert SECRET not in repr(problems)


@pytest.mark.parametrize(("part", "field"), FIELDS)
def test_every_text_ends_at_its_limit_and_every_number_at_its_bounds(part, field):
    if field.kind in (Kind.ID, Kind.LINE, Kind.TEXT, Kind.LOCATION):
        fits = "a" * field.max_chars
        assert codes(part, required(part, **{field.name: fits}), field.name, document=True) in (
            [],
            ["bad_currency"],
        )
        assert codes(part, required(part, **{field.name: fits + "a"}), field.name, document=True) == [
            "too_long"
        ]
    if field.kind is Kind.WHOLE:
        for value in (field.low - 1, field.high + 1):
            assert codes(part, required(part, **{field.name: value}), field.name, document=True) == [
                "out_of_range"
            ]
        for value in (field.low, field.high):
            assert "out_of_range" not in codes(part, {field.name: value}, field.name, document=True)


@pytest.mark.parametrize(("part", "field"), FIELDS)
def test_a_required_field_that_is_missing_is_named(part, field):
    for options in ({"document": True}, {}):
        if not options and field.server:
            continue
        expected = ["missing"] if field.required else []
        for raw in ({}, {field.name: None}, {field.name: ""}):
            if raw.get(field.name) == "" and field.kind is Kind.JSON and options:
                continue  # in a document an empty text is a JSON value
            found = codes(part, raw, field.name, **options)
            assert found == expected


@pytest.mark.parametrize(("part", "field"), FIELDS)
def test_what_the_workbench_sets_is_taken_from_documents_alone(part, field):
    raw = {field.name: good(field)}
    assert "unknown_field" not in codes(part, raw, field.name, document=True)
    assert ("unknown_field" in codes(part, raw, field.name)) is field.server


@pytest.mark.parametrize("part", ALL, ids=lambda part: part.name)
@pytest.mark.parametrize("document", [True, False])
def test_a_field_that_the_part_does_not_have_is_refused_by_name(part, document):
    for name in ("id", "contract", "version", "Title", "", "a/b~c"):
        assert codes(part, {name: "x"}, name, document=document) == ["unknown_field"]


def test_a_name_from_outside_is_shown_without_its_secret():
    problems = check_row(PARTS["source"], {SECRET: 1, "a\ud800\u202e": 2, "x" * 100_000: 3}).problems
    names = [problem.field for problem in problems if problem.code == "unknown_field"]
    assert names == ["…", "a??", "x" * 60 + "…"]
    assert SECRET not in repr(problems)
    assert safe_name("a/b~c") == "a/b~c"


@pytest.mark.parametrize("part", ALL, ids=lambda part: part.name)
def test_a_part_names_each_field_once_and_every_choice_has_words(part):
    names = [field.name for field in part.fields]
    assert len(set(names)) == len(names)
    assert all((field.kind is Kind.CHOICE) == (field.words is not None) for field in part.fields)
    assert [field.name for field in part.given] == [field.name for field in part.fields if not field.server]
    assert all(part.field(name).name == name for name in names)
    with pytest.raises(KeyError):
        part.field("nothing")


@pytest.mark.parametrize("part", ALL, ids=lambda part: part.name)
def test_a_default_is_a_value_that_the_field_itself_takes(part):
    for field in part.fields:
        if field.default is not None:
            assert (
                check_row(part, {field.name: field.default}, document=True).values[field.name]
                == field.default
            )


def test_parts_lie_in_the_sections_and_are_open_where_they_should_be():
    assert {part.name for section in Section for part in parts_of(section)} == set(PARTS)
    assert parts_of("nowhere") == ()
    assert set(LISTS.values()) | {"identity", "gate"} == set(PARTS)
    for part in PARTS.values():
        assert part.mendable_in <= part.open_in or part.name == "window"  # results come after draft
        assert ContractState.CANCELLED not in part.open_in
        assert not part.plan or part.open_in == {ContractState.DRAFT}
    assert PARTS["checkpoint"].mendable_in == {ContractState.DRAFT}
    assert (
        PARTS["source"].mendable_in == PARTS["source"].open_in == {ContractState.DRAFT, ContractState.PAUSED}
    )


def columns():
    """Yield each field that has a column of its own, with the column."""
    for part in ALL:
        model = ROWS.get(part.name, Contract)
        paths = Contract.LIFE if part is LIFE else model.FACTS
        assert set(paths) == {field.name for field in part.fields}
        for field in part.fields:
            if "__" not in paths[field.name]:
                column = model._meta.get_field(paths[field.name])
                yield pytest.param(part, field, column, id=f"{part.name}.{field.name}")


@pytest.mark.parametrize(("part", "field", "column"), list(columns()))
def test_every_value_that_a_field_takes_fits_its_column(part, field, column):
    if isinstance(column, models.CharField) and field.kind is not Kind.CHOICE:
        assert field.max_chars <= column.max_length
    if field.kind is Kind.CHOICE:
        assert max(len(word.value) for word in field.words) <= column.max_length
    if field.kind is Kind.WHOLE:
        high = {
            "PositiveSmallIntegerField": 2**15 - 1,
            "PositiveIntegerField": 2**31 - 1,
            "IntegerField": 2**31 - 1,
            "PositiveBigIntegerField": 2**63 - 1,
            "BigIntegerField": 2**63 - 1,
        }[column.get_internal_type()]
        assert 0 <= field.low <= field.high <= high
    if not column.null and (part.name, field.name) not in COMPUTED:
        assert field.required or field.empty is not None
