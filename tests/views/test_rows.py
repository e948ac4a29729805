import pytest

from contracts.gates.lifecycle import leave_draft
from contracts.models import ROWS, JournalStep, WindowRow, WorkObject
from contracts.rules.parts import PARTS
from contracts.rules.windows import Window
from tests import builders, documents, people
from tests.gates.watching import events_of, snapshot
from tests.views.reading import by_id, check_accessible, filled_form, read, summary_targets
from tests.views.visiting import HTMX, address, visitor

pytestmark = pytest.mark.django_db
ADDABLE = [part.name for part in PARTS.values() if part.addable]
NAMES = {  # the field that heads the row, and what a second row must say differently
    "attempt": {"attempt_id": "A-2"},
    "checkpoint": {"checkpoint_id": "C-2"},
    "step": {"key": "draft-2"},
    "source": {"source_id": "P-2"},
    "artefact": {"artefact_id": "L-2"},
    "object": {"object_id": "O-2"},
    "tool": {"tool": "cms.read"},
    "operation": {"round": "2"},
    "usage": {"step": "again"},
    "window": {"window": "fire"},
}
CHANGED = {  # one field that may be changed in every row
    "attempt": ("note", "by hand"),
    "checkpoint": ("event_cursor", "e-9"),
    "step": ("key", "draft-9"),
    "source": ("note", "scan"),
    "artefact": ("author", "rita"),
    "object": ("note", "first"),
    "tool": ("named_person", "Head of labels"),
    "operation": ("expected", "one page only"),
    "usage": ("note", "by hand"),
    "window": ("title", "Dark"),
}
WRONG = {
    "attempt": ("started_at", "tomorrow"),
    "checkpoint": ("schema_version", "-1"),
    "step": ("result", "{"),
    "source": ("sha256", "abc"),
    "artefact": ("accepted_by", "carla"),
    "object": ("source", "P-99"),
    "tool": ("effect", "none"),
    "operation": ("parameters", "[1]"),
    "usage": ("amount", "-1"),
    "window": ("verdict", "held"),
}


@pytest.fixture
def team():
    return builders.a_team()


@pytest.fixture
def draft(team):
    return builders.a_draft(team)


@pytest.fixture
def rita(team):
    return visitor(people.reviewer(team))


def given(part, **values):
    """Return the example row of `part` as its form is posted."""
    return {f"{part}-new-{name}": value for name, value in (builders.EXAMPLES[part] | values).items()}


def ready(contract, part):
    """Store the rows that a row of `part` refers to."""
    for needed in builders.NEEDS.get(part, ()):
        builders.a_row(contract, needed)


def at(name, contract, part, row=None):
    return address(name, contract.task_id, part, *([row.pk] if row else []))


def edit_form(client, contract, part, row, **values):
    """Return what the edit form of `row` posts, changed by `values`."""
    (form,) = list(read(client.get(at("row_edit", contract, part, row), headers=HTMX)).every("form"))
    return filled_form(form) | {f"{part}-{row.pk}-{name}": value for name, value in values.items()}


# Adding


@pytest.mark.parametrize("part", ADDABLE)
@pytest.mark.parametrize("htmx", [False, True])
def test_a_row_is_added(draft, rita, part, htmx):
    ready(draft, part)
    count = ROWS[part].objects.of(draft.pk).count()
    answer = rita.post(at("row_add", draft, part), given(part), headers=HTMX if htmx else {})
    assert ROWS[part].objects.of(draft.pk).count() == count + 1
    row = ROWS[part].objects.of(draft.pk).order_by("-pk")[0]
    assert (events_of(draft)[-1].act, events_of(draft)[-1].part) == ("add", part)
    if htmx:
        assert answer.status_code == 200
        root = read(answer)
        check_accessible(root, part=True)
        assert root.children[0]["id"] == f"part-{part}"
        assert f"{part}-{row.pk}" in by_id(root)
        assert by_id(root)["status"]["hx-swap-oob"] == "true"
    else:
        assert answer.status_code == 302
        assert answer["Location"].endswith(f"#{part}-{row.pk}")
        assert f"{part}-{row.pk}" in by_id(read(rita.get(answer["Location"])))


