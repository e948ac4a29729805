import json
import re

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils.translation import gettext, override

from contracts.models import Contract
from contracts.rules.parts import PARTS
from contracts.rules.vocabulary import Section
from contracts.rules.windows import Window, WindowVerdict
from contracts.views.worksheet import WORKSHEET_MAX_BYTES
from tests import builders, people
from tests.rules.test_credentials import filler
from tests.views.visiting import queries, visitor, words

pytestmark = pytest.mark.django_db
WHERE = "/worksheet/"
TYPED = {
    "task_id": "label-0042",
    "identity-title": "Label for the fired-clay bowl",
    "identity-acceptance": "person",
    "identity-deadline": "2031-05-31T18:00:00",
    "plane-progress-authority": "cms:progress",
    "source-1-source_id": "P-1",
    "source-1-version_label": "1",
    "source-1-sha256": "a" * 64,
    "source-1-location": "archive://box-17/p-1.tif",
    "source-3-source_id": "P-2",
    "source-3-version_label": "1",
    "source-3-sha256": "b" * 64,
    "source-3-location": "archive://box-17/p-2.tif",
    "object-1-object_id": "O-1",
    "object-1-source": "P-1",
    "object-1-step": "describe",
    "attempt-1-attempt_id": "A-1",
    "attempt-1-worker": "label-worker",
    "attempt-1-started_at": "2026-01-01T10:00:00",
    "attempt-1-evidence": "logs://1",
    "usage-1-measure": "tool_attempts",
    "usage-1-amount": "3",
    "usage-1-attempt": "1",
    "usage-1-evidence": "ledger://1",
    "tool-1-tool": "cms.publish",
    "tool-1-effect": "idempotent_write",
    "tool-1-key_supported": "on",
    "tool-1-same_key": "not_known",
    "tool-1-concurrency": "one_at_a_time",
    "tool-1-stale_owner": "none",
    "operation-1-tool": "cms.publish",
    "operation-1-step": "publish",
    "operation-1-round": "1",
    "operation-1-parameters": '{"page": "label-1"}',
    "operation-1-target": "cms://pages/label-1",
    "operation-1-expected": "one page",
    "limit-tool_attempts-cap": "40",
    "limit-cost-cap": "20",
    "limit-cost-currency": "EUR",
    "policy-quorum": "2",
    "policy-default_expiry_hours": "24",
    "policy-longest_expiry_hours": "72",
    "policy-login_fresh_seconds": "300",
    "policy-on_timeout": "refuse",
    "gate-lease_seconds": "90",
    "gate-renew_seconds": "30",
    "window-receipt_lost-setting": "twelve labels",
    "window-1-window": "power_cut",
    "window-1-setting": "the plug",
    "complete-identity": "on",
}


def ask(step, client=None, **typed):
    return (client or Client()).post(WHERE, {"step": step, **typed})


def text_of(**typed):
    answer = ask("txt", **typed)
    assert answer.status_code == 200
    return answer.content.decode()


def shown(answer):
    found = re.search(r'<pre class="preview".*?>(.*?)</pre>', answer.content.decode(), re.DOTALL)
    return found[1].replace("&quot;", '"').replace("&#x27;", "'").replace("&lt;", "<").replace("&amp;", "&")


def test_whoever_is_not_logged_in_gets_the_nine_sections_blank():
    answer = Client().get(WHERE)
    assert answer.status_code == 200
    page = words(answer)
    for section in Section:
        assert f'id="section-{section.value}"' in page
    for window in Window:
        assert f'name="window-{window.value}-setting"' in page
    assert "no-store" in answer["Cache-Control"]


def test_it_asks_for_every_field_that_people_fill_in_and_for_no_other():
    page = Client().get(WHERE).content.decode()
    asked = set(re.findall(r'name="([a-z]+-[A-Za-z0-9_-]+)"', page))
    for part in PARTS.values():
        names = {name.rpartition("-")[2] for name in asked if name.startswith(f"{part.name}-")}
        assert names - {""} == {field.name for field in part.given}, part.name


def test_the_page_needs_no_query_whatever_is_posted():
    assert queries(Client(), WHERE) == 0


def test_the_text_of_a_blank_sheet_shows_blanks_to_fill():
    text = text_of()
    assert "  Task id: ____\n" in text
    assert "  Team: ____\n" in text
    assert text.count("Verdict: ____") == len(Window)
    assert gettext(WindowVerdict.HELD.label) + "\n" not in text
    assert "Revision: none" in text
    assert "SHA-256 of the JSON form" not in text


def test_no_verdict_stands_anywhere_by_default():
    page = Client().get(WHERE).content.decode()
    for select in re.findall(r'<select name="window-[^"]*-verdict".*?</select>', page, re.DOTALL):
        assert re.search(r'<option value="" selected>', select)


def test_the_text_holds_what_was_typed():
    text = text_of(**TYPED)
    for words_ in (
        "Task id: label-0042",
        "Title: Label for the fired-clay bowl",
        "2031-05-31 18:00:00 UTC",
        "Where its authority lives: cms:progress",
        "Location: archive://box-17/p-2.tif",
        "Not started: 1",
        "Used over all attempts: 3",
        "Cap: 40",
        "Setting: twelve labels",
        "Window of one's own: power_cut",
        "Curators that must agree: 2",
        "[marked complete]",
        "1 of 9 complete",
    ):
        assert words_ in text
    assert text.index("P-1") < text.index("P-2")


