import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from contracts.models import Artefact, Source, WorkObject
from contracts.rules.parts import PARTS
from contracts.rules.vocabulary import PASTE_MAX_BYTES, PASTE_MAX_LINES
from tests import builders, people
from tests.gates.watching import events_of, snapshot
from tests.views.reading import by_id, check_accessible, filled_form, read, summary_targets
from tests.views.visiting import address, visitor

pytestmark = pytest.mark.django_db
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def team():
    return builders.a_team()


@pytest.fixture
def draft(team):
    return builders.a_draft(team)


@pytest.fixture
def rita(team):
    return visitor(people.reviewer(team))


def show(client, contract, text="", part="object", **more):
    return client.post(address("paste", contract.task_id, part), {"table": text, "step": "preview", **more})


def store(client, contract, answer, part="object", **changed):
    """Press “Store” on a preview, with what the page carries along."""
    (form,) = [one for one in read(answer).every("form") if one.every("textarea")]
    posted = filled_form(form) | {"step": "store"} | changed
    return client.post(address("paste", contract.task_id, part), posted)


def bad_lines(answer):
    return [int(line["value"]) for line in read(answer).every("li") if line["value"]]


def ids(contract):
    return list(WorkObject.objects.of(contract.pk).values_list("object_id", flat=True))


@pytest.mark.parametrize("part", ["source", "artefact", "object"])
def test_the_page_for_pasting_is_sound(draft, rita, part):
    root = read(rita.get(address("paste", draft.task_id, part)))
    check_accessible(root)
    assert [button["value"] for button in root.every("button") if button["name"] == "step"] == ["preview"]


def test_a_table_is_shown_before_it_is_stored(draft, rita):
    before, known = snapshot(draft), len(events_of(draft))
    answer = show(rita, draft, "object_id\tnote\r\nO-1\tfirst\r\nO-2\t展签\r\n")
    assert answer.status_code == 200
    root = read(answer)
    check_accessible(root)
    (shown,) = root.every("table")
    assert [cell.words for cell in shown.every("th")] == ["Object id", "Note"]
    assert [cell.words for cell in shown.every("td")] == ["O-1", "first", "O-2", "展签"]
    assert snapshot(draft) == before
    answer = store(rita, draft, answer)
    assert (answer.status_code, ids(draft)) == (302, ["O-1", "O-2"])
    assert answer["Location"] == address("section", draft.task_id, "objects") + "#part-object"
    assert [(event.act, event.subject) for event in events_of(draft)[known:]] == [
        ("add", "O-1"),
        ("add", "O-2"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        'Object id,Note\nO-1,"a, b\nc"',
        'object_id;note\nO-1;"a, b\nc"',
        '\ufeffObject id\tNote\nO-1\t"a, b\nc"\n',
        'OBJECT ID,note\r\nO-1,"a, b\r\nc"\r\n',
    ],
)
@pytest.mark.parametrize("as_file", [False, True])
def test_every_way_of_writing_a_table_is_read(draft, rita, text, as_file):
    upload = {"file": SimpleUploadedFile("objects.csv", text.encode())} if as_file else {}
    answer = show(rita, draft, "" if as_file else text, **upload)
    assert answer.status_code == 200
    assert store(rita, draft, answer).status_code == 302
    assert [(row.object_id, row.note) for row in WorkObject.objects.of(draft.pk)] == [("O-1", "a, b\nc")]


def test_columns_may_bear_their_chinese_names(draft, rita):
    from django.utils.translation import gettext, override

    with override("zh-hans"):
        head = [gettext(PARTS["object"].field(name).label) for name in ("object_id", "note")]
    assert store(rita, draft, show(rita, draft, "\t".join(head) + "\nO-1\tx")).status_code == 302
    assert ids(draft) == ["O-1"]


