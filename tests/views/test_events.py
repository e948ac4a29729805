import pytest

from contracts.gates.lifecycle import leave_draft
from contracts.gates.objects import add_lines
from contracts.gates.people import share
from contracts.gates.rows import add_row, edit_row, mark_section, remove_row
from contracts.models import Event, WindowRow
from contracts.models.events import EventQuerySet
from contracts.rules.parts import PARTS
from contracts.rules.vocabulary import Right, Section
from contracts.rules.windows import Window
from contracts.views import events, history
from tests import builders, people
from tests.views.visiting import HTMX, address, queries, visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return builders.a_team()


def seen(contract, person, **query):
    return visitor(person).get(address("events", contract.task_id, **query))


def sequences(answer):
    return [one.event.sequence for one in answer.context["events"]]


def many_objects(contract, number):
    lines = [{"object_id": f"N-{line}"} for line in range(number)]
    actor = people.acting(people.owner(contract.team))
    builders.done(add_lines(contract_id=contract.pk, actor=actor, part=PARTS["object"], lines=lines))


def newest(contract):
    return history.told(Event.objects.of(contract.pk).last())


def test_a_stranger_finds_nothing(team):
    contract = builders.a_draft(team)
    assert seen(contract, people.stranger()).status_code == 404
    assert seen(contract, people.viewer(team)).status_code == 200


def test_the_newest_event_comes_first_fifty_on_a_page(team):
    contract = builders.a_draft(team)
    many_objects(contract, 60)
    answer = seen(contract, people.viewer(team))
    assert sequences(answer) == list(range(61, 11, -1))
    assert sequences(seen(contract, people.viewer(team), page=2)) == list(range(11, 0, -1))


def test_it_filters_by_actor_part_kind_and_refusal(team):
    contract, rita = builders.a_draft(team), people.reviewer(team)
    many_objects(contract, 2)
    who = {"contract_id": contract.pk, "actor": people.acting(rita)}
    mark_section(section=Section.LIMITS, complete=True, **who)
    assert leave_draft(**who).code == "incomplete"
    viewer = people.viewer(team)
    for typed in ("rita", "Rita"):  # the login name, and what people are called
        assert sequences(seen(contract, viewer, actor=typed)) == [5, 4]
    assert ">Rita</a>" in words(seen(contract, viewer))
    assert sequences(seen(contract, viewer, part="object")) == [3, 2]
    assert sequences(seen(contract, viewer, kind="mark")) == [4]
    assert sequences(seen(contract, viewer, refused="on")) == [5]
    assert sequences(seen(contract, viewer, actor="rita", part="mark")) == [4]


@pytest.mark.parametrize("query", [{"part": "x"}, {"kind": "x"}, {"actor": "a\x00"}, {"page": "-4"}])
def test_a_filter_that_makes_no_sense_filters_nothing(team, query):
    assert sequences(seen(builders.a_draft(team), people.viewer(team), **query)) == [1]


def test_a_change_shows_only_what_differs(team):
    contract, owner = builders.a_complete_draft(team), people.owner(team)
    values = {
        **builders.complete_keys()["identity"],
        "agent_version": "agent 2",
        "readable_schema_versions": "1",
    }
    who = {"contract_id": contract.pk, "actor": people.acting(owner)}
    builders.done(edit_row(part=PARTS["identity"], row_id=contract.pk, version=1, values=values, **who))
    (change,) = newest(contract).changes
    assert (change.label, change.before.value, change.after.value) == (
        "Agent or SDK version",
        "agent 1.2",
        "agent 2",
    )


def test_a_new_row_shows_what_is_filled_in(team):
    contract = builders.a_draft(team)
    builders.a_row(contract, "source", size_bytes="")
    told = newest(contract)
    assert (told.act, told.part) == ("Added", "Source")
    assert [change.label for change in told.changes] == [
        "Source id",
        "Version",
        "SHA-256",
        "Location",
        "Current",
    ]
    assert {change.before.kind for change in told.changes} == {"empty"}


def test_a_removed_row_shows_what_it_was(team):
    contract, owner = builders.a_draft(team), people.owner(team)
    row = builders.a_row(contract, "source")
    who = {"contract_id": contract.pk, "actor": people.acting(owner)}
    builders.done(remove_row(part=PARTS["source"], row_id=row.pk, version=row.version, **who))
    told = newest(contract)
    assert told.changes
    assert {change.after.kind for change in told.changes} == {"empty"}


def test_a_refusal_says_why(team):
    contract, owner = builders.a_draft(team), people.owner(team)
    who = {"contract_id": contract.pk, "actor": people.acting(owner)}
    assert add_row(part=PARTS["source"], values={}, **who).code == "bad_values"
    assert newest(contract).refused.startswith("Some fields need attention; nothing was stored.")
    assert leave_draft(**who).code == "incomplete"
    assert newest(contract).refused == "incomplete"


def test_rights_and_marks_are_told_in_words(team):
    contract, owner = builders.a_draft(team), people.owner(team)
    who = {"contract_id": contract.pk, "actor": people.acting(owner)}
    builders.done(share(username=people.stranger().username, rights=frozenset({Right.FILL}), **who))
    assert [c.after.value for c in newest(contract).changes] == ["Fill in the contract, See the contract"]
    builders.done(mark_section(section=Section.LIMITS, complete=True, **who))
    assert [(c.label, c.after.value) for c in newest(contract).changes] == [("Complete", "yes")]