def test_preview_and_text_are_the_same_bytes_in_both_languages():
    for language in ("en", "zh-hans"):
        client = Client()
        client.cookies[settings.LANGUAGE_COOKIE_NAME] = language
        got = ask("txt", client, **TYPED)
        assert shown(ask("preview", client, **TYPED)) == got.content.decode()
        with override(language):
            assert gettext("Resume-state contract") in got.content.decode()
        assert f"label-0042-worksheet.{language}.txt" in got["Content-Disposition"]


def test_half_a_row_is_text_as_well():
    text = text_of(**{"tool-1-tool": "cms.publish", "checkpoint-4-checkpoint_id": "C-1"})
    assert "cms.publish" in text
    assert "C-1" in text


def test_what_cannot_be_read_is_said_at_its_field_and_nothing_typed_is_lost():
    typed = {**TYPED, "gate-lease_seconds": "two minutes", "source-3-sha256": "abc"}
    for step in ("txt", "preview"):
        answer = ask(step, **typed)
        assert answer.status_code == 422
        page = words(answer)
        assert 'value="two minutes"' in page
        assert 'id="id_gate-lease_seconds_error"' in page
        assert 'id="id_source-3-sha256_error"' in page
        assert 'value="archive://box-17/p-2.tif"' in page
        assert "<title>Error:" in page.replace("<title> Error:", "<title>Error:")


def test_no_text_is_made_of_what_looks_like_a_credential():
    secret = "gh" + "p_" + filler(36)
    answer = ask("txt", **{"identity-title": "A label", "identity-purpose": f"use {secret}"})
    assert answer.status_code == 422
    assert "GitHub token" in words(answer)


def test_htmx_gets_the_form_alone_with_nothing_for_browsers_without_scripts():
    answer = Client().post(WHERE, {"step": "preview", **TYPED}, headers={"HX-Request": "true"})
    page = answer.content.decode()
    assert page.lstrip().startswith("<form")
    assert "<noscript>" not in page
    assert 'id="preview"' in page


def test_without_scripts_further_rows_are_asked_for():
    page = Client().get(WHERE).content.decode()
    assert 'name="object-2-object_id"' in page
    assert 'name="object-4-object_id"' not in page
    more = ask("more-object", **{"object-1-object_id": "O-1", "object-2-object_id": "O 2"}).content.decode()
    assert 'name="object-6-object_id"' in more
    assert 'value="O-1"' in more
    assert ask("more-nothing").status_code == 200


def test_too_much_is_refused_before_it_is_read():
    answer = ask("txt", **{"identity-purpose": "x" * WORKSHEET_MAX_BYTES})
    assert answer.status_code == 413
    assert "too large" in words(answer)
    many = {f"object-{number}-object_id": "" for number in range(settings.DATA_UPLOAD_MAX_NUMBER_FIELDS)}
    assert ask("txt", **many).status_code == 413


def test_too_many_texts_in_a_minute_are_refused(settings):
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"worksheet": "2/m/ip"}
    assert [ask("txt").status_code for _ in range(3)] == [200, 200, 429]
    assert Client().get(WHERE).status_code == 200


def test_nothing_of_it_is_stored():
    before = Contract.objects.count(), Session.objects.count()
    text_of(**TYPED)
    ask("preview", **TYPED)
    assert (Contract.objects.count(), Session.objects.count()) == before


def test_whoever_would_take_it_in_logs_in_first():
    answer = ask("take", **TYPED)
    assert (answer.status_code, answer["Location"]) == (302, f"/login/?next={WHERE}")


def taken(typed):
    team = builders.a_team()
    client = visitor(people.reviewer(team))
    answer = client.post(WHERE, {"step": "take", "from": "worksheet", **typed})
    if answer.status_code != 307:
        return client, answer
    assert answer["Location"] == reverse("contracts:new")
    return client, client.post(answer["Location"], {"step": "take", "from": "worksheet", **typed})


def test_it_is_taken_in_by_way_of_the_preview_of_an_import():
    client, answer = taken(TYPED)
    assert answer.status_code == 200
    page = words(answer)
    assert "This will be created" in page
    assert "Label for the fired-clay bowl" in page
    carried = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    text = re.search(r'<textarea name="text" hidden>\s(.*?)</textarea>', answer.content.decode(), re.DOTALL)[
        1
    ]
    text = text.replace("&quot;", '"').replace("&amp;", "&")
    assert json.loads(text)["operations"][0]["parameters"] == {"page": "label-1"}
    made = client.post("/contracts/new/", {**carried, "text": text, "step": "create"})
    assert made.status_code == 302
    contract = Contract.objects.get(task_id="label-0042")
    assert (contract.title, contract.generation) == ("Label for the fired-clay bowl", 1)


def test_what_no_contract_may_be_made_of_is_said_at_its_field():
    typed = {**TYPED, "object-1-source": "P-9", "task_id": ""}
    _, answer = taken(typed)
    assert answer.status_code == 422
    assert 'id="id_task_id_error"' in words(answer)
    _, answer = taken({**TYPED, "object-1-source": "P-9"})
    assert 'id="id_object-1-source_error"' in words(answer)
    _, answer = taken({**TYPED, "source-3-location": ""})
    assert 'id="id_source-3-location_error"' in words(answer)


def test_login_and_new_contract_lead_to_it():
    assert f'href="{WHERE}"' in words(Client().get("/login/"))
    client = visitor(people.reviewer(builders.a_team()))
    assert f'href="{WHERE}"' in words(client.get("/contracts/new/"))


def test_a_post_without_the_token_of_the_form_is_refused():
    assert Client(enforce_csrf_checks=True).post(WHERE, {"step": "txt"}).status_code == 403


@pytest.mark.parametrize("method", ["put", "patch", "delete", "options"])
def test_it_is_read_and_posted_to_and_nothing_else(method):
    assert getattr(Client(), method)(WHERE).status_code == 405
