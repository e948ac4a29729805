import pytest

from contracts.gates.lifecycle import archive
from contracts.gates.objects import add_lines, change_objects
from contracts.gates.people import share
from contracts.gates.requesting import request_approval
from contracts.gates.rows import mark_section
from contracts.rules.parts import PARTS
from contracts.rules.states import Act
from contracts.rules.vocabulary import Actor, ActorKind, Right, Section
from tests import builders, documents, people
from tests.views.reading import read
from tests.views.visiting import HTMX, address, queries, visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return builders.a_team()


def ids(answer):
    return [line.contract.task_id for line in answer.context["lines"]]


def listed(person, **query):
    return visitor(person).get(address("list", **query))


def a_waiting(team):
    """A paused contract with one operation and one item waiting for a curator."""
    raw = documents.full_document(builders.a_task_id(), team)
    raw["operations"][0] |= {"state": "pending", "generation": None, "tries": 0, "sent_at": None}
    raw["approvals"], raw["votes"] = [], []
    contract = builders.done(builders.created(team, people.owner(team), raw))
    builders.done(
        request_approval(
            contract_id=contract.pk,
            actor=Actor("label-worker", ActorKind.WORKER),
            operation_key=raw["operations"][0]["key"],
            reason="The label is ready.",
            draft_id="L-1",
        )
    )
    return contract


def test_nobody_reads_the_list_without_logging_in(client):
    answer = client.get(address("list"))
    assert answer.status_code == 302
    assert answer.url.startswith("/login/") or "login" in answer.url


def test_it_lists_what_a_person_may_see_and_nothing_else(team):
    contract = builders.a_draft(team)
    assert ids(listed(people.viewer(team))) == [contract.task_id]
    assert ids(listed(people.neighbour())) == []


@pytest.mark.parametrize(("who", "usual"), [("reviewer", True), ("curator", False), ("viewer", False)])
def test_a_new_contract_is_the_main_act_of_those_who_fill_in(team, who, usual):
    person = getattr(people, who)(team)
    for contracts in (0, 1):
        links = [one for one in read(listed(person)).every("a") if one["href"] == address("new")]
        classes = [one["class"].split() for one in links if "button" in one["class"].split()]
        assert ["deed" in one for one in classes] == [usual] * (2 - contracts)
        builders.a_draft(team)


def test_whoever_may_fill_in_one_contract_begins_others_too(team):
    contract, stefan = builders.a_draft(team), people.stranger()
    owner = people.acting(people.owner(team))
    builders.done(
        share(contract_id=contract.pk, actor=owner, username="stefan", rights=frozenset({Right.FILL}))
    )
    assert listed(stefan).context["fills_in"]()


def test_an_empty_list_says_how_to_begin():
    page = words(listed(people.stranger()))
    assert "No contracts yet" in page
    assert address("new") in page


def test_a_search_that_finds_nothing_says_so(team):
    builders.a_draft(team)
    assert "Nothing found" in words(listed(people.viewer(team), q="zebra"))


def test_it_finds_by_task_id_and_by_title(team):
    first = builders.a_draft(team, task_id="alpha-1")
    second = builders.a_draft(team, identity={"title": "Beta of the show"})
    viewer = people.viewer(team)
    assert ids(listed(viewer, q="ALPHA")) == [first.task_id]
    assert ids(listed(viewer, q="beta of")) == [second.task_id]


def test_a_percent_sign_is_searched_for_as_itself(team):
    builders.a_draft(team)
    assert ids(listed(people.viewer(team), q="%")) == []


def test_it_filters_by_state_and_team(team):
    draft, paused = builders.a_draft(team), builders.a_paused(team)
    viewer = people.viewer(team)
    assert ids(listed(viewer, state="draft")) == [draft.task_id]
    assert ids(listed(viewer, state="paused", team=team.slug)) == [paused.task_id]


def test_expired_is_a_filter_and_a_word(team):
    late = {"title": "Late", "deadline": "2020-01-01T00:00:00Z"}
    contract, _ = builders.a_draft(team, identity=late), builders.a_draft(team)
    answer = listed(people.viewer(team), state="expired")
    assert ids(answer) == [contract.task_id]
    assert answer.context["lines"][0].expired


def test_archived_contracts_are_shown_only_when_asked_for(team):
    contract = builders.a_cancelled(team)
    builders.done(archive(contract_id=contract.pk, actor=people.acting(people.owner(team))))
    viewer = people.viewer(team)
    assert ids(listed(viewer)) == []
    assert ids(listed(viewer, state="archived")) == [contract.task_id]


@pytest.mark.parametrize(
    "query", [{"state": "nonsense"}, {"team": "x"}, {"sort": "x"}, {"page": "x"}, {"q": "a\x00"}]
)
def test_a_filter_that_makes_no_sense_filters_nothing(team, query):
    contract = builders.a_draft(team)
    assert ids(listed(people.viewer(team), **query)) == [contract.task_id]


