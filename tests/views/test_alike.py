"""Rows that share one rendering read exactly as if each had been rendered by itself."""

import re

import pytest
from django.utils import translation

from contracts.gates.objects import add_lines
from contracts.models import WorkObject
from contracts.rules.parts import PARTS
from contracts.rules.states import ObjectState
from contracts.rules.vocabulary import Section
from contracts.views.tables import ShownRow
from tests import builders, people
from tests.views.test_queries import filled
from tests.views.visiting import address, visitor

pytestmark = pytest.mark.django_db
# A token and a mark of the session are made anew for each answer; what a page says of its own time as well.
FRESH = re.compile(r'nonce="[^"]*"|"[\w:-]{64,}"|datetime="[^"]*"|title="2[^"]*"')


def shown(client, contract, section):
    answer = client.get(address("section", contract.task_id, section))
    assert answer.status_code == 200
    return FRESH.sub("", answer.content.decode())


def by_itself(monkeypatch):
    """Let every row be rendered by the template alone."""
    monkeypatch.setattr(ShownRow, "shape", None)


@pytest.fixture
def team():
    return builders.a_team()


@pytest.fixture
def worked(team):
    return filled(team, 6)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("section", Section)
def test_every_table_reads_as_if_each_row_was_rendered_alone(worked, team, monkeypatch, section, language):
    states = [ObjectState.PENDING, ObjectState.IN_PROGRESS]
    for place, row in enumerate(WorkObject.objects.of(worked.pk)):
        WorkObject.objects.filter(pk=row.pk).update(
            state=states[place % len(states)].value, evidence="s3://x" * (place % 2)
        )
    client = visitor(people.owner(team))
    client.cookies["django_language"] = language
    with translation.override(language):
        together = shown(client, worked, section)
        by_itself(monkeypatch)
        assert together == shown(client, worked, section)


def test_whoever_may_only_look_is_offered_nothing_by_a_shared_row(worked, team, monkeypatch):
    client = visitor(people.viewer(team))
    together = shown(client, worked, Section.OBJECTS)
    assert "O-5" in together
    assert 'name="object"' not in together
    by_itself(monkeypatch)
    assert together == shown(client, worked, Section.OBJECTS)


def test_what_people_typed_stays_text_and_in_its_own_row(team, monkeypatch):
    contract = builders.a_draft(team)
    builders.a_row(contract, "tool")
    hostile = [
        "<b>&amp;\"'",
        "{{ 7 }}%s",
        "1000000000000000002",
        "\u202e⟨",
        "\N{CYRILLIC SMALL LETTER A}pple",
    ]
    lines = [
        {
            "source_id": f"S-{n}",
            "version_label": text.replace("\u202e", ""),
            "sha256": "a" * 64,
            "location": f"s3://{n}",
        }
        for n, text in enumerate(hostile)
    ]
    actor = people.acting(people.owner(team))
    add_lines(contract_id=contract.pk, actor=actor, part=PARTS["source"], lines=lines)
    client = visitor(people.owner(team))
    together = shown(client, contract, Section.OBJECTS)
    by_itself(monkeypatch)
    assert together == shown(client, contract, Section.OBJECTS)


def test_requests_for_a_decision_keep_their_own_links(monkeypatch):
    first = builders.a_call()
    contract = first.contract
    items = [
        builders.a_waiting_item(first),
        builders.a_waiting_item(builders.a_call(contract, round=2, parameters={"n": 2})),
    ]
    client = visitor(people.owner(contract.team))
    together = shown(client, contract, Section.APPROVALS)
    for item in items:
        assert together.count(address("approval", contract.task_id, item.item_id)) == 1
    by_itself(monkeypatch)
    assert together == shown(client, contract, Section.APPROVALS)


def test_a_page_of_rows_renders_the_template_once_a_shape(worked, team, monkeypatch):
    rendered = []
    blank = ShownRow.blank
    monkeypatch.setattr(ShownRow, "blank", lambda row, marks: rendered.append(row) or blank(row, marks))
    shown(visitor(people.owner(team)), worked, Section.OBJECTS)
    assert [row.part.name for row in rendered] == ["object"]
