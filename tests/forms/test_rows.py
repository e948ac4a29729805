from datetime import UTC, datetime
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from django.http import QueryDict
from django.utils import timezone

from contracts.forms.rows import RowForm
from contracts.rules.fields import Kind
from contracts.rules.parts import PARTS
from contracts.rules.rows import check_row
from contracts.rules.verdict import Problem
from tests.views.reading import filled_form, read

EMPTY = {name: {field.name: field.empty for field in part.fields} for name, part in PARTS.items()}
MOMENT = "2030-03-31T07:30:15.123456Z"


def facts(part, **values):
    return EMPTY[part] | values


def bound(part, standing=None, version=3, **typed):
    """Return the form of a row as a browser posts it, nothing touched but `typed`."""
    standing = standing or EMPTY[part]
    fresh = RowForm(part=PARTS[part], standing=standing, version=version, prefix="row")
    answer = SimpleNamespace(content=f"<form>{fresh.as_div()}</form>".encode())
    posted = QueryDict(mutable=True)
    posted.update(filled_form(read(answer).every("form")[0]))
    for name, value in typed.items():
        posted.pop(f"row-{name}", None)
        if value is not None:
            posted[f"row-{name}"] = value
    return RowForm(posted, part=PARTS[part], standing=standing, version=version, prefix="row")


def clean(form):
    assert form.is_valid(), form.errors
    return check_row(form.part, form.raw_values(), standing=form.standing).values


FULL = {
    "window": facts(
        "window",
        window="two_resumes",
        title="Two",
        setting="a\nb",
        counted=0,
        on_resuming="x",
        repeated=False,
        verdict="held",
        run_at=MOMENT,
        run_by="otto",
        evidence="s3://1",
    ),
    "identity": facts(
        "identity",
        title="T",
        purpose=" two \n lines ",
        state_schema_version=2,
        readable_schema_versions=[1, 2, 30],
        acceptance="worker",
        deadline=MOMENT,
    ),
    "tool": facts(
        "tool", tool="cms", effect="read_only", needs_approval=True, key_supported=True, key_memory_hours=1
    ),
    "policy": facts("policy", number=1, author_may_decide=True, second_factor=False),
    "limit": facts("limit", measure="cost", cap="12.5", currency="EUR"),
    "operation": facts(
        "operation",
        tool="t",
        step="s",
        target="cms:x",
        expected="y",
        parameters={"b": [1, {"ä": "展"}], "a": 1.5},
    ),
    "step": facts("step", kind="decision", key="k", attempt=1, state="done", result="a text", usage={}),
}


@pytest.mark.parametrize("part", FULL)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "Europe/Berlin"])
def test_a_row_saved_untouched_keeps_every_value_exactly(part, zone):
    with timezone.override(ZoneInfo(zone)):
        form = bound(part, FULL[part])
        values = clean(form)
        assert form.changed_names() == []
    wanted = check_row(
        PARTS[part], {f.name: FULL[part][f.name] for f in PARTS[part].given}, document=True
    ).values
    assert values == {name: wanted[name] for name in values}


@pytest.mark.parametrize(
    "value", [[], {}, "", 0, False, "true", "[1]", [[[[[[1, 2], [3]]]]]], 1.0, "a\r\nb", None]
)
def test_any_json_value_is_kept_untouched(value):
    values = clean(bound("step", FULL["step"] | {"result": value}))
    assert values["result"] == value
    assert type(values["result"]) is type(value)


def test_json_is_shown_indented_and_read_strictly():
    form = bound("operation", FULL["operation"])
    assert form.initial["parameters"].startswith('{\n  "b": [')
    assert bound("operation", FULL["operation"], parameters='{"a": 1, "a": 2}').errors.keys() == {
        "parameters"
    }
    assert bound("operation", FULL["operation"], parameters="[1]").errors.keys() == {"parameters"}
    assert clean(bound("operation", FULL["operation"], parameters='{"a": 2}'))["parameters"] == {"a": 2}


def test_json_nested_deep_is_kept_though_it_is_shown_much_longer():
    value = 1
    for _ in range(28):
        value = [value, 2]
    assert clean(bound("step", FULL["step"] | {"result": value}))["result"] == value


