import pytest

from contracts.gates.objects import add_lines
from contracts.gates.rows import edit_row
from contracts.models import WindowRow
from contracts.rules.parts import PARTS
from tests import builders, documents, people
from tests.views.visiting import address, queries, visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return builders.a_team()


def seen(contract, person):
    return visitor(person).get(address("overview", contract.task_id))


def slugs(answer, *, refused):
    return [offer.deed.slug for offer in answer.context["offers"] if bool(offer.refusal) is refused]


def full(team, **changes):
    raw = {**documents.full_document(builders.a_task_id(), team), **changes}
    return builders.done(builders.created(team, people.owner(team), raw))


def test_a_stranger_finds_nothing(team):
    assert seen(builders.a_draft(team), people.stranger()).status_code == 404
    assert seen(builders.a_draft(team), people.neighbour()).status_code == 404


def test_each_missing_thing_is_named_with_its_place(team):
    contract = builders.a_draft(team)
    answer = seen(contract, people.owner(team))
    identity = address("section", contract.task_id, "identity")
    page = words(answer)
    count = len(answer.context["missing"])
    assert f"{count} things are missing." in page
    assert f'<a href="{identity}#part-identity">Identity: “Deadline” is empty.</a>' in page
    assert f'<a href="{identity}#row-plane-effects">Effects: “Who may read it” is empty.</a>' in page
    assert sum(len(section.things) for section in answer.context["lacking"]) == count


def test_leaving_draft_is_offered_with_what_stands_against_it(team):
    answer = seen(builders.a_draft(team), people.owner(team))
    assert slugs(answer, refused=True) == ["leave-draft"]
    assert slugs(answer, refused=False) == ["cancel"]
    complete = seen(builders.a_complete_draft(team), people.owner(team))
    assert slugs(complete, refused=False) == ["leave-draft", "cancel"]
    assert "Nothing is missing: it may leave draft." in words(complete)


def test_a_viewer_is_offered_nothing(team):
    assert seen(builders.a_complete_draft(team), people.viewer(team)).context["offers"] == []


def test_who_may_not_export_reads_which_right_it_takes(team):
    contract = builders.a_draft(team)
    for person, may in (
        (people.owner(team), True),
        (people.exporter(team), True),
        (people.curator(team), False),
    ):
        page = words(seen(contract, person))
        assert (address("export", contract.task_id) in page) is may
        assert ("Export takes the right “Export the contract”" in page) is not may


def test_an_operator_is_offered_the_way_back(team):
    assert slugs(seen(builders.a_paused(team), people.operator(team)), refused=False) == [
        "raise-cap",
        "return-to-draft",
        "cancel",
    ]


def test_completing_waits_for_the_objects(team):
    answer = seen(builders.a_paused(team), people.owner(team))
    (offer,) = [offer for offer in answer.context["offers"] if offer.refusal]
    assert offer.refusal.code == "objects_unfinished"


def test_an_ended_contract_is_offered_the_archive(team):
    assert slugs(seen(builders.a_cancelled(team), people.owner(team)), refused=False) == ["archive"]


def test_an_unknown_write_is_the_first_thing_said(team):
    answer = seen(full(team), people.viewer(team))
    assert "1 write may already have happened: ask its target first." in words(answer)
    assert answer.context["shown"].verdict == "reconcile"


def test_what_was_brought_in_is_not_revised_before_it_was_created(team):
    contract = full(team, revised_at="2025-01-01T08:00:00.000000Z")
    contract.refresh_from_db()
    assert contract.revised_at < contract.created_at == contract.settled_at
    page = words(seen(contract, people.viewer(team)))
    assert f'revised <time datetime="{contract.created_at.isoformat()}"' in page
    assert f'brought in as it was on <time datetime="{contract.revised_at.isoformat()}"' in page
    builders.a_row(contract, "usage")
    contract.refresh_from_db()
    assert contract.settled_at == contract.revised_at > contract.created_at
    assert "brought in" not in words(seen(contract, people.viewer(team)))


def test_a_cancelled_contract_says_who_and_why(team):
    page = words(seen(builders.a_cancelled(team), people.viewer(team)))
    assert "Cancelled: nothing of it may be continued." in page
    assert "The show was called off." in page


def test_an_expired_contract_says_so(team):
    late = {**builders.complete_keys()["identity"], "deadline": "2031-01-01T00:00Z"}
    contract = full(team, identity={**late, "deadline": "2026-01-01T00:00Z"})
    answer = seen(contract, people.viewer(team))
    assert answer.context["expired"]
    assert "its deadline has passed" in words(answer)


def test_a_window_stays_blank_until_it_was_run(team):
    contract, owner = builders.a_complete_draft(team), people.owner(team)
    assert words(seen(contract, owner)).count("not yet drilled") == 6
    row = WindowRow.objects.of(contract.pk)[2]
    result = {"verdict": "failed", "run_at": "2026-01-01T00:00Z", "run_by": "otto", "evidence": "logs://9"}
    values = {**{field.name: row.facts()[field.name] for field in PARTS["window"].given}, **result}
    actor = people.acting(owner)
    who = {"contract_id": contract.pk, "actor": actor, "part": PARTS["window"]}
    builders.done(edit_row(row_id=row.pk, version=row.version, values=values, **who))
    page = words(seen(contract, owner))
    assert page.count("not yet drilled") == 5
    assert "Failed" in page


def test_a_limit_per_step_is_compared_with_the_busiest_step(team):
    contract = builders.a_paused(team)
    for step in ("draft", "publish"):
        builders.a_row(contract, "usage", measure="tries_per_step", amount="60", step=step)
        builders.a_row(contract, "usage", measure="tokens", amount="60", step=step)
    gauges = {gauge.label: gauge for gauge in seen(contract, people.viewer(team)).context["gauges"]}
    assert (gauges["Tries per step"].used, gauges["Tries per step"].over) == ("60", False)
    assert (gauges["Tokens"].used, gauges["Tokens"].share, gauges["Tokens"].over) == ("120", 100, True)


def test_attempts_and_events_are_the_newest_first(team):
    contract = full(team)
    answer = seen(contract, people.viewer(team))
    assert [attempt.number for attempt in answer.context["attempts"]] == [2, 1]
    builders.done(
        add_lines(
            contract_id=contract.pk,
            actor=people.acting(people.owner(team)),
            part=PARTS["object"],
            lines=[{"object_id": f"N-{number}"} for number in range(20)],
        )
    )
    shown = seen(contract, people.viewer(team)).context["events"]
    assert [one.event.sequence for one in shown] == list(range(21, 11, -1))


def test_hidden_characters_of_a_title_are_shown(team):
    contract = builders.a_draft(team, identity={"title": "La\u202ebel"})
    assert "U+202E" in words(seen(contract, people.viewer(team)))


def test_the_number_of_queries_does_not_grow(team):
    contract, owner = builders.a_paused(team), people.owner(team)
    client, url = visitor(owner), address("overview", contract.task_id)
    builders.a_row(contract, "operation")
    few = queries(client, url)
    lines = [{"object_id": f"N-{number}"} for number in range(1_000)]
    who = {"contract_id": contract.pk, "actor": people.acting(owner)}
    builders.done(add_lines(part=PARTS["object"], lines=lines, **who))
    for number in range(10):
        builders.a_row(contract, "usage", step=f"s{number}")
        builders.a_row(contract, "operation", step=f"s{number}")
    assert queries(client, url) == few