@pytest.mark.parametrize("part", ADDABLE)
def test_the_form_for_a_new_row_is_sound(draft, rita, part):
    root = read(rita.get(at("row_add", draft, part)))
    check_accessible(root)
    assert root.every("title")[0].words.startswith(PARTS[part].one)
    inside = read(rita.get(at("row_add", draft, part), headers=HTMX))
    check_accessible(inside, part=True)
    assert [one["id"] for one in inside.children] == [f"add-{part}"]


@pytest.mark.parametrize("part", ADDABLE)
@pytest.mark.parametrize("htmx", [False, True])
def test_a_wrong_row_comes_back_with_all_that_was_typed(draft, rita, part, htmx):
    ready(draft, part)
    name, bad = WRONG[part]
    before = snapshot(draft)
    answer = rita.post(at("row_add", draft, part), given(part, **{name: bad}), headers=HTMX if htmx else {})
    assert answer.status_code == 422
    root = read(answer)
    check_accessible(root, part=htmx)
    assert summary_targets(root)
    shown = filled_form(next(one for one in root.every("form") if one["class"] == "form"))
    for field, value in (builders.EXAMPLES[part] | {name: bad}).items():
        if field != "effect":
            assert shown[f"{part}-new-{field}"] == value
    if htmx:
        assert answer["HX-Retarget"] == f"#add-{part}"
        assert [one["id"] for one in root.children] == [f"add-{part}"]
    else:
        assert root.every("title")[0].words.startswith("Error:")
    assert snapshot(draft) == before


@pytest.mark.parametrize("part", ADDABLE)
def test_an_empty_post_names_what_is_needed(draft, rita, part):
    answer = rita.post(at("row_add", draft, part), {})
    assert answer.status_code == 422
    required = {field.name for field in PARTS[part].given if field.required}
    assert {f"id_{part}-new-{name}" for name in required} <= set(summary_targets(read(answer)))


def test_what_stands_already_is_refused_at_its_field(draft, rita):
    builders.a_row(draft, "object")
    for headers in ({}, HTMX):
        answer = rita.post(at("row_add", draft, "object"), given("object"), headers=headers)
        assert answer.status_code == 422
        assert summary_targets(read(answer)) == ["id_object-new-object_id"]
    assert WorkObject.objects.of(draft.pk).count() == 1


def test_a_new_row_is_shown_on_the_last_page(draft, rita):
    from contracts.gates.objects import add_lines

    lines = [{"object_id": f"N-{number}"} for number in range(60)]
    add_lines(
        contract_id=draft.pk, actor=people.acting(people.owner(draft.team)), part=PARTS["object"], lines=lines
    )
    added = {"object-new-object_id": "last"}
    root = read(rita.post(at("row_add", draft, "object"), added, headers=HTMX))
    assert [row.every("th")[0].words for row in root.every("tr")[1:]][-1] == "last"
    assert "Page 2 of 2" in root.words
    answer = rita.post(at("row_add", draft, "object"), {"object-new-object_id": "later"})
    assert "object-page=2" in answer["Location"]
    assert "later" in read(rita.get(answer["Location"])).words


# Editing


@pytest.mark.parametrize("part", ADDABLE)
@pytest.mark.parametrize("htmx", [False, True])
def test_a_row_is_edited_in_place(draft, rita, part, htmx):
    row = builders.a_row(draft, part)
    name, value = CHANGED[part]
    posted = edit_form(rita, draft, part, row, **{name: value})
    answer = rita.post(at("row_edit", draft, part, row), posted, headers=HTMX if htmx else {})
    assert answer.status_code == (200 if htmx else 302), read(answer).words
    row.refresh_from_db()
    assert (row.facts()[name], row.version) == (value, 2)
    if htmx:
        root = read(answer)
        check_accessible(root, part=True)
        assert (root.children[0].name, root.children[0]["id"]) == ("tr", f"{part}-{row.pk}")


