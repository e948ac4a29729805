import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from contracts.models import Contract, WorkObject
from contracts.views import making
from tests import builders, documents, people
from tests.views.visiting import address, visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return builders.a_team()


@pytest.fixture
def rita(team):
    return people.reviewer(team)


def post(person, **values):
    return visitor(person).post(address("new"), values)


def confirm(person, answer):
    """Press the confirming button of a preview, with just what the page carries along."""
    assert answer.context["confirming"], words(answer)
    carried = dict(answer.context["carried"])
    return post(person, step="create", **{"from": answer.context["way"]}, **carried)


def blank(**values):
    return {
        "from": "blank",
        "step": "preview",
        "team": "labels",
        "task_id": "new-1",
        "title": "A title",
        **values,
    }


def upload(raw):
    content = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
    return SimpleUploadedFile("contract.json", content, "application/json")


def test_who_reviews_for_no_team_is_told_whom_to_ask():
    answer = visitor(people.stranger()).get(address("new"))
    assert answer.status_code == 200
    assert "Ask whoever runs this workbench" in words(answer)
    assert post(people.stranger(), **blank()).status_code == 403


@pytest.mark.parametrize("who", ["viewer", "curator", "operator", "exporter"])
def test_no_other_role_creates(team, who):
    assert post(getattr(people, who)(team), **blank()).status_code == 403
    assert not Contract.objects.exists()


@pytest.mark.parametrize("way", ["blank", "case", "copy", "import", "nonsense"])
def test_every_way_has_a_page(rita, way):
    assert visitor(rita).get(address("new", **{"from": way})).status_code == 200


def test_a_preview_creates_nothing(rita):
    answer = post(rita, **blank())
    assert answer.status_code == 200
    assert "This will be created" in words(answer)
    assert not Contract.objects.exists()


def test_a_blank_contract_is_created_after_its_preview(rita):
    answer = confirm(rita, post(rita, **blank()))
    assert (answer.status_code, answer.url) == (302, address("overview", "new-1"))
    contract = Contract.objects.get()
    assert (contract.title, contract.team.slug, contract.created_by) == ("A title", "labels", "rita")


def test_a_title_in_use_is_told_and_forbids_nothing(rita):
    nora = people.neighbour()
    confirm(nora, post(nora, **blank(team="archive", task_id="unseen")))
    first = post(rita, **blank())
    assert first.context["namesakes"] == []
    confirm(rita, first)
    second = post(rita, **blank(task_id="new-2", title="a Title"))
    assert second.context["namesakes"] == ["new-1"]
    assert address("overview", "new-1") in words(second)
    assert confirm(rita, second).status_code == 302


def test_creating_without_a_preview_shows_it_first(rita):
    answer = post(rita, **blank(step="create"))
    assert answer.context["changed"]
    assert not Contract.objects.exists()


def test_what_was_typed_comes_back_for_a_change(rita):
    answer = post(rita, **blank(step="edit", title="Half a ti"))
    assert answer.status_code == 200
    assert 'value="Half a ti"' in words(answer)
    assert 'value="new-1"' in words(answer)


def test_a_task_id_in_use_is_an_error_at_its_field(rita):
    builders.a_draft(task_id="new-1")
    answer = confirm(rita, post(rita, **blank()))
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["task_id"]
    assert 'value="A title"' in words(answer)


def test_the_same_contract_twice_is_created_once(rita):
    preview = post(rita, **blank())
    assert confirm(rita, preview).status_code == 302
    assert confirm(rita, preview).url == address("overview", "new-1")
    assert Contract.objects.count() == 1


@pytest.mark.parametrize(
    ("values", "field", "code"),
    [
        ({"title": ""}, "title", "missing"),
        ({"title": "x" * 201}, "title", "too_long"),
        ({"task_id": ""}, "task_id", "missing"),
        ({"task_id": "-a"}, "task_id", "bad_pattern"),
        ({"task_id": "a b"}, "task_id", "bad_pattern"),
        ({"task_id": "a\u200bb"}, "task_id", "bad_pattern"),
        ({"task_id": "a" * 121}, "task_id", "too_long"),
        ({"team": "archive"}, "team", "invalid_choice"),
    ],
)
def test_bad_input_is_an_error_at_its_field(rita, values, field, code):
    people.neighbour()  # the other team exists
    answer = post(rita, **blank(**values))
    assert answer.status_code == 422
    assert [error.code for error in answer.context["form"].errors.as_data()[field]] == [code]