def test_ten_thousand_lines_with_three_bad_ones(draft, rita):
    lines = ["object_id,source,note", *(f"O-{number:05},,line {number}" for number in range(1, 10_001))]
    good = list(lines)
    lines[17], lines[5_000], lines[10_000] = (
        "O-00001,,twice",
        "O 5000\u200b,,hidden",
        "O-10000,P-9,no such source",
    )
    before = snapshot(draft)
    answer = show(rita, draft, "\n".join(lines))
    assert answer.status_code == 422
    root = read(answer)
    assert bad_lines(answer) == [18, 5_001, 10_001]
    assert "9997 lines are in order" in root.words.replace(",", "")
    assert "3 lines need attention" in root.words
    assert root.every("title")[0].words.startswith("Error:")
    refused = store(rita, draft, answer)
    assert (refused.status_code, bad_lines(refused)) == (422, [18, 5_001, 10_001])
    assert snapshot(draft) == before
    assert store(rita, draft, answer, leave_out="on").status_code == 302
    assert len(ids(draft)) == 9_997
    again = show(rita, draft, "\n".join(good))
    assert "9997 lines need attention" in read(again).words.replace(",", "")
    assert "Only the first 500" in read(again).words
    assert store(rita, draft, again, leave_out="on").status_code == 302
    assert len(ids(draft)) == 10_000


def test_mended_lines_are_stored_with_the_others(draft, rita):
    answer = show(rita, draft, "object_id,source\nO-1,\nO-2,P-9\nO-3,")
    assert bad_lines(answer) == [3]
    mended = show(rita, draft, "object_id,source\nO-1,\nO-2,\nO-3,")
    assert store(rita, draft, mended).status_code == 302
    assert ids(draft) == ["O-1", "O-2", "O-3"]


def test_a_text_that_was_not_shown_is_shown_and_not_stored(draft, rita):
    answer = show(rita, draft, "O-1\nO-2")
    for changed in ({"table": "O-1\nO-2\nO-3"}, {"seen": ""}, {"seen": "0" * 64}):
        again = store(rita, draft, answer, **changed)
        assert again.status_code == 200
        assert ids(draft) == []
    assert store(rita, draft, again, table="O-1\nO-2").status_code == 302


@pytest.mark.parametrize("part", ["source", "artefact", "object"])
def test_what_stands_already_or_stands_twice_is_named(draft, rita, part):
    first = {"source": "P-1", "artefact": "L-1", "object": "O-1"}[part]
    builders.a_row(draft, part)
    head = {
        "source": "source_id,version_label,sha256,location",
        "artefact": "artefact_id,version_label,sha256,location",
        "object": "object_id",
    }[part]
    row = {"source": f"{{}},1,{'a' * 64},s3://1", "artefact": f"{{}},1,{'a' * 64},s3://1", "object": "{}"}[
        part
    ]
    other = {"source": Source, "artefact": Artefact, "object": WorkObject}[part]
    count = other.objects.of(draft.pk).count()
    sums = {"artefact": Artefact.objects.of(draft.pk).first().sha256} if part == "artefact" else {}
    standing = row.format(first).replace("a" * 64, sums.get(part, "a" * 64))
    answer = show(rita, draft, "\n".join([head, standing, row.format("N-1"), row.format("N-1")]), part)
    assert (answer.status_code, bad_lines(answer)) == (422, [2, 4])
    assert store(rita, draft, answer, part, leave_out="on").status_code == 302
    assert other.objects.of(draft.pk).count() == count + 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n\t",
        "object_id,note",
        "object_id,colour\nO-1,red",
        'object_id,note\nO-1,"open',
        "x" * (PASTE_MAX_BYTES + 1),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(draft, rita, text):
    before = snapshot(draft)
    answer = show(rita, draft, text)
    assert answer.status_code == 422
    root = read(answer)
    check_accessible(root)
    assert [one for one in root.every("p") if one["class"] == "note bad"]
    assert [button["value"] for button in root.every("button") if button["name"] == "step"] == ["preview"]
    assert (
        rita.post(address("paste", draft.task_id, "object"), {"table": text, "step": "store"}).status_code
        == 422
    )
    assert snapshot(draft) == before


def test_too_many_lines_are_refused_with_the_limit(draft, rita):
    answer = show(rita, draft, "\n".join(f"O-{number}" for number in range(PASTE_MAX_LINES + 1)))
    assert answer.status_code == 422
    assert f"At most {PASTE_MAX_LINES} lines" in read(answer).words


