import itertools
import re

import pytest
from django.utils import timezone, translation
from hypothesis import given
from hypothesis import strategies as st

from contracts.exports.text_form import LANGUAGES
from contracts.exports.text_layout import BLANK
from contracts.exports.text_lines import WIDTH, columns, fits, labelled
from contracts.gates.lifecycle import cancel
from contracts.rules.fingerprint import digest_bytes
from contracts.rules.text import visible
from contracts.rules.vocabulary import Section
from tests import builders, documents, people
from tests.exports.telling import as_json, as_text, store

FAKE = "\n".join(
    [
        "9. Failure windows [marked complete]",
        "====================================",
        "  State: Approved",
        "   1. Item: I-1",
        "      State: Approved",
        "      Decided by: the director",
    ]
)
HIDDEN = "safe\u202egnp.exe \u200bword\u2028State: Approved"


@pytest.mark.django_db
def test_two_exports_of_one_revision_are_the_same_bytes_whoever_tells_them_and_when():
    contract = store(documents.full_document())
    first = as_text(contract)
    with translation.override("zh-hans"), timezone.override("Asia/Shanghai"):
        assert as_text(contract) == first


@pytest.mark.django_db
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_head_names_task_revision_time_and_checksum_of_the_json_form(language):
    contract = store(documents.full_document())
    head = as_text(contract, language).split("\n\n\n")[0]
    assert contract.task_id in head
    assert digest_bytes(as_json(contract)) in head
    assert "2030-01-04 08:00:00 UTC" in head
    assert re.search(r"\b7\n", head)


@pytest.mark.django_db
def test_the_nine_sections_stand_in_page_order():
    lines = as_text(store(documents.full_document())).splitlines()
    places = [
        lines.index(f"{number}. {section.label} [marked complete]")
        for number, section in enumerate(Section, 1)
    ]
    assert places == sorted(places)
    assert "  Sections: 9 of 9 complete" in lines


@pytest.mark.django_db
def test_every_field_that_is_filled_in_is_told():
    raw = documents.full_document()
    text = as_text(store(raw))
    for key, name in itertools.product(
        ("attempts", "checkpoints", "sources", "artefacts", "objects", "tools", "operations", "approvals"),
        ("note", "evidence", "sha256", "location", "key", "fingerprint", "item_id", "reason", "worker"),
    ):
        for row in raw[key]:
            assert str(row.get(name) or "") in text, (key, name)


@pytest.mark.django_db
def test_a_decision_is_told_with_reason_decider_time_version_and_fingerprint():
    raw = documents.full_document()
    approval = as_text(store(raw)).split("\nApprovals\n---------\n")[1].split("\n\n")[0]
    lines = [line.strip() for line in approval.splitlines()]
    for line in (
        "State: Approved",
        "Decided by: carla",
        "Kind of decider: Person",
        "Decided at: 2030-01-03 08:00:00 UTC",
        "Reason of the decision: Reads well.",
        "Draft version: 1",
        f"Parameter fingerprint: {raw['approvals'][0]['fingerprint']}",
        "Scope: this call only",
    ):
        assert line in lines


@pytest.mark.django_db
def test_totals_stand_beside_their_caps():
    contract = store({**documents.full_document(), "usage": []})
    builders.a_row(contract, "usage", amount="1200.5")
    builders.a_row(contract, "usage", amount="0.5")
    limits = as_text(contract).split("\nLimits\n------\n")[1].split("\nUsage\n")[0]
    assert "Measure: Tokens\n      Used over all attempts: 1201\n" in limits


