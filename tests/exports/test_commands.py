import io
import json
import re
import sys

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.core.management import CommandError, call_command

from contracts.exports.schema import schema_text
from contracts.management.commands.create_examples import machine_language
from contracts.management.example_tasks import WORKERS, find_or_create
from contracts.models import Contract, Event, PlaneRow, ReservedTaskId, Team
from contracts.rules.vocabulary import ActorKind, Role
from tests import builders, documents, people
from tests.exports.telling import as_json, as_text, store

pytestmark = pytest.mark.django_db


def run(*words, **options):
    """Return what a command wrote on the standard output and on the standard error."""
    out, error = io.StringIO(), io.StringIO()
    try:
        call_command(*map(str, words), stdout=out, stderr=error, **options)
    except CommandError as refused:
        return out.getvalue(), error.getvalue(), str(refused)
    return out.getvalue(), error.getvalue(), ""


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_export_writes_the_bytes_of_the_browser_to_the_standard_output(language, monkeypatch):
    contract = store(documents.full_document())
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", newline="\r\n"))
    call_command("export", contract.task_id, "--format", "txt", "--lang", language)
    assert raw.getvalue().decode() == as_text(contract, language)


def test_export_writes_a_file_whole_or_not_at_all(tmp_path):
    contract = store(documents.full_document())
    file = tmp_path / "contract.json"
    run("export", contract.task_id, "--format", "json", "--output", file)
    assert file.read_bytes() == as_json(contract)
    assert list(tmp_path.iterdir()) == [file]
    _, _, refused = run("export", contract.task_id, "--output", tmp_path / "missing" / "contract.txt")
    assert "cannot be written" in refused


def test_export_names_a_task_that_is_not_there():
    assert "nobody" in run("export", "nobody")[2]


def test_import_gives_the_contract_back_under_another_id(tmp_path):
    contract = store(documents.full_document())
    file = tmp_path / "contract.json"
    file.write_bytes(as_json(contract))
    out, _, refused = run("import_contract", file, "--task-id", "again")
    assert (refused, "again" in out) == ("", True)
    assert as_text(Contract.objects.get(task_id="again")).count("\n") > 300
    event = Event.objects.get(contract__task_id="again")
    assert (event.actor, event.actor_kind) == ("olga", ActorKind.SYSTEM.value)


def test_import_with_a_name_lets_that_person_own_it(tmp_path):
    team = builders.a_team()
    people.owner(team)
    people.reviewer(team)
    file = tmp_path / "contract.json"
    file.write_text(json.dumps(builders.head("named", team)))
    assert run("import_contract", file, "--as", "rita")[2] == ""
    event = Event.objects.get(contract__task_id="named")
    assert (event.actor, event.actor_kind) == ("rita", ActorKind.PERSON.value)
    assert "here already" in run("import_contract", file, "--as", "rita")[0]


def test_import_tells_every_problem_by_pointer_and_stores_nothing(tmp_path):
    raw = documents.full_document()
    people.owner(builders.a_team())
    raw["objects"][0]["state"] = "finished"
    raw["sources"][0]["sha256"] = "abc"
    raw["usage"][0]["amount"] = "a lot"
    file = tmp_path / "contract.json"
    file.write_text(json.dumps(raw))
    out, error, refused = run("import_contract", file)
    assert out == ""
    assert {line.split(":")[0] for line in error.splitlines()} == {
        "/objects/0/state",
        "/sources/0/sha256",
        "/usage/0/amount",
    }
    assert refused.startswith("3 problems")
    assert not Contract.objects.exists()
    assert not ReservedTaskId.objects.exists()


def test_import_refuses_a_task_id_that_was_used_with_another_plan(tmp_path):
    contract = store(documents.full_document())
    file = tmp_path / "contract.json"
    file.write_bytes(as_json(contract).replace(b"Labels of the spring show", b"Labels of the autumn show"))
    before = as_json(contract)
    _, error, _ = run("import_contract", file)
    assert "[task_id_taken]" in error
    assert as_json(contract) == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--team", "nowhere"], "There is no team “nowhere”"),
        (["--team", "empty"], "no active reviewer"),
        (["--as", "victor"], "victor is no active reviewer"),
    ],
)
def test_import_says_who_or_what_is_missing(tmp_path, words, told):
    team = builders.a_team()
    people.viewer(team)
    builders.a_team("empty")
    file = tmp_path / "contract.json"
    file.write_text(json.dumps(builders.head("t", team)))
    assert told in run("import_contract", file, *words)[2]