@pytest.mark.parametrize(
    "content", ["é".encode("latin-1"), "O-1".encode("utf-16"), b"O-1\0", b"PK\x03\x04\0\0", b""]
)
def test_a_file_that_is_no_utf8_text_is_refused(draft, rita, content):
    answer = show(rita, draft, file=SimpleUploadedFile("objects.csv", content))
    assert answer.status_code == 422
    root = read(answer)
    check_accessible(root)
    assert summary_targets(root) == ["id_file"]
    assert ids(draft) == []


def test_a_file_that_is_too_large_is_refused(draft, rita):
    answer = show(rita, draft, file=SimpleUploadedFile("objects.csv", b"x" * (PASTE_MAX_BYTES + 1)))
    assert (answer.status_code, summary_targets(read(answer))) == (422, ["id_file"])


def test_a_nul_in_the_text_is_refused(draft, rita):
    answer = show(rita, draft, "O-1\nO\0-2")
    assert (answer.status_code, summary_targets(read(answer))) == (422, ["id_table"])


@pytest.mark.parametrize(
    "text",
    [
        f"object_id,note\nO-1,token {SECRET}",
        f"object_id,{SECRET}\nO-1,x",
        f"object_id,note\nO-1,{SECRET},{SECRET}",
        f"object_id,note\nO-1,{SECRET}{'x' * 3000}",
        f"object_id,source\nO-1,{SECRET}",
    ],
)
def test_a_credential_is_named_and_not_repeated(draft, rita, text):
    answer = show(rita, draft, text)
    assert answer.status_code == 422
    root = read(answer)
    typed = sum("".join(one.texts).count(SECRET) for one in root.every("textarea"))
    assert answer.content.decode().count(SECRET) == typed
    assert ids(draft) == []


def test_what_looks_like_a_formula_or_a_script_is_kept_as_text(draft, rita):
    lines = ["=1+1", "+3", "@SUM(A1)", "<script>alert(1)</script>", "%(limit)d {{ x }}"]
    text = "object_id,note\n" + "\n".join(f"O-{number},{note}" for number, note in enumerate(lines))
    answer = show(rita, draft, text)
    assert "<script>alert" not in answer.content.decode()
    assert store(rita, draft, answer).status_code == 302
    assert [row.note for row in WorkObject.objects.of(draft.pk)] == lines


def test_a_bad_line_is_shown_with_its_field_and_reason(draft, rita):
    answer = show(rita, draft, "object_id,source,note\nO-1,P-9,x\n,,y\nO-3,,z,more")
    check_accessible(read(answer))
    lines = {line["value"]: line.words for line in read(answer).every("li") if line["value"]}
    assert lines == {
        "2": "O-1 · P-9 · x Source: There is no such row in this contract."
        " Choose one that is there, or add it first.",
        "3": "y Object id: This must be filled in.",
        "4": "This line has more cells than there are columns.",
    }


def test_where_rows_cannot_be_added_none_is_stored(team):
    contract = builders.a_draft(team)
    client = visitor(people.owner(team))
    answer = show(client, contract, "O-1")
    from contracts.gates.lifecycle import cancel

    builders.done(cancel(contract_id=contract.pk, actor=people.acting(people.owner(team)), reason="No show."))
    words = "cannot be changed while the contract is “Cancelled”"
    assert words in read(client.get(address("paste", contract.task_id, "object"))).words
    before = snapshot(contract)
    refused = store(client, contract, answer)
    assert refused.status_code == 409
    assert read(refused).words.count(words) == 1
    check_accessible(read(refused))
    assert snapshot(contract) == before


def test_parts_that_are_not_pasted_have_no_such_page(draft, rita):
    for name, part in PARTS.items():
        status = 200 if part.pasteable else 404
        assert rita.get(address("paste", draft.task_id, name)).status_code == status


def test_who_may_not_fill_may_not_paste(draft, team):
    for person, status in ((people.viewer(team), 403), (people.stranger(), 404), (people.neighbour(), 404)):
        assert visitor(person).get(address("paste", draft.task_id, "object")).status_code == status
        assert show(visitor(person), draft, "O-1").status_code == status
    assert ids(draft) == []


def test_an_empty_post_is_answered(draft, rita):
    answer = rita.post(address("paste", draft.task_id, "object"))
    assert answer.status_code == 422
    assert "part-object" not in by_id(read(answer))