@pytest.mark.parametrize("part", ADDABLE)
def test_an_edit_form_is_sound_and_unchanged_it_records_nothing(draft, rita, part):
    row = builders.a_row(draft, part)
    check_accessible(read(rita.get(at("row_edit", draft, part, row))))
    inside = read(rita.get(at("row_edit", draft, part, row), headers=HTMX))
    check_accessible(inside, part=True)
    assert [(one.name, one["id"]) for one in inside.children] == [("tr", f"{part}-{row.pk}")]
    before, known = snapshot(draft), len(events_of(draft))
    for headers in ({}, HTMX):
        posted = edit_form(rita, draft, part, row)
        answer = rita.post(at("row_edit", draft, part, row), posted, headers=headers)
        assert answer.status_code == (200 if headers else 302)
    assert snapshot(draft) == before
    assert len(events_of(draft)) == known


@pytest.mark.parametrize("part", ADDABLE)
@pytest.mark.parametrize("htmx", [False, True])
def test_a_wrong_edit_is_refused_in_place(draft, rita, part, htmx):
    row = builders.a_row(draft, part)
    name, bad = WRONG[part]
    posted = edit_form(rita, draft, part, row, **{name: bad})
    before = snapshot(draft)
    answer = rita.post(at("row_edit", draft, part, row), posted, headers=HTMX if htmx else {})
    assert answer.status_code == 422
    root = read(answer)
    check_accessible(root, part=htmx)
    assert summary_targets(root)
    assert snapshot(draft) == before


@pytest.mark.parametrize("part", ADDABLE)
@pytest.mark.parametrize("htmx", [False, True])
def test_an_edit_over_somebody_elses_shows_both(draft, team, rita, part, htmx):
    row = builders.a_row(draft, part)
    name, value = CHANGED[part]
    mine = edit_form(rita, draft, part, row, **{name: "mine"})
    theirs = edit_form(rita, draft, part, row, **{name: value})
    assert visitor(people.owner(team)).post(at("row_edit", draft, part, row), theirs).status_code == 302
    answer = rita.post(at("row_edit", draft, part, row), mine, headers=HTMX if htmx else {})
    assert answer.status_code == 409
    root = read(answer)
    check_accessible(root, part=htmx)
    (table,) = [one for one in root.every("table") if one.inside("form")]
    (line,) = table.every("tbody")[0].every("tr")
    assert [cell.words for cell in line.every("td")][:2] == ["mine", value]
    (form,) = [one for one in root.every("form") if one.every("table")]
    assert rita.post(at("row_edit", draft, part, row), filled_form(form)).status_code == 302
    row.refresh_from_db()
    assert row.facts()[name] == "mine"


def test_two_rows_may_be_edited_at_once_without_ids_twice(draft, rita):
    rows = [builders.a_row(draft, "object"), builders.a_row(draft, "object", object_id="O-2")]
    texts = []
    for row in rows:
        posted = edit_form(rita, draft, "object", row, object_id="")
        answer = rita.post(at("row_edit", draft, "object", row), posted, headers=HTMX)
        texts.append(set(by_id(read(answer))))
    assert texts[0] & texts[1] == set()


def test_a_worker_s_record_is_not_mended(team):
    document = documents.full_document(team=team)
    document["life"] |= {"state": "draft", "plan_digest": ""}
    contract = builders.done(builders.created(team, people.owner(team), document))
    client = visitor(people.owner(team))
    row = JournalStep.objects.of(contract.pk).get()
    root = read(client.get(address("section", contract.task_id, "checkpoints")))
    assert by_id(root)[f"step-{row.pk}"].every("form") == []
    posted = edit_form(client, contract, "step", row, key="other")
    before = snapshot(contract)
    for headers in ({}, HTMX):
        answer = client.post(at("row_edit", contract, "step", row), posted, headers=headers)
        assert answer.status_code == 409
        assert "A worker recorded this" in read(answer).words
    assert client.post(at("row_remove", contract, "step", row), {"version": "1"}).status_code == 409
    assert snapshot(contract) == before