def test_subjects_are_told_by_what_people_call_them(team):
    contract, owner = builders.a_paused(team), people.owner(team)
    who = {"contract_id": contract.pk, "actor": people.acting(owner)}
    builders.done(mark_section(section=Section.OWNER, complete=False, **who))
    event = newest(contract)
    assert (event.act, event.part, event.name, event.code) == (
        "Section marked",
        "",
        "Owner gate and attempts",
        "",
    )
    operation = builders.a_row(contract, "operation")
    event = newest(contract)
    assert (event.part, event.name, event.code) == ("Operation", operation.natural_key(), "")
    page = words(seen(contract, owner))
    assert f"<code>{operation.natural_key()}</code>" not in page
    assert "<code>owner</code>" not in page
    assert f"<code>{contract.task_id}</code>" in page  # an id stays an id


def test_an_approval_is_told_by_its_call_and_its_id(team):
    item = builders.a_decided_item(builders.a_call(builders.a_paused(team, **builders.keys_of_a_call({}))))
    told = seen(item.contract, people.viewer(team)).context["events"]
    named = {(one.name, one.code) for one in told if one.event.part == "approval"}
    assert named == {("cms.publish → cms://pages/label-1", item.item_id)}
    assert {(one.who, one.code) for one in told if one.event.part == "vote"} == {("Carla", item.item_id)}


def test_every_fixed_row_is_told_by_its_label(team):
    contract = builders.a_draft(team)
    row = WindowRow.objects.of(contract.pk)[0]
    for part, subject, name in (
        ("window", row.window, Window(row.window).label),
        ("plane", "effects", "Effects"),
        ("limit", "tokens", "Tokens"),
    ):
        event = Event(contract=contract, part=part, subject=subject, act="edit", actor_kind="person")
        assert (history.told(event).name, history.told(event).code) == (name, "")
    own = Event(
        part="window", subject="power-cut", act="edit", actor_kind="person", after={"title": "Power cut"}
    )
    assert (history.told(own).name, history.told(own).code) == ("Power cut", "power-cut")


def test_a_creation_counts_its_rows(team):
    contract = builders.a_complete_draft(team)
    values = {change.label: change.after for change in newest(contract).changes}
    assert values["Objects"].value == "1"
    assert values["Digest of the definition"].kind == "digest"
    assert values["Deadline"].kind == "moment"


def test_every_fact_of_every_part_can_be_told(team):
    contract = builders.a_draft(team)
    for part in builders.EXAMPLES:
        builders.a_row(contract, part)
    assert seen(contract, people.viewer(team)).status_code == 200


def test_hidden_characters_and_markup_are_shown_as_what_they_are(team):
    contract = builders.a_draft(team)
    builders.a_row(contract, "object", note="a\u200bb <script>alert(1)</script>")
    page = words(seen(contract, people.viewer(team)))
    assert "U+200B" in page
    assert "<script>alert" not in page


def test_long_text_is_folded(team):
    contract = builders.a_draft(team)
    builders.a_row(contract, "object", note="word " * 200)
    kinds = {change.label: change.after.kind for change in newest(contract).changes}
    assert kinds["Note"] == "long"


def test_an_unbroken_chain_says_so(team):
    contract = builders.a_draft(team)
    many_objects(contract, 3)
    answer = seen(contract, people.viewer(team))
    assert answer.context["chain"].broken_at is None
    assert "4 events, chain unbroken." in words(answer)


def test_a_broken_chain_names_the_place(team, monkeypatch):
    monkeypatch.setattr(EventQuerySet, "first_break", lambda _rows, _contract: 3)
    contract = builders.a_draft(team)
    answer = seen(contract, people.viewer(team))
    assert answer.context["chain"].broken_at == 3
    assert "breaks at event 3" in words(answer)


def test_events_that_come_in_meanwhile_are_no_break(team, monkeypatch):
    contract = builders.a_draft(team)
    whole = EventQuerySet.first_break

    def late(rows, loaded):
        if loaded.event_count == 1:
            many_objects(contract, 1)
        return whole(rows, loaded)

    monkeypatch.setattr(EventQuerySet, "first_break", late)
    assert seen(contract, people.viewer(team)).context["chain"].broken_at is None


def test_a_long_chain_is_verified_when_asked_for(team, monkeypatch):
    monkeypatch.setattr(events, "VERIFIED_AT_ONCE", 2)
    contract = builders.a_draft(team)
    many_objects(contract, 3)
    viewer = people.viewer(team)
    assert not seen(contract, viewer).context["chain"].verified
    assert seen(contract, viewer, verify=1).context["chain"].verified


def test_htmx_gets_the_part_it_replaces(team):
    contract = builders.a_draft(team)
    answer = visitor(people.viewer(team)).get(address("events", contract.task_id), headers=HTMX)
    assert "<html" not in words(answer)
    assert 'id="found"' in words(answer)


def test_the_number_of_queries_does_not_grow(team):
    contract = builders.a_draft(team)
    client, url = visitor(people.viewer(team)), address("events", contract.task_id)
    many_objects(contract, 10)
    few = queries(client, url)
    lines = [{"object_id": f"M-{line}"} for line in range(1_000)]
    actor = people.acting(people.owner(team))
    builders.done(add_lines(contract_id=contract.pk, actor=actor, part=PARTS["object"], lines=lines))
    assert queries(client, url) == few
