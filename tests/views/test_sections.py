import pytest

from contracts.models import ROWS, Limit, PlaneRow, SectionMark
from contracts.rules.parts import PARTS, parts_of
from contracts.rules.vocabulary import Plane, Section
from tests import builders, documents, people
from tests.gates.watching import events_of, snapshot
from tests.views.reading import by_id, check_accessible, read, summary_targets
from tests.views.visiting import HTMX, address, visitor

pytestmark = pytest.mark.django_db
FORMS = [part.name for part in PARTS.values() if part.single or (part.fixed and not part.addable)]
SECTIONS = [section.value for section in Section]
VALID = {
    "identity": {"title": "Labels of autumn", "deadline": "2031-01-02T10:00:00"},
    "plane": {"authority": "postgres://sessions", "retention_days": "30"},
    "policy": {"quorum": "2", "note": "Two of them."},
    "limit": {"cap": "40", "note": "Agreed."},
    "gate": {"lease_seconds": "90", "named_person": "Head of labels"},
}
INVALID = {
    "identity": ("deadline", "tomorrow"),
    "plane": ("retention_days", "-1"),
    "policy": ("quorum", "0"),
    "limit": ("cap", "NaN"),
    "gate": ("renew_seconds", "500"),
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


def place(contract, section):
    return address("section", contract.task_id, section)


def form_of(client, contract, part, **values):
    """Return what the form of a part posts, its first row changed by `values`."""
    section = PARTS[part].section.value
    (form,) = [
        one
        for one in read(client.get(place(contract, section))).every("form")
        if any(field["name"] == "part" and field["value"] == part for field in one.every("input"))
    ]
    posted = _filled(form)
    prefix = next(name for name in posted if name.endswith("-version")).removesuffix("version")
    return posted | {f"{prefix}{name}": value for name, value in values.items()}, prefix


def _filled(form):
    from tests.views.reading import filled_form

    return filled_form(form)


def stored(contract, part):
    from contracts.views.sections import single_row

    row = single_row(contract, PARTS[part]) if PARTS[part].single else None
    contract.refresh_from_db()
    model = {"plane": PlaneRow, "limit": Limit}.get(part)
    return (row or model.objects.of(contract.pk).first()).facts()


# Who sees what


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("kind", ["empty", "draft", "paused"])
def test_a_reviewer_gets_a_sound_page(team, section, kind, rita):
    contract = builders.a_draft(team) if kind == "empty" else full(team, kind)
    root = read(rita.get(place(contract, section)))
    check_accessible(root)
    shown = by_id(root)
    assert all(f"part-{part.name}" in shown for part in parts_of(section))
    assert root.every("title")[0].words.startswith(("Error:",)) is False


def full(team, state="draft"):
    """Return a contract in which every list is filled."""
    document = documents.full_document(team=team)
    if state == "draft":
        document["life"] |= {"state": "draft", "plan_digest": ""}
    return builders.done(builders.created(team, people.owner(team), document))


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("who", ["viewer", "curator", "operator", "exporter"])
def test_who_may_not_fill_gets_no_form_and_no_button(team, section, who):
    contract = builders.a_complete_draft(team)
    for part in ("attempt", "checkpoint", "step", "usage", "artefact"):
        builders.a_row(contract, part)
    client = visitor(getattr(people, who)(team))
    root = read(client.get(place(contract, section)))
    check_accessible(root)
    (main,) = root.every("main")
    assert [form["action"] for form in main.every("form") if form["method"] == "post"] == []
    assert [b.words for b in main.every("button") if "copy" not in b["class"] and b.words != "Show"] == []
    assert [
        link["href"] for link in main.every("a") if "/rows/" in link["href"] or "/paste/" in link["href"]
    ] == []
    assert main.every("textarea") == []


def test_people_in_a_table_are_called_by_their_names(team):
    contract = full(team)
    ROWS["artefact"].objects.of(contract.pk).update(author="rita")
    people.reviewer(team)
    page = read(visitor(people.viewer(team)).get(place(contract, "sources")))
    assert {cell.words for cell in page.every("td") if cell["data-label"] == "Written by"} == {"Rita"}


def test_the_heading_of_a_column_of_numbers_stands_over_them(team):
    root = read(visitor(people.viewer(team)).get(place(full(team), "operations")))
    by_class = {head.words: head["class"] for head in root.every("th") if head["scope"] == "col"}
    assert (by_class["Round"], by_class["Target"]) == ("number", "")


@pytest.mark.parametrize("section", SECTIONS)
def test_a_reader_sees_words_and_not_stored_values(team, section):
    contract = builders.a_complete_draft(team)
    body = visitor(people.viewer(team)).get(place(contract, section))
    main = read(body).every("main")[0]
    shown = [cell.words for cell in main.every("dd")]
    assert not set(shown) & {"person", "refuse", "True", "False", "None"}


@pytest.mark.parametrize("section", SECTIONS)
def test_writing_without_the_right_is_refused(draft, team, section):
    before = snapshot(draft)
    assert visitor(people.viewer(team)).post(place(draft, section), {}).status_code == 403
    assert visitor(people.stranger()).post(place(draft, section), {}).status_code == 404
    assert visitor(people.neighbour()).post(place(draft, section), {}).status_code == 404
    assert snapshot(draft) == before


@pytest.mark.parametrize("section", SECTIONS)
def test_strangers_are_told_that_there_is_nothing(draft, section, client):
    assert visitor(people.stranger()).get(place(draft, section)).status_code == 404
    assert visitor(people.neighbour()).get(place(draft, section)).status_code == 404
    answer = client.get(place(draft, section))
    assert (answer.status_code, answer["Location"]) == (302, f"/login/?next={place(draft, section)}")


# Saving


@pytest.mark.parametrize("part", FORMS)
@pytest.mark.parametrize("htmx", [False, True])
def test_a_form_is_saved_with_one_event_for_each_row(draft, rita, part, htmx):
    posted, _ = form_of(rita, draft, part, **VALID[part])
    known = len(events_of(draft))
    answer = rita.post(place(draft, PARTS[part].section.value), posted, headers=HTMX if htmx else {})
    assert answer.status_code == (200 if htmx else 302)
    facts = stored(draft, part)
    for name, value in VALID[part].items():
        assert value.removesuffix(":00") in str(facts[name])
    assert [(event.act, event.part, event.refused) for event in events_of(draft)[known:]] == [
        ("edit", part, "")
    ]
    if htmx:
        root = read(answer)
        check_accessible(root, part=True)
        assert f"part-{part}" in by_id(root)
        assert [one["id"] for one in root.every() if one["hx-swap-oob"]] == [
            "mark",
            "next",
            "missing",
            "rail",
            "status",
        ]


@pytest.mark.parametrize("part", FORMS)
def test_what_is_wrong_is_said_at_the_field_and_everything_typed_stays(draft, rita, part):
    name, bad = INVALID[part]
    posted, prefix = form_of(rita, draft, part, **VALID[part] | {name: bad})
    before = snapshot(draft)
    answer = rita.post(place(draft, PARTS[part].section.value), posted)
    assert answer.status_code == 422
    root = read(answer)
    check_accessible(root)
    assert root.every("title")[0].words.startswith("Error:")
    assert f"id_{prefix}{name}" in summary_targets(root)
    shown = by_id(root)
    assert shown[f"id_{prefix}{name}"]["value"] == bad
    assert shown[f"id_{prefix}{name}"]["aria-invalid"] == "true"
    for field, value in VALID[part].items():
        if field not in (name, "purpose"):
            one = shown[f"id_{prefix}{field}"]
            assert (one["value"] or "".join(one.texts).strip()) == value
    assert snapshot(draft) == before


@pytest.mark.parametrize("part", FORMS)
def test_what_is_wrong_comes_back_as_the_part_alone(draft, rita, part):
    name, bad = INVALID[part]
    posted, prefix = form_of(rita, draft, part, **{name: bad})
    answer = rita.post(place(draft, PARTS[part].section.value), posted, headers=HTMX)
    assert answer.status_code == 422
    root = read(answer)
    check_accessible(root, part=True)
    assert [one["id"] for one in root.children] == [f"part-{part}"]
    assert f"id_{prefix}{name}" in summary_targets(root)


@pytest.mark.parametrize("part", FORMS)
@pytest.mark.parametrize("htmx", [False, True])
def test_saving_unchanged_records_nothing(team, rita, part, htmx):
    contract = full(team)
    posted, _ = form_of(rita, contract, part)
    before, known = snapshot(contract), len(events_of(contract))
    answer = rita.post(place(contract, PARTS[part].section.value), posted, headers=HTMX if htmx else {})
    assert answer.status_code == (200 if htmx else 302)
    assert snapshot(contract) == before
    assert len(events_of(contract)) == known


@pytest.mark.parametrize("part", FORMS)
@pytest.mark.parametrize("htmx", [False, True])
def test_a_change_over_somebody_elses_shows_both_and_the_second_saving_overwrites(
    draft, team, rita, part, htmx
):
    text = "purpose" if part == "identity" else "note"
    posted, _prefix = form_of(rita, draft, part, **{text: "mine"})
    theirs, _ = form_of(rita, draft, part, **{text: "theirs"})
    where = place(draft, PARTS[part].section.value)
    assert visitor(people.owner(team)).post(where, theirs).status_code == 302
    answer = rita.post(where, posted, headers=HTMX if htmx else {})
    assert answer.status_code == 409
    assert stored(draft, part)[text] == "theirs"
    root = read(answer)
    check_accessible(root, part=htmx)
    (table,) = [one for one in root.every("table") if one.inside("form")]
    (line,) = table.every("tbody")[0].every("tr")
    assert [cell.words for cell in line.every("td")] == ["mine", "theirs", "—"]
    if not htmx:
        assert root.every("title")[0].words.startswith("Error:")
    (form,) = [one for one in root.every("form") if one.every("table")]
    assert rita.post(where, _filled(form)).status_code == 302
    assert stored(draft, part)[text] == "mine"


def test_only_what_was_typed_is_overwritten(draft, team, rita):
    posted, _prefix = form_of(rita, draft, "identity", purpose="mine", title="Mine too")
    theirs, _ = form_of(
        rita, draft, "identity", purpose="theirs", workflow_name="labels", acceptance="worker"
    )
    visitor(people.owner(team)).post(place(draft, "identity"), theirs)
    root = read(rita.post(place(draft, "identity"), posted))
    (table,) = [one for one in root.every("table") if one.inside("form")]
    lines = {
        row.every("th")[0].words: [cell.words for cell in row.every("td")] for row in table.every("tr")[1:]
    }
    assert lines == {
        "Title": ["Mine too", "Labels of the spring show", "Labels of the spring show"],
        "Purpose": ["mine", "theirs", "—"],
        "Workflow": ["—", "labels", "—"],
        "Who may accept an object": ["A person", "The worker is enough", "A person"],
    }
    rita.post(
        place(draft, "identity"), _filled(next(one for one in root.every("form") if one.every("table")))
    )
    facts = stored(draft, "identity")
    assert (facts["purpose"], facts["title"]) == ("mine", "Mine too")
    assert (facts["workflow_name"], facts["acceptance"]) == ("labels", "worker")


def test_two_people_save_different_rows_of_one_grid(draft, team, rita):
    mine, _prefix = form_of(rita, draft, "plane")
    other = visitor(people.owner(team))
    theirs, _ = form_of(rita, draft, "plane", readers="theirs")
    rows = list(PlaneRow.objects.of(draft.pk))
    assert other.post(place(draft, "identity"), theirs).status_code == 302
    mine[f"plane-{rows[1].pk}-readers"] = "mine"
    assert rita.post(place(draft, "identity"), mine).status_code == 302
    assert [row.readers for row in PlaneRow.objects.of(draft.pk)][:2] == ["theirs", "mine"]


def test_a_conflict_in_a_grid_keeps_the_names_of_its_rows(draft, team, rita):
    mine, _ = form_of(rita, draft, "limit", cap="1")
    theirs, _ = form_of(rita, draft, "limit", cap="2")
    visitor(people.owner(team)).post(place(draft, "limits"), theirs)
    root = read(rita.post(place(draft, "limits"), mine))
    legends = [one.words for one in root.every("legend")]
    assert (len(legends), len(set(legends)), "" in legends) == (7, 7, False)
    assert (
        len(
            [
                one
                for one in root.every("input")
                if one["name"].endswith("-currency") and one["type"] == "text"
            ]
        )
        == 1
    )


def test_a_grid_is_saved_whole_or_not_at_all(draft, rita):
    posted, _ = form_of(rita, draft, "plane")
    rows = list(PlaneRow.objects.of(draft.pk))
    posted |= {f"plane-{row.pk}-retention_days": "30" for row in rows}
    posted[f"plane-{rows[3].pk}-authority"] = "postgres://who:secret99@sessions"
    before = snapshot(draft)
    answer = rita.post(place(draft, "identity"), posted)
    assert answer.status_code == 422
    assert summary_targets(read(answer)) == [f"id_plane-{rows[3].pk}-authority"]
    assert snapshot(draft) == before
    posted[f"plane-{rows[3].pk}-authority"] = "postgres://sessions"
    assert rita.post(place(draft, "identity"), posted).status_code == 302
    assert [row.retention_days for row in PlaneRow.objects.of(draft.pk)] == [30] * len(Plane)


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("part", ["", "nothing", "object", "policy", "plane\0", "mark"])
def test_a_part_that_has_no_form_here_is_refused(draft, rita, section, part):
    if part in {one.name for one in parts_of(section)} and part in FORMS:
        return
    before = snapshot(draft)
    assert rita.post(place(draft, section), {"part": part}).status_code == 400
    assert snapshot(draft) == before


@pytest.mark.parametrize("part", FORMS)
def test_fields_that_nobody_gives_are_left_alone(draft, rita, part):
    posted, prefix = form_of(rita, draft, part)
    extra = {
        f"{prefix}{name}": "1"
        for name in ("plane", "measure", "number", "state", "revision", "id", "contract")
    }
    before = snapshot(draft)
    assert rita.post(place(draft, PARTS[part].section.value), posted | extra).status_code == 302
    assert snapshot(draft) == before


@pytest.mark.parametrize("part", FORMS)
@pytest.mark.parametrize("version", ["", "0", "-1", "99999999999999999999999", None])
def test_without_the_version_that_was_seen_nothing_is_overwritten(draft, rita, part, version):
    posted, prefix = form_of(rita, draft, part, **VALID[part])
    del posted[f"{prefix}version"]
    posted |= {} if version is None else {f"{prefix}version": version}
    before = snapshot(draft)
    assert rita.post(place(draft, PARTS[part].section.value), posted).status_code == 409
    assert snapshot(draft) == before


def test_a_version_that_is_no_number_is_refused(draft, rita):
    posted, _prefix = form_of(rita, draft, "gate", note="x", version="one")
    assert rita.post(place(draft, "owner"), posted).status_code == 422


@pytest.mark.parametrize("part", FORMS)
def test_where_the_contract_is_not_open_nothing_is_offered_or_stored(team, part):
    contract = builders.a_draft(team, **builders.complete_keys())
    client = visitor(people.owner(team))
    posted, _ = form_of(client, contract, part, **VALID[part])
    from contracts.gates.lifecycle import leave_draft

    builders.done(leave_draft(contract_id=contract.pk, actor=people.acting(people.owner(team))))
    where = place(contract, PARTS[part].section.value)
    block = by_id(read(client.get(where)))[f"part-{part}"]
    assert block.every("form") == []
    assert "cannot be changed while the contract is “Paused”" in block.words
    before = snapshot(contract)
    for headers in ({}, HTMX):
        answer = client.post(where, posted, headers=headers)
        assert answer.status_code == 409
        assert "cannot be changed while the contract is “Paused”" in read(answer).words
    assert snapshot(contract) == before


# Marks, pages, searches


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("htmx", [False, True])
def test_a_section_is_marked_and_unmarked(draft, rita, section, htmx):
    headers = HTMX if htmx else {}
    for word, complete in (("yes", True), ("no", False)):
        answer = rita.post(address("mark", draft.task_id, section), {"complete": word}, headers=headers)
        assert answer.status_code == (200 if htmx else 302)
        assert SectionMark.objects.get(contract=draft, section=section).complete is complete
        if htmx:
            root = read(answer)
            check_accessible(root, part=True)
            assert root.children[0]["id"] == "mark"


def test_the_mark_that_completes_the_last_section_leads_on_at_once(team):
    draft = builders.a_complete_draft(team)
    client, where = visitor(people.owner(team)), address("mark", draft.task_id, "owner")
    answers = [client.post(where, {"complete": word}, headers=HTMX) for word in ("no", "yes")]
    unmarked, marked = (by_id(read(answer))["next"] for answer in answers)
    assert [link["href"] for link in unmarked.every("a")] == [place(draft, "windows")]
    assert [link["href"] for link in marked.every("a")] == [address("overview", draft.task_id)]
    assert marked["hx-swap-oob"] == "true"


@pytest.mark.parametrize("htmx", [False, True])
def test_a_cancelled_contract_is_not_marked(team, rita, htmx):
    contract = builders.a_cancelled(team)
    where = place(contract, "limits")
    assert by_id(read(rita.get(where)))["mark"].every("button") == []
    headers = HTMX if htmx else {}
    answer = rita.post(address("mark", contract.task_id, "limits"), {"complete": "no"}, headers=headers)
    assert answer.status_code == 409
    assert "cannot be changed while the contract is “Cancelled”" in read(answer).words


def test_a_long_table_has_pages_and_a_search(draft, rita):
    lines = [{"object_id": f"O-{number:03}", "note": f"box {number % 2}"} for number in range(120)]
    from contracts.gates.objects import add_lines

    add_lines(
        contract_id=draft.pk, actor=people.acting(people.owner(draft.team)), part=PARTS["object"], lines=lines
    )
    where = place(draft, "objects")

    def ids(query):
        root = read(rita.get(where + query))
        check_accessible(root)
        rows = [row for row in root.every("tr") if row["id"].startswith("object-")]
        return [row.every("th")[0].words for row in rows]

    assert len(ids("")) == 50
    assert ids("?object-page=3") == [f"O-{number:03}" for number in range(100, 120)]
    assert ids("?object-page=99") == ids("?object-page=3")
    assert ids("?object-page=x") == ids("")
    assert ids("?object-q=O-11") == [f"O-{number:03}" for number in range(110, 120)]
    assert len(ids("?object-q=box+1&object-page=2")) == 10
    assert ids("?object-state=confirmed") == []
    assert len(ids("?object-state=nonsense")) == 50
    assert ids("?object-q=%00O-119") == ["O-119"]
    assert ids("?object-q=%25") == []
    assert ids("?object-q=" + "x" * 1000) == []


def test_a_page_in_chinese_is_as_sound(draft, rita):
    rita.cookies["workbench_language"] = "zh-hans"
    for section in SECTIONS:
        root = read(rita.get(place(draft, section)))
        assert root.every("html")[0]["lang"] == "zh-hans"
        check_accessible(root)
