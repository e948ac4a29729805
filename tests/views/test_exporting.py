import hashlib
import json
import re

import jsonschema_rs
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from contracts.views import exporting
from tests import builders, documents, people
from tests.exports.telling import a_crowded_draft, as_json, as_text, store

pytestmark = pytest.mark.django_db
PAGES = ("contracts:export", "contracts:export_txt", "contracts:export_json")


def page(client, name, contract, **query):
    return client.get(reverse(name, args=[contract.task_id]), query)


def read(answer):
    """Read an answer to its end; the client then closes it without closing the test's connection."""
    return b"".join(answer)


@pytest.fixture
def contract():
    return store(documents.full_document())


@pytest.fixture
def exporter(client, contract):
    client.force_login(people.exporter(contract.team))
    return client


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_preview_download_and_shell_are_the_same_bytes(exporter, contract, language):
    shown = page(exporter, "contracts:export", contract, lang=language)
    loaded = page(exporter, "contracts:export_txt", contract, lang=language)
    content = read(loaded)
    assert content.decode() == as_text(contract, language) == shown.context["preview"]
    assert hashlib.sha256(content).hexdigest() == shown.context["txt_digest"]
    assert shown.context["txt_url"] == loaded.request["PATH_INFO"] + "?" + loaded.request["QUERY_STRING"]
    told = read(page(exporter, "contracts:export_json", contract))
    assert told == as_json(contract)
    assert hashlib.sha256(told).hexdigest() == shown.context["json_digest"]


def test_the_copy_button_takes_the_file_itself(exporter, contract):
    html = page(exporter, "contracts:export", contract, lang="zh-hans").content.decode()
    assert f'data-copy-url="{reverse("contracts:export_txt", args=[contract.task_id])}?lang=zh-hans"' in html
    assert 'data-copy-from="#preview"' in html


def test_the_languages_stand_above_what_they_govern(exporter, contract):
    html = page(exporter, "contracts:export", contract).content.decode()
    assert html.index('class="tabs') < html.index("data-copy-url") < html.index('id="preview"')


def test_paper_bears_id_revision_and_checksum(exporter, contract):
    answer = page(exporter, "contracts:export", contract)
    head = re.search(r'<p class="print-head">(.*?)</p>', answer.content.decode(), re.DOTALL)[1]
    for words in (contract.task_id, " 7 ", answer.context["txt_digest"]):
        assert words in head


@pytest.mark.parametrize("name", ["overview", "events", "timeline"])
def test_paper_of_every_page_bears_the_checksum_of_all_that_was_done(exporter, contract, name):
    html = page(exporter, f"contracts:{name}", contract).content.decode()
    head = re.search(r'<p class="print-head">(.*?)</p>', html, re.DOTALL)[1]
    contract.refresh_from_db()
    for words in (contract.task_id, " 7 ", f"sha256 {contract.event_head}"):
        assert words in head


@pytest.mark.parametrize(
    ("name", "ending", "kind"),
    [
        ("contracts:export_txt", "en.txt", "text/plain; charset=utf-8"),
        ("contracts:export_json", "json", "application/json"),
    ],
)
def test_a_file_says_what_it_is_and_is_not_sent_twice(exporter, contract, name, ending, kind):
    answer = page(exporter, name, contract)
    content = read(answer)
    assert answer["Content-Type"] == kind
    assert answer["Content-Disposition"] == f'attachment; filename="{contract.task_id}-r7.{ending}"'
    assert answer["Content-Length"] == str(len(content))
    assert answer["ETag"] == f'"{hashlib.sha256(content).hexdigest()}"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    again = exporter.get(reverse(name, args=[contract.task_id]), headers={"if-none-match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("name", PAGES)
def test_who_may_see_but_not_export_gets_403_and_a_stranger_404(client, contract, name):
    for person, status in (
        (people.viewer(contract.team), 403),
        (people.curator(contract.team), 403),
        (people.stranger(), 404),
        (people.neighbour(), 404),
        (people.owner(contract.team), 200),
    ):
        client.force_login(person)
        answer = page(client, name, contract)
        assert answer.status_code == status
        read(answer)


@pytest.mark.parametrize("name", PAGES)
def test_without_login_nothing_is_told(client, contract, name):
    answer = page(client, name, contract)
    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("account_login"))


@pytest.mark.parametrize("name", PAGES)
def test_exporting_changes_nothing_and_takes_no_post(exporter, contract, name):
    before = as_json(contract)
    assert exporter.post(reverse(name, args=[contract.task_id])).status_code == 405
    read(page(exporter, name, contract))
    assert as_json(contract) == before


@pytest.mark.parametrize("name", ["contracts:export", "contracts:export_txt"])
def test_an_unknown_language_is_refused_by_the_rules_name(exporter, contract, name):
    answer = page(exporter, name, contract, lang="de<b>")
    assert answer.status_code == 400
    assert answer["Content-Type"].startswith("text/plain")
    assert b"lang" in answer.content
    assert b"de" not in answer.content


def test_the_language_of_the_person_is_the_usual_one(exporter, contract):
    exporter.cookies["workbench_language"] = "zh-hans"
    assert page(exporter, "contracts:export", contract).context["language"] == "zh-hans"


def test_a_long_text_is_shown_to_its_first_lines_and_told_whole(exporter, contract, monkeypatch):
    monkeypatch.setattr(exporting, "PREVIEW_LINES", 20)
    answer = page(exporter, "contracts:export", contract, lang="en")
    whole = as_text(contract)
    assert answer.context["preview"] == "".join(whole.splitlines(keepends=True)[:20])
    assert answer.context["lines_left"] == whole.count("\n") - 20
    assert str(answer.context["lines_left"]) in answer.content.decode()


def test_user_text_is_escaped_in_the_preview(client):
    contract = store({**builders.head(), "identity": {"title": "<script>alert(1)</script>"}})
    client.force_login(people.owner(contract.team))
    html = page(client, "contracts:export", contract).content.decode()
    assert "<script>alert(1)" not in html
    assert "&lt;script&gt;alert(1)" in html


@pytest.mark.parametrize("name", PAGES)
def test_the_number_of_queries_does_not_depend_on_the_number_of_objects(client, name):
    counts = []
    for count in (10, 2_000):
        contract = a_crowded_draft(count)
        client.force_login(people.owner(contract.team))
        read(page(client, name, contract))  # whatever is read once for a process is read now
        with CaptureQueriesContext(connection) as log:
            read(page(client, name, contract))
        counts.append(len(log))
    assert counts[0] == counts[1]


def test_the_schema_is_public_and_describes_the_download(client, contract):
    answer = client.get(reverse("contracts:schema"))
    assert answer["Content-Type"] == "application/schema+json"
    validator = jsonschema_rs.validator_for(json.loads(answer.content))
    client.force_login(people.exporter(contract.team))
    assert validator.is_valid(json.loads(read(page(client, "contracts:export_json", contract))))