def test_a_row_is_shown_again_when_the_edit_is_given_up(draft, rita, team):
    row = builders.a_row(draft, "object")
    for client in (rita, visitor(people.viewer(team))):
        root = read(client.get(at("row", draft, "object", row), headers=HTMX))
        assert [(one.name, one["id"]) for one in root.children] == [("tr", f"object-{row.pk}")]
        assert bool(root.every("form")) is (client is rita)
    answer = rita.get(at("row", draft, "object", row))
    assert answer["Location"] == address("section", draft.task_id, "objects") + f"#object-{row.pk}"


# Removing


@pytest.mark.parametrize("part", ADDABLE)
@pytest.mark.parametrize("htmx", [False, True])
def test_a_row_is_removed_after_a_question(draft, rita, part, htmx):
    row = builders.a_row(draft, part)
    headers = HTMX if htmx else {}
    root = read(rita.get(at("row_remove", draft, part, row), headers=headers))
    check_accessible(root, part=htmx)
    form = next(one for one in root.every("form") if one["action"].endswith("/remove/"))
    answer = rita.post(at("row_remove", draft, part, row), filled_form(form), headers=headers)
    assert answer.status_code == (200 if htmx else 302)
    assert not ROWS[part].objects.filter(pk=row.pk).exists()
    assert (events_of(draft)[-1].act, events_of(draft)[-1].subject) == ("remove", row.natural_key())
    if htmx:
        root = read(answer)
        assert [one["id"] for one in root.every() if one["hx-swap-oob"]] == [
            "mark",
            "next",
            "missing",
            "rail",
            "status",
        ]
        assert "was removed" in root.words


@pytest.mark.parametrize(
    ("part", "user", "words"),
    [
        ("source", "object", "Objects"),
        ("attempt", "checkpoint", "Checkpoints"),
        ("tool", "operation", "Operations"),
        ("object", "operation", "Operations"),
    ],
)
@pytest.mark.parametrize("htmx", [False, True])
def test_a_row_in_use_stays_and_its_users_are_named(*, draft, rita, part, user, words, htmx):
    builders.a_row(draft, user)
    row = ROWS[part].objects.of(draft.pk).first()
    before = snapshot(draft)
    posted = {"version": str(row.version)}
    answer = rita.post(at("row_remove", draft, part, row), posted, headers=HTMX if htmx else {})
    assert answer.status_code == 409
    root = read(answer)
    check_accessible(root, part=htmx)
    assert f"Other rows refer to this one: {words}" in root.words
    assert snapshot(draft) == before


def test_several_users_are_each_named_in_the_reader_s_language(draft, rita):
    from django.utils.translation import gettext, override

    builders.a_row(draft, "object")
    builders.a_row(draft, "artefact")
    row = ROWS["source"].objects.of(draft.pk).get()
    rita.cookies["workbench_language"] = "zh-hans"
    answer = rita.post(at("row_remove", draft, "source", row), {"version": "1"})
    with override("zh-hans"):
        assert gettext("Artefacts") in read(answer).words
        assert gettext("Objects") in read(answer).words


@pytest.mark.parametrize("htmx", [False, True])
def test_the_six_windows_stay(draft, rita, htmx):
    rows = WindowRow.objects.of(draft.pk)
    assert rows.count() == len(Window)
    root = read(rita.get(address("section", draft.task_id, "windows")))
    assert [link for link in root.every("a") if link["href"].endswith("/remove/")] == []
    answer = rita.post(
        at("row_remove", draft, "window", rows[0]), {"version": "1"}, headers=HTMX if htmx else {}
    )
    assert answer.status_code == 409
    assert "belongs to every contract" in read(answer).words
    assert rows.count() == len(Window)