@pytest.mark.parametrize(
    ("zone", "typed", "moment"),
    [
        ("Asia/Shanghai", "2030-06-01T08:00:00", datetime(2030, 6, 1, 0, 0, tzinfo=UTC)),
        ("Asia/Shanghai", "2030-06-01T08:00", datetime(2030, 6, 1, 0, 0, tzinfo=UTC)),
        ("Europe/Berlin", "2030-06-01T08:00", datetime(2030, 6, 1, 6, 0, tzinfo=UTC)),
        ("Europe/Berlin", "2030-12-01T08:00", datetime(2030, 12, 1, 7, 0, tzinfo=UTC)),
        ("Asia/Shanghai", "2030-06-01T08:00Z", datetime(2030, 6, 1, 8, 0, tzinfo=UTC)),
        ("Asia/Shanghai", "2030-06-01T08:00+02:00", datetime(2030, 6, 1, 6, 0, tzinfo=UTC)),
        ("Asia/Shanghai", " 2030-06-01 08:00 ", datetime(2030, 6, 1, 0, 0, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_zone_is_in_the_zone_in_force(zone, typed, moment):
    with timezone.override(ZoneInfo(zone)):
        assert clean(bound("identity", FULL["identity"], deadline=typed))["deadline"] == moment


@pytest.mark.parametrize(
    "typed", ["tomorrow", "2030-13-01T00:00", "1", "9999-12-31T23:59", "0001-01-01T00:00", "٢٠٣٠"]
)
def test_what_is_no_time_is_refused_at_its_field(typed):
    assert bound("identity", FULL["identity"], deadline=typed).errors.keys() == {"deadline"}


def test_a_browser_that_leaves_out_the_seconds_changes_nothing():
    standing = FULL["identity"] | {"deadline": "2030-03-31T07:30:00.500000Z"}
    form = bound(
        "identity",
        standing,
        deadline=timezone.localtime(datetime(2030, 3, 31, 7, 30, tzinfo=UTC)).strftime("%Y-%m-%dT%H:%M"),
    )
    assert clean(form)["deadline"] == datetime(2030, 3, 31, 7, 30, 0, 500_000, UTC)
    assert form.changed_names() == []


@pytest.mark.parametrize(("typed", "value"), [("", None), ("true", True), ("false", False)])
def test_a_flag_without_a_default_has_three_answers(typed, value):
    assert clean(bound("window", FULL["window"], repeated=typed))["repeated"] is value


@pytest.mark.parametrize(("typed", "value"), [(None, False), ("on", True)])
def test_a_flag_with_a_default_is_a_box(typed, value):
    assert clean(bound("policy", FULL["policy"], second_factor=typed))["second_factor"] is value
    form = bound("policy", FULL["policy"], author_may_decide=typed)
    assert clean(form)["author_may_decide"] is value
    assert form.changed_names() == ([] if value else ["author_may_decide"])


@pytest.mark.parametrize(
    ("typed", "value"),
    [("", []), ("3", [3]), ("3, 1,2", [1, 2, 3]), ("1，2", [1, 2]), ("1, 2, 30", [1, 2, 30])],
)
def test_a_list_of_numbers_is_typed_with_commas(typed, value):
    assert (
        clean(bound("identity", FULL["identity"], readable_schema_versions=typed))["readable_schema_versions"]
        == value
    )


@pytest.mark.parametrize("typed", ["1,,2", "one", "1;2", "-1", "1,1", "0"])
def test_what_is_no_list_of_numbers_is_refused(typed):
    form = bound("identity", FULL["identity"], readable_schema_versions=typed)
    assert form.errors.keys() == {"readable_schema_versions"}


@pytest.mark.parametrize("name", [field.name for field in PARTS["identity"].given])
def test_a_nul_is_refused_in_every_field(name):
    assert name in bound("identity", FULL["identity"], **{name: "a\0b"}).errors


def test_what_the_person_saw_is_carried_along():
    form = bound("identity", FULL["identity"], title="New")
    clean(form)
    assert form.data["initial-row-title"] == "T"
    assert form.seen_version() == 3
    assert form.changed_names() == ["title"]


@pytest.mark.parametrize("version", ["", "0", None])
def test_without_a_version_the_row_counts_as_unseen(version):
    form = bound("identity", FULL["identity"], version=version)
    assert form.is_valid()
    assert form.seen_version() == 0


def row(part, version, **values):
    return SimpleNamespace(version=version, facts=lambda: FULL[part] | values)


def test_a_conflict_shows_yours_theirs_and_the_base():
    form = bound("identity", FULL["identity"], title="Mine", acceptance="person")
    clean(form)
    theirs = row("identity", 4, title="Theirs", workflow_name="labels")
    assert form.conflicts(theirs) == [
        {"label": "Title", "yours": "Mine", "theirs": "Theirs", "base": "T", "typed": True},
        {"label": "Workflow", "yours": "", "theirs": "labels", "base": "", "typed": False},
        {
            "label": "Who may accept an object",
            "yours": "A person",
            "theirs": "The worker is enough",
            "base": "The worker is enough",
            "typed": True,
        },
    ]


def test_a_rebased_form_overwrites_only_what_was_typed():
    form = bound("identity", FULL["identity"], title="Mine")
    clean(form)
    theirs = row("identity", 4, title="Theirs", workflow_name="labels")
    form.standing = theirs.facts()
    again = form.rebased(theirs)
    values = clean(again)
    assert (again.seen_version(), again.changed_names()) == (4, ["title"])
    assert (values["title"], values["workflow_name"], values["deadline"]) == (
        "Mine",
        "labels",
        datetime.fromisoformat(MOMENT),
    )


@pytest.mark.parametrize("theirs", [True, False])
def test_boxes_are_rebased_too(theirs):
    form = bound("policy", FULL["policy"], note="Mine")
    clean(form)
    again = form.rebased(row("policy", 4, second_factor=theirs))
    assert clean(again)["second_factor"] is theirs
    assert again.changed_names() == ["note"]


def test_a_problem_is_shown_where_it_belongs():
    form = bound("operation", FULL["operation"])
    assert form.is_valid()
    form.add_problem(Problem("parameters/a", "x", "Bad."), "parameters/a")
    form.add_problem(Problem("elsewhere", "x", "Worse."), "elsewhere")
    assert form.errors == {"parameters": ["/a: Bad."], "__all__": ["Worse."]}


@pytest.mark.parametrize("part", PARTS)
def test_a_form_holds_what_people_give_and_nothing_else(part):
    form = RowForm(part=PARTS[part])
    assert set(form.fields) == {"version"} | {field.name for field in PARTS[part].given}
    assert " required" not in str(form).replace("is required", "")


@pytest.mark.parametrize("part", ["identity", "window"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai"])
def test_every_time_names_the_zone_in_which_it_is_typed(part, zone):
    with timezone.override(ZoneInfo(zone)):
        form = RowForm(part=PARTS[part], standing=EMPTY[part])
    named = {name for name, field in form.fields.items() if field.help_text.endswith(f"Time zone: {zone}.")}
    times = {field.name for field in PARTS[part].given if field.kind is Kind.MOMENT}
    assert named == times != set()
