import json

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.exports.json_form import document_lines, json_sha256
from contracts.exports.reading import read_document
from contracts.exports.schema import committed_schema, contract_schema, schema_text
from contracts.exports.snapshot import open_snapshot
from contracts.models import ROWS, Contract
from contracts.rules.document import KEYS, LIFE, check_document
from contracts.rules.fingerprint import digest_bytes
from contracts.rules.parts import PARTS
from tests import builders, documents
from tests.exports.telling import as_json, store

pytestmark = pytest.mark.django_db


def settled_document():
    """A full document whose decision survives a move to another task: it was no."""
    raw = documents.full_document()
    raw["approvals"][0] |= {"state": "rejected", "consumed_at": None, "consumed_generation": None}
    raw["votes"][0] |= {"decision": "rejected"}
    return raw


def moved(content, task_id):
    """Return what `content` must be for the task `task_id`: other operation keys, and nothing else."""
    before = json.loads(content)
    after = check_document(before, task_id=task_id)
    content = content.replace(
        f'"task_id": "{before["task_id"]}"'.encode(), f'"task_id": "{task_id}"'.encode()
    )
    for old, new in zip(before["operations"], after.rows["operation"], strict=True):
        content = content.replace(old["key"].encode(), new["key"].encode())
    return content


def test_the_tables_hold_exactly_the_facts_that_the_parts_declare():
    for name, model in ROWS.items():
        assert list(model.FACTS) == [field.name for field in PARTS[name].fields], name
    assert list(Contract.FACTS) == [field.name for field in PARTS["identity"].fields]
    assert list(Contract.LIFE) == [field.name for field in LIFE.fields]


def test_two_exports_of_one_revision_are_the_same_bytes():
    contract = store(documents.full_document())
    assert as_json(contract) == as_json(contract)
    with open_snapshot(contract.pk) as snapshot:
        assert json_sha256(snapshot) == digest_bytes(as_json(contract))


def test_the_layout_is_utf8_with_one_line_for_each_row():
    content = as_json(
        store({**documents.full_document(), "identity": {"title": "标签"}, "life": {"generation": 2}})
    )
    assert content.endswith(b"\n}\n")
    assert b"\r" not in content
    assert "标签".encode() in content
    told = json.loads(content)
    assert list(told) == list(KEYS)
    lines = content.decode().splitlines()
    for row in told["objects"] + told["windows"] + told["operations"]:
        assert any(
            line.rstrip(",") == "    " + json.dumps(row, ensure_ascii=False, separators=(",", ":"))
            for line in lines
        )


def test_an_empty_contract_is_told_whole():
    told = json.loads(as_json(builders.a_draft()))
    assert told["objects"] == []
    assert len(told["planes"]) == 5
    assert len(told["windows"]) == 6


def test_a_full_contract_imported_as_another_task_gives_the_same_bytes_but_for_its_keys():
    first = as_json(store(settled_document()))
    document = read_document(first, task_id="another-task")
    assert document.problems == []
    second = as_json(store(json.loads(first), "another-task"))
    assert second == moved(first, "another-task")
    assert second != first


def test_what_builders_fill_in_comes_back_without_loss():
    raw = documents.full_document()
    told = json.loads(as_json(store(raw)))
    for key in ("attempts", "checkpoints", "journal", "sources", "operations", "approvals", "votes", "usage"):
        for stored, found in zip(raw[key], told[key], strict=True):
            assert stored.items() <= found.items(), key


def test_a_document_in_memory_has_the_layout_of_the_export():
    content = as_json(store(documents.full_document()))
    assert "\n".join(document_lines(json.loads(content))) + "\n" == content.decode()


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=30)
LINES = st.lists(WORDS, max_size=3).map("\n".join)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


VALUES = st.fixed_dictionaries(
    {
        "title": WORDS.filter(str.strip),
        "text": LINES,
        "label": LINES.filter(str.strip),
        "parameters": st.dictionaries(WORDS, JSON, max_size=4),
        "result": JSON,
        "amount": st.decimals(0, 10**13, places=6).map(str),
    }
)


@given(VALUES)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
def test_whatever_may_be_stored_survives_the_round_trip(values):
    raw = settled_document()
    raw["identity"] |= {"title": values["title"], "purpose": values["text"]}
    raw["objects"][0]["note"] = values["text"] or "-"
    raw["artefacts"][-1] |= {"inline_text": values["label"], "sha256": "", "size_bytes": None, "location": ""}
    raw["operations"][0] |= {"parameters": values["parameters"], "fingerprint": "", "key": ""}
    raw["journal"][0]["result"] = values["result"]
    raw["usage"][0]["amount"] = values["amount"]
    del raw["approvals"], raw["votes"]
    if check_document(raw).problems:
        return  # a combination that the rules refuse: nothing to carry
    first = as_json(store(raw))
    task_id = builders.a_task_id()
    second = as_json(store(json.loads(first), task_id))
    assert second == moved(first, task_id)


def test_the_committed_schema_is_the_one_made_from_the_declarations():
    assert committed_schema().decode() == schema_text()


def test_exported_contracts_fit_the_published_schema():
    validator = jsonschema_rs.Draft202012Validator(contract_schema(), validate_formats=True)
    for contract in (builders.a_draft(), store(documents.full_document()), builders.a_cancelled()):
        assert [str(error) for error in validator.iter_errors(json.loads(as_json(contract)))] == []


@pytest.mark.parametrize(
    ("key", "name", "value"),
    [
        ("objects", "state", "finished"),
        ("objects", "object_id", ""),
        ("objects", "colour", "red"),
        ("sources", "sha256", "abc"),
        ("usage", "amount", 1.5),
        ("usage", "amount", "-1"),
        ("attempts", "number", 0),
        ("attempts", "started_at", "yesterday"),
        ("tools", "needs_approval", "yes"),
        ("operations", "parameters", None),
    ],
)
def test_a_broken_row_fails_the_schema_and_the_import(key, name, value):
    told = json.loads(as_json(store(documents.full_document())))
    told[key][0][name] = value
    validator = jsonschema_rs.Draft202012Validator(contract_schema(), validate_formats=True)
    assert not validator.is_valid(told)
    # The import reads "yes" as a person would write it; all else it refuses at the same place.
    problems = read_document(json.dumps(told).encode()).problems
    assert [problem.field for problem in problems] == ([] if value == "yes" else [f"/{key}/0/{name}"])


@pytest.mark.parametrize("change", [{"schema_version": 2}, {"format": "x"}, {"extra": 1}, {"task_id": "-"}])
def test_a_broken_head_fails_the_schema_and_the_import(change):
    told = json.loads(as_json(builders.a_draft())) | change
    assert not jsonschema_rs.is_valid(contract_schema(), told)
    assert read_document(json.dumps(told).encode()).problems


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "missing"),
        (b"{", "bad_json"),
        (b"[]", "wrong_type"),
        (b'{"a":1,"a":2}', "duplicate_key"),
        (b"\xff", "bad_unicode"),
        (b"\xef\xbb\xbf{}", "byte_order_mark"),
        (b"[" * 60 + b"]" * 60, "too_deep"),
        (b'{"revision": NaN}', "not_finite"),
    ],
)
def test_content_that_is_no_strict_json_is_one_problem(content, code):
    assert [problem.code for problem in read_document(content).problems] == [code]