def test_a_row_changed_meanwhile_is_not_removed_unseen(draft, rita, team):
    row = builders.a_row(draft, "object")
    theirs = edit_form(rita, draft, "object", row, note="wait")
    visitor(people.owner(team)).post(at("row_edit", draft, "object", row), theirs)
    answer = rita.post(at("row_remove", draft, "object", row), {"version": "1"}, headers=HTMX)
    assert answer.status_code == 409
    (form,) = read(answer).every("form")
    assert filled_form(form) == {"version": "2"}
    assert (
        rita.post(at("row_remove", draft, "object", row), {"version": "2"}, headers=HTMX).status_code == 200
    )


@pytest.mark.parametrize("version", [None, "", "one", "-1", "1.0", "²", "9" * 30, "1\0"])
def test_a_version_is_needed_for_removing(draft, rita, version):
    row = builders.a_row(draft, "object")
    posted = {} if version is None else {"version": version}
    assert rita.post(at("row_remove", draft, "object", row), posted).status_code == 400
    assert WorkObject.objects.filter(pk=row.pk).exists()


# Moving


@pytest.mark.parametrize("part", [name for name in ADDABLE if PARTS[name].ordered])
@pytest.mark.parametrize("htmx", [False, True])
def test_a_row_moves_up_and_down(draft, rita, part, htmx):
    first = builders.a_row(draft, part)
    second = builders.a_row(draft, part, **NAMES[part])
    headers = HTMX if htmx else {}

    def order():
        return [row.pk for row in ROWS[part].objects.of(draft.pk)][-2:]

    answer = rita.post(at("row_move", draft, part, second), {"direction": "up"}, headers=headers)
    assert answer.status_code == (200 if htmx else 302)
    assert order() == [second.pk, first.pk]
    if htmx:
        assert read(answer).children[0]["id"] == f"part-{part}"
    rita.post(at("row_move", draft, part, second), {"direction": "down"}, headers=headers)
    assert order() == [first.pk, second.pk]
    answer = rita.post(at("row_move", draft, part, second), {"direction": "down"}, headers=headers)
    assert answer.status_code == 409
    assert "already at the end" in read(answer).words
    check_accessible(read(answer), part=htmx)


def test_moving_shows_the_page_on_which_the_row_now_stands(draft, rita):
    from contracts.gates.objects import add_lines

    lines = [{"object_id": f"N-{number}"} for number in range(60)]
    add_lines(
        contract_id=draft.pk, actor=people.acting(people.owner(draft.team)), part=PARTS["object"], lines=lines
    )
    row = WorkObject.objects.of(draft.pk)[55]
    root = read(rita.post(at("row_move", draft, "object", row), {"direction": "up"}, headers=HTMX))
    assert f"object-{row.pk}" in by_id(root)
    answer = rita.post(at("row_move", draft, "object", row), {"direction": "up"})
    assert f"object-{row.pk}" in by_id(read(rita.get(answer["Location"])))


@pytest.mark.parametrize("part", ["usage", "attempt", "checkpoint", "operation"])
def test_rows_without_an_order_of_their_own_do_not_move(draft, rita, part):
    row = builders.a_row(draft, part)
    assert rita.post(at("row_move", draft, part, row), {"direction": "up"}, headers=HTMX).status_code == 409


# What is not there, and what is closed


@pytest.mark.parametrize("name", ["row", "row_edit", "row_remove", "row_move"])
def test_a_row_of_another_contract_is_not_there(team, draft, rita, name):
    row = builders.a_row(builders.a_draft(team), "object")
    for pk in (row.pk, 0, 10**30):
        where = address(name, draft.task_id, "object", pk)
        ask = rita.post if name == "row_move" else rita.get
        assert ask(where, headers=HTMX).status_code == 404
    assert rita.post(at("row_remove", draft, "object", row), {"version": "1"}).status_code in (404, 405)
    assert WorkObject.objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize("part", [name for name in PARTS if name not in ADDABLE])