def test_import_names_a_file_that_cannot_be_read(tmp_path):
    assert "cannot be read" in run("import_contract", tmp_path / "missing.json")[2]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_examples_are_made_once_and_their_people_can_log_in(language):
    out = run("create_examples", "--lang", language)[0]
    passwords = dict(re.findall(r"^  (\w+) +(\S+)", out, re.MULTILINE))
    assert set(passwords) == {"viewer", "reviewer", "curator", "operator"}
    for username, password in passwords.items():
        assert authenticate(username=username, password=password) is not None
    states = dict(Contract.objects.values_list("task_id", "state"))
    assert states == {"archive-photographs": "paused", "museum-label": "draft"}
    before = Event.objects.count()
    assert run("create_examples", "--lang", language) == ("", "", "")
    assert Event.objects.count() == before
    assert get_user_model().objects.count() == 4


@pytest.mark.parametrize(("language", "han"), [("en", False), ("zh-hans", True)])
def test_examples_are_written_in_the_language_asked_for(language, han):
    run("create_examples", "--lang", language)
    written = [Team.objects.get().name, *PlaneRow.objects.values_list("readers", flat=True)]
    for contract in Contract.objects.all():
        written += [contract.title, contract.purpose, contract.accountable_owner]
    assert len(written) == 1 + 10 + 6
    assert {bool(re.search("[\u4e00-\u9fff]", words)) for words in written} == {han}


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh-hans"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_GB.UTF-8", "LC_MESSAGES": "zh_SG", "LC_ALL": ""}, "zh-hans"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_examples_are_in_the_language_of_the_machine_unless_asked_otherwise(environment, language):
    assert machine_language(environment) == language


def test_the_tasks_of_the_example_workers_are_in_the_language_asked_for():
    run("create_examples", "--people-only")
    for name in WORKERS:
        contract = find_or_create(name, "zh-hans")
        assert (contract.state, contract.title.isascii()) == ("paused", False)
        assert find_or_create(name, "en") == contract  # what is begun goes on as it is


def test_people_alone_can_be_made_and_the_contracts_later():
    assert "reviewer" in run("create_examples", "--people-only")[0]
    assert not Contract.objects.exists()
    assert run("create_examples") == ("", "", "")
    assert Contract.objects.count() == 2


def test_a_workbench_in_use_gets_no_examples():
    builders.a_team()
    assert run("create_examples") == ("", "", "")
    assert not get_user_model().objects.exists()
    assert not Contract.objects.exists()


@pytest.mark.parametrize("roles", [["reviewer", "exporter"], ["reviewer", "--role", "exporter"]])
def test_add_person_shows_a_password_that_works(roles):
    out = run("add_person", "mei", "--team", "labels", "--team-name", "Labels", "--role", *roles)[0]
    password = re.match(r"mei  (\S+)\n", out)[1]
    person = authenticate(username="mei", password=password)
    roles = {group.team_role.role for group in person.groups.all()}
    assert roles == {Role.REVIEWER.value, Role.EXPORTER.value}


@pytest.mark.parametrize(
    ("username", "told"), [("victor", "already"), ("no spaces please", "username"), ("mei", "no team")]
)
def test_add_person_refuses_in_one_sentence(username, told):
    people.viewer(builders.a_team())
    team = "nowhere" if username == "mei" else "labels"
    assert told in run("add_person", username, "--team", team, "--role", "viewer")[2]
    assert Team.objects.count() == 1


def test_add_person_stores_where_notices_are_mailed_to():
    builders.a_team()
    run("add_person", "mei", "--team", "labels", "--role", "viewer", "--email", "mei@example.org")
    assert get_user_model().objects.get(username="mei").email == "mei@example.org"
    told = run("add_person", "ada", "--team", "labels", "--role", "viewer", "--email", "nobody")[2]
    assert "email" in told
    assert not get_user_model().objects.filter(username="ada").exists()


def test_contract_schema_prints_the_schema():
    assert run("contract_schema")[0] == schema_text()