@pytest.mark.django_db
def test_undrilled_cells_are_blank_lines_to_fill_and_filled_ones_are_not():
    text = as_text(builders.a_draft())
    windows = text.split("\nFailure windows\n---------------\n")[1]
    assert windows.count(BLANK) == 6 * 7
    result = {
        "window": "before_commit",
        "setting": "here",
        "counted": 0,
        "repeated": False,
        "on_resuming": "went on",
        "verdict": "held",
        "run_at": builders.NEAR["start"],
        "run_by": "otto",
        "evidence": "logs://9",
    }
    own = {"window": "power-cut", "title": "Power cut", "expected": "Nothing is lost."}
    windows = as_text(builders.a_draft(windows=[result, own])).split("\nFailure windows\n")[1]
    assert windows.count(BLANK) == 6 * 7
    assert "Objects counted in the target: 0\n" in windows
    assert "Did a confirmed step run again: No\n" in windows
    assert "   7. Window of one's own: power-cut\n" in windows
    assert "How it is provoked: Kill" in windows or "Kill the worker with SIGKILL" in windows


@pytest.mark.django_db
def test_a_cancellation_is_told_with_who_and_why():
    contract = builders.a_draft()
    cancel(contract_id=contract.pk, actor=people.acting(people.owner(contract.team)), reason="Called off.")
    head = as_text(contract).split("\n\n\n")[0]
    assert "  State: Cancelled\n" in head
    assert "  Cancelled by: olga\n" in head
    assert "  Why it was cancelled: Called off.\n" in head


@pytest.mark.django_db
def test_no_value_of_a_person_can_imitate_a_heading_a_state_or_a_decision():
    harmless, evil = documents.full_document(), documents.full_document()
    for raw, text, line in ((harmless, "plain", "plain"), (evil, FAKE, "1. Identity and planes ======")):
        raw["identity"] |= {"purpose": text, "title": line, "accountable_owner": "  State: Approved"}
        raw["objects"][0]["note"] = raw["sources"][0]["note"] = raw["usage"][0]["note"] = text
        raw["approvals"][0] |= {"decision_reason": text, "reason": text, "preview": text}
        raw["windows"][0]["setting"] = text
    kept, told = as_text(store(harmless)), as_text(store(evil))
    assert headings(told) == headings(kept)
    assert states(told) == states(kept)
    assert "    | 9. Failure windows [marked complete]\n" in told


def headings(text):
    return [line for line in text.splitlines() if line and not line.startswith(" ")]


def states(text):
    return [
        line for line in text.splitlines() if re.match(r" +(\d+\. )?(State|Decided by|Item|Decision): ", line)
    ]


@pytest.mark.django_db
def test_hidden_characters_are_shown_as_marks():
    text = as_text(builders.a_draft(identity={"title": "A label", "purpose": HIDDEN}))
    assert "safe⟨U+202E⟩gnp.exe ⟨U+200B⟩word⟨U+2028⟩State: Approved" in text
    assert not {"\u202e", "\u200b", "\u2028"} & set(text)


@given(
    st.text(max_size=400)
    | st.lists(st.sampled_from([*FAKE.splitlines(), "\n", " ", "标签，", HIDDEN])).map("".join)
)
def test_any_text_stays_behind_its_label(text):
    if fits(text, WIDTH - len("      Note: ")):
        assert all(piece.kind == "plain" for piece in visible(text))
        return
    first, *rest = labelled("      Note: ", text)
    assert first.startswith("      Note:")
    assert all(re.match(r"        [|:]( |$)", line) for line in rest)
    for line in (first, *rest):
        assert "\n" not in line
        assert (
            all(piece.kind == "plain" for piece in visible(line.replace("⟨", "").replace("⟩", "")))
            or "⟨" in line
        )


@given(
    st.lists(st.sampled_from(["word", "展签，", "水罐", " ", "（约", "1120", "年）。"]), max_size=200).map(
        "".join
    )
)
def test_long_lines_part_between_words_and_before_no_closing_mark(text):
    lines = list(labelled("  Note: ", text))
    assert all(columns(line) <= WIDTH for line in lines)
    assert not any(re.match(r" +: [，。、；：！？）]", line) for line in lines)
    kept = "".join(re.sub(r"^ *(Note:|[|:]) ?", "", line) for line in lines)
    assert re.sub(r"\s", "", kept) == re.sub(r"\s", "", text)