@pytest.mark.parametrize("name", making.CASES)
def test_an_example_is_shown_and_created(rita, name):
    answer = post(rita, **{"from": "case"}, step="preview", team="labels", task_id="mine", case=name)
    assert answer.context["preview"].counts
    assert confirm(rita, answer).url == address("overview", "mine")


def test_a_copy_takes_the_definition_along_and_nothing_that_happened(rita, team):
    raw = documents.full_document("origin", team)
    builders.done(builders.created(team, people.owner(team), raw))
    answer = post(rita, **{"from": "copy"}, step="preview", team="labels", task_id="copy-1", source="origin")
    counts = dict(answer.context["preview"].counts)
    assert counts["Objects"] == 1
    assert "Attempts" not in counts
    assert confirm(rita, answer).status_code == 302
    copy = Contract.objects.get(task_id="copy-1")
    assert (copy.state, copy.title) == ("draft", raw["identity"]["title"])
    assert [row.state for row in WorkObject.objects.of(copy.pk)] == ["pending"]


def test_a_copy_that_changed_since_its_preview_is_shown_again(rita, team):
    builders.a_complete_draft(team, task_id="origin")
    answer = post(rita, **{"from": "copy"}, step="preview", team="labels", task_id="copy-1", source="origin")
    builders.a_row(Contract.objects.get(task_id="origin"), "object", object_id="O-2")
    again = confirm(rita, answer)
    assert again.context["changed"]
    assert dict(again.context["preview"].counts)["Objects"] == 2
    assert confirm(rita, again).status_code == 302


def test_what_one_may_not_see_is_not_copied(team, rita):
    neighbour = people.neighbour()
    other = neighbour.groups.get(name="archive:reviewer").team_role.team
    builders.a_draft(other, neighbour, task_id="hidden")
    for source in ("hidden", "no-such-id"):
        answer = post(rita, **{"from": "copy"}, step="preview", team="labels", task_id="c", source=source)
        assert answer.status_code == 422
        assert [e.code for e in answer.context["form"].errors.as_data()["source"]] == ["unknown"]


def test_a_file_is_shown_and_then_created_as_it_is(rita, team):
    raw = documents.full_document("from-file", team)
    answer = post(rita, **{"from": "import"}, step="preview", team="labels", file=upload(raw))
    assert answer.context["preview"].state == "paused"
    assert answer.context["preview"].document.task_id == "from-file"
    assert confirm(rita, answer).url == address("overview", "from-file")


def test_pasted_text_is_taken_under_another_id(rita, team):
    text = json.dumps(documents.full_document("from-text", team), indent=1).replace("\n", "\r\n")
    values = {"from": "import", "step": "preview", "team": "labels", "task_id": "other", "text": text}
    assert confirm(rita, post(rita, **values)).url == address("overview", "other")


def test_every_problem_of_a_file_is_named_by_its_place(rita, team):
    raw = documents.full_document("from-file", team)
    raw["objects"][0]["state"] = "finished"
    raw["nonsense"] = 1
    answer = post(rita, **{"from": "import"}, step="preview", team="labels", file=upload(raw))
    assert answer.status_code == 422
    places = [place for place, _ in answer.context["preview"].problems]
    assert "/nonsense" in places or "/objects/0/state" in places
    assert "<title>Error:" in words(answer)
    assert not Contract.objects.exists()


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"\xff\xfe", b"null", b'{"format": "x"}', b"\xef\xbb\xbf{}"]
)
def test_what_is_no_contract_is_refused_by_name(rita, content):
    answer = post(rita, **{"from": "import"}, step="create", team="labels", file=upload(content))
    assert answer.status_code == 422
    assert answer.context["preview"].problem_count


def test_neither_file_nor_text_is_an_error(rita):
    answer = post(rita, **{"from": "import"}, step="preview", team="labels", text="  ")
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["file"]


def test_a_large_file_is_asked_for_again_and_must_be_the_same(rita, team, monkeypatch):
    monkeypatch.setattr(making, "PASTE_MAX_BYTES", 100)
    raw = documents.full_document("from-file", team)
    values = {"from": "import", "team": "labels"}
    answer = post(rita, step="preview", file=upload(raw), **values)
    carried = dict(answer.context["carried"])
    assert answer.context["preview"].resend
    assert "text" not in carried
    other = post(rita, step="create", file=upload({**raw, "revision": 8}), **{**values, **carried})
    assert other.context["changed"]
    assert not Contract.objects.exists()
    assert post(rita, step="create", file=upload(raw), **{**values, **carried}).status_code == 302


def test_looking_creates_nothing(rita):
    assert visitor(rita).get(address("new", **blank(step="create"))).status_code == 200
    assert not Contract.objects.exists()