def test_rows_that_are_not_added_one_by_one_have_no_such_pages(draft, rita, part):
    pk = ROWS[part].objects.of(draft.pk).first().pk if part in ROWS and ROWS[part].objects.of(draft.pk) else 1
    assert rita.get(address("row_add", draft.task_id, part)).status_code == 404
    assert rita.get(address("row_edit", draft.task_id, part, pk)).status_code == 404
    assert rita.post(address("row_remove", draft.task_id, part, pk), {"version": "1"}).status_code == 404
    assert rita.post(address("row_move", draft.task_id, part, pk)).status_code == 404
    assert rita.get(address("row", draft.task_id, part, pk), headers=HTMX).status_code in (200, 404)


@pytest.mark.parametrize("part", ADDABLE)
@pytest.mark.parametrize("htmx", [False, True])
def test_a_cancelled_contract_offers_and_takes_nothing(team, part, htmx):
    contract = builders.a_complete_draft(team)
    row = builders.a_row(contract, part, **(NAMES[part] if part in ("source", "object", "tool") else {}))
    client = visitor(people.owner(team))
    posted = edit_form(client, contract, part, row, **dict([CHANGED[part]]))
    actor = people.acting(people.owner(team))
    builders.done(leave_draft(contract_id=contract.pk, actor=actor))
    from contracts.gates.lifecycle import cancel

    builders.done(cancel(contract_id=contract.pk, actor=actor, reason="No show."))
    block = by_id(read(client.get(address("section", contract.task_id, PARTS[part].section.value))))[
        f"part-{part}"
    ]
    assert [form for form in block.every("form") if form["method"] == "post"] == []
    assert [
        link["href"] for link in block.every("a") if "/rows/" in link["href"] or "/paste/" in link["href"]
    ] == []
    words = "cannot be changed while the contract is “Cancelled”"
    assert words in block.words
    before = snapshot(contract)
    headers = HTMX if htmx else {}
    new = NAMES[part] if part != "usage" else {}
    for answer in (
        client.post(at("row_add", contract, part), given(part, **new), headers=headers),
        client.post(at("row_edit", contract, part, row), posted, headers=headers),
        client.post(at("row_remove", contract, part, row), {"version": str(row.version)}, headers=headers),
        client.post(at("row_move", contract, part, row), {"direction": "up"}, headers=headers),
    ):
        assert answer.status_code == 409
        root = read(answer)
        check_accessible(root, part=htmx)
        assert words in root.words
    for name, ones in (("row_add", ()), ("row_edit", (row,))):
        assert words in read(client.get(at(name, contract, part, *ones), headers=headers)).words
    assert snapshot(contract) == before


@pytest.mark.parametrize("part", ADDABLE)
def test_who_may_only_read_changes_nothing(draft, team, part):
    row = builders.a_row(draft, part)
    before = snapshot(draft)
    for person, status in ((people.viewer(team), 403), (people.stranger(), 404), (people.neighbour(), 404)):
        client = visitor(person)
        assert client.get(at("row_add", draft, part)).status_code == status
        assert client.post(at("row_add", draft, part), given(part)).status_code == status
        assert client.post(at("row_edit", draft, part, row), {}).status_code == status
        assert client.post(at("row_remove", draft, part, row), {"version": "1"}).status_code == status
        assert client.post(at("row_move", draft, part, row), {}).status_code == status
    assert snapshot(draft) == before


def test_a_script_in_a_value_is_shown_as_text(draft, rita):
    text = "<script>alert(1)</script>"
    row = builders.a_row(draft, "object", note=text)
    answer = rita.get(address("section", draft.task_id, "objects"))
    assert text not in answer.content.decode()
    assert "alert(1)" in by_id(read(answer))[f"object-{row.pk}"].words
    assert text not in rita.get(at("row_edit", draft, "object", row)).content.decode()


def test_a_credential_is_refused_and_not_repeated_in_the_summary(draft, rita):
    secret = "ghp_" + "a1B2" * 9
    answer = rita.post(at("row_add", draft, "object"), given("object", note=f"token {secret}", source=""))
    assert answer.status_code == 422
    root = read(answer)
    (summary,) = [one for one in root.every("section") if one["class"] == "error-summary"]
    assert secret not in summary.words
    assert WorkObject.objects.of(draft.pk).count() == 0