def test_a_draft_needs_whoever_may_fill_it_in(team):
    draft, _ = builders.a_draft(team), builders.a_paused(team)
    assert ids(listed(people.reviewer(team), mine="on")) == [draft.task_id]
    assert ids(listed(people.viewer(team), mine="on")) == []


def test_a_draft_says_how_much_is_missing_and_leads_to_the_first(team):
    draft, complete = builders.a_draft(team), builders.a_complete_draft(team)
    missing = len(visitor(people.viewer(team)).get(address("overview", draft.task_id)).context["missing"])
    answer = listed(people.viewer(team))
    lines = {line.contract.task_id: line for line in answer.context["lines"]}
    assert lines[draft.task_id].missing == missing > 1
    assert lines[complete.task_id].missing == lines[complete.task_id].needs == 0
    place = address("section", draft.task_id, "identity") + "#part-identity"
    (link,) = [one for one in read(answer).every("a") if one["href"] == place]
    assert link.words.startswith(f"{missing} things missing")


def test_an_unknown_operation_needs_the_operator(team):
    raw = documents.full_document(builders.a_task_id(), team)
    contract = builders.done(builders.created(team, people.owner(team), raw))
    builders.a_draft(team)
    assert ids(listed(people.operator(team), mine="on")) == [contract.task_id]
    assert ids(listed(people.curator(team), mine="on")) == []


def test_a_waiting_item_needs_the_curator(team):
    contract = a_waiting(team)
    assert ids(listed(people.curator(team), mine="on")) == [contract.task_id]
    assert ids(listed(people.operator(team), mine="on")) == []


def test_each_line_counts_what_belongs_to_it(team):
    contract, owner = a_waiting(team), people.owner(team)
    builders.a_draft(team)
    answer = listed(owner, q=contract.task_id)
    (line,) = answer.context["lines"]
    assert line.counts == {"marked": 9, "waiting": 1}
    assert (line.settled, line.total) == (1, 1)
    assert "9 of 9" in words(answer)
    assert "1 waiting" in words(answer)


def test_a_mark_taken_back_is_not_counted(team):
    contract, owner = builders.a_complete_draft(team), people.owner(team)
    mark_section(contract_id=contract.pk, actor=people.acting(owner), section=Section.LIMITS, complete=False)
    (line,) = listed(owner).context["lines"]
    assert line.counts["marked"] == 8


def test_objects_in_different_states_are_told_apart(team):
    contract, owner = builders.a_draft(team), people.owner(team)
    actor = people.acting(owner)
    lines = [{"object_id": f"O-{number}"} for number in range(3)]
    builders.done(add_lines(contract_id=contract.pk, actor=actor, part=PARTS["object"], lines=lines))
    builders.done(change_objects(contract_id=contract.pk, actor=actor, act=Act.BEGIN, object_ids=["O-1"]))
    (line,) = listed(owner).context["lines"]
    assert {state.value: count for state, count in line.bar if count} == {"pending": 2, "in_progress": 1}


def test_contracts_without_a_deadline_come_last_by_deadline(team):
    builders.a_draft(team, task_id="none")
    builders.a_draft(team, task_id="later", identity={"title": "B", "deadline": "2032-01-01T00:00Z"})
    builders.a_draft(team, task_id="sooner", identity={"title": "A", "deadline": "2031-01-01T00:00Z"})
    viewer = people.viewer(team)
    assert ids(listed(viewer, sort="deadline")) == ["sooner", "later", "none"]
    assert ids(listed(viewer, sort="title"))[:2] == ["sooner", "later"]
    assert ids(listed(viewer))[0] == "sooner"


def test_pages_hold_twenty_five_and_keep_the_filter(team):
    for _ in range(26):
        builders.a_draft(team)
    answer = listed(people.viewer(team), state="draft", page=2)
    assert len(ids(answer)) == 1
    assert "?page=1&amp;state=draft" in words(answer)


def test_htmx_gets_the_part_it_replaces(team):
    builders.a_draft(team)
    answer = visitor(people.viewer(team)).get(address("list"), headers=HTMX)
    assert "<html" not in words(answer)
    assert 'id="found"' in words(answer)
    assert "HX-Request" in answer["Vary"]


def test_hidden_characters_of_a_title_are_shown(team):
    builders.a_draft(team, identity={"title": "La\u200bbel"})
    assert "U+200B" in words(listed(people.viewer(team)))


def test_the_number_of_queries_does_not_grow(team):
    viewer = visitor(people.viewer(team))
    builders.a_paused(team)
    few = queries(viewer, address("list", mine="on", q="t"))
    one = queries(viewer, address("list"))
    for _ in range(24):
        builders.a_paused(team)
    assert queries(viewer, address("list")) == one <= 9
    assert queries(viewer, address("list", mine="on", q="t")) <= max(few, 9)
    for _ in range(9):
        builders.a_draft(team)
    assert queries(viewer, address("list")) == one + 1  # what all drafts on the page lack
