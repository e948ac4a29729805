import pytest

from contracts.gates.objects import add_lines
from contracts.models import WorkObject
from contracts.rules.parts import PARTS
from contracts.rules.states import ObjectState
from tests import builders, people
from tests.gates.watching import events_of, snapshot
from tests.views.reading import by_id, check_accessible, filled, read
from tests.views.visiting import HTMX, address, visitor

pytestmark = pytest.mark.django_db
IDS = ["O-1", "O-2", "O-3"]


@pytest.fixture
def team():
    return builders.a_team()


@pytest.fixture
def rita(team):
    return visitor(people.reviewer(team))


@pytest.fixture
def draft(team):
    contract = builders.a_draft(team)
    lines = [{"object_id": name} for name in IDS]
    actor = people.acting(people.owner(team))
    builders.done(add_lines(contract_id=contract.pk, actor=actor, part=PARTS["object"], lines=lines))
    return contract


def act(client, contract, deed, chosen, reason="", *, htmx=False, **more):
    posted = {"act": deed, "object": chosen, "reason": reason, **more}
    return client.post(address("objects_act", contract.task_id), posted, headers=HTMX if htmx else {})


def states(contract):
    return list(WorkObject.objects.of(contract.pk).values_list("state", flat=True))


def test_objects_are_begun_accepted_and_sent_back(draft, rita):
    for htmx in (False, True):
        for deed, chosen, after in (
            ("begin", IDS[:2], ["in_progress", "in_progress", "pending"]),
            ("accept", IDS[:1], ["confirmed", "in_progress", "pending"]),
            ("send_back", IDS[1:2], ["confirmed", "pending", "pending"]),
            ("skip", IDS[1:], ["confirmed", "skipped", "skipped"]),
        ):
            known = len(events_of(draft))
            answer = act(rita, draft, deed, chosen, "Not on show.", htmx=htmx)
            assert answer.status_code == (200 if htmx else 302)
            assert states(draft) == after
            events = events_of(draft)[known:]
            assert [(event.act, event.subject) for event in events] == [(deed, name) for name in chosen]
            if htmx:
                root = read(answer)
                check_accessible(root, part=True)
                assert root.children[0]["id"] == "part-object"
                assert [box for box in root.every("input") if "checked" in box.attributes] == []
        WorkObject.objects.of(draft.pk).update(state="pending", settled_by="", settled_at=None)


@pytest.mark.parametrize("htmx", [False, True])
@pytest.mark.parametrize(
    ("deed", "chosen", "reason", "words"),
    [
        ("skip", IDS[:2], "", "A reason is needed."),
        ("skip", IDS[:2], "   ", "A reason is needed."),
        ("accept", IDS[:2], "Looks well.", "this step is not possible"),
        ("begin", [], "", "Nothing was selected."),
        ("begin", ["O-1", "O-9"], "", "This row no longer exists."),
        ("begin", ["O-1", "O\0"], "", "This row no longer exists."),
        ("begin", ["O-1"], "x" * 3_000, "Some fields need attention"),
        ("begin", ["O-1"], "password: Sesame-open-99", "Some fields need attention"),
        ("begin", ["O-1"], "a\0b", "Some fields need attention"),
    ],
)
def test_a_refusal_is_said_once_and_keeps_choice_and_reason(
    *, draft, rita, htmx, deed, chosen, reason, words
):
    before = snapshot(draft)
    answer = act(rita, draft, deed, chosen, reason, htmx=htmx)
    assert answer.status_code == 409
    assert snapshot(draft) == before
    root = read(answer)
    check_accessible(root, part=htmx)
    (summary,) = [one for one in root.every("section") if one["class"] == "error-summary"]
    assert summary.words.count(words) == 1
    boxes = [
        box["value"] for box in root.every("input") if box["name"] == "object" and "checked" in box.attributes
    ]
    assert boxes == [name for name in chosen if name in IDS]
    shown = by_id(root)
    assert shown["objects-act-reason"]["value"].strip("�\0") == reason.strip("\0") or "\0" in reason
    (picked,) = [
        one["value"] for one in shown["objects-act-name"].every("option") if "selected" in one.attributes
    ]
    assert picked == deed
    if not htmx:
        assert root.every("title")[0].words.startswith("Error:")


def test_an_illegal_step_names_the_object(draft, rita):
    act(rita, draft, "begin", ["O-1"])
    answer = act(rita, draft, "accept", ["O-1", "O-2"])
    (summary,) = [one for one in read(answer).every("section") if one["class"] == "error-summary"]
    assert (
        summary.words == "From “Not started” this step is not possible. Reload the page to see what is. O-2"
    )
    assert states(draft) == ["in_progress", "pending", "pending"]


@pytest.mark.parametrize("deed", ["", "reconciled", "owner_lost", "remove", "begin\0"])
def test_acts_that_are_no_person_s_are_refused(draft, rita, deed):
    before = snapshot(draft)
    assert act(rita, draft, deed, IDS).status_code == 400
    assert snapshot(draft) == before


@pytest.mark.parametrize("htmx", [False, True])
def test_page_and_search_stay_as_they_were(draft, rita, team, htmx):
    lines = [{"object_id": f"N-{number:03}", "note": "box"} for number in range(110)]
    add_lines(
        contract_id=draft.pk, actor=people.acting(people.owner(team)), part=PARTS["object"], lines=lines
    )
    where = address("section", draft.task_id, "objects")
    carried = filled(read(rita.get(f"{where}?object-q=box&object-page=2")), "/objects/act/")
    carried = {name: value for name, value in carried.items() if name.startswith("object-")}
    assert carried == {"object-page": "2", "object-q": "box", "object-state": ""}
    answer = act(rita, draft, "begin", ["N-060"], "box kept", htmx=htmx, **carried)
    if not htmx:
        answer = rita.get(answer["Location"])
    rows = [row.every("th")[0].words for row in read(answer).every("tr")[1:]]
    assert rows[0] == "N-050"
    assert len(rows) == 50
    refused = act(rita, draft, "accept", ["N-061"], "", htmx=htmx, **carried)
    boxes = [
        box["value"]
        for box in by_id(read(refused))["part-object"].every("input")
        if "checked" in box.attributes
    ]
    assert boxes == ["N-061"]


@pytest.mark.parametrize("htmx", [False, True])
@pytest.mark.parametrize("kind", ["a_completed", "a_cancelled"])
def test_an_ended_contract_offers_no_acts(team, rita, kind, htmx):
    contract = getattr(builders, kind)(team)
    root = read(rita.get(address("section", contract.task_id, "objects")))
    check_accessible(root)
    assert "objects-act" not in by_id(root)
    assert [box for box in root.every("input") if box["type"] == "checkbox" and box["name"] == "object"] == []
    before = snapshot(contract)
    answer = act(rita, contract, "begin", ["O-1"], "", htmx=htmx)
    assert answer.status_code == 409
    assert "cannot be changed while the contract is" in read(answer).words
    assert snapshot(contract) == before


def test_work_goes_on_in_a_paused_contract(team, rita):
    contract = builders.a_paused(team)
    assert "objects-act" in by_id(read(rita.get(address("section", contract.task_id, "objects"))))
    assert act(rita, contract, "begin", ["O-1"]).status_code == 302
    assert states(contract) == [ObjectState.IN_PROGRESS]


def test_objects_of_another_contract_are_not_reached(draft, rita, team):
    other = builders.a_draft(team)
    builders.a_row(other, "object", object_id="X-1", source="")
    assert act(rita, draft, "begin", ["X-1"]).status_code == 409
    assert states(other) == ["pending"]


def test_who_may_not_fill_may_not_act(draft, team):
    before = snapshot(draft)
    for person, status in ((people.viewer(team), 403), (people.stranger(), 404), (people.neighbour(), 404)):
        assert act(visitor(person), draft, "begin", IDS).status_code == status
    assert snapshot(draft) == before


def many(team, count, prefix="N", contract=None):
    """Return a contract with `count` objects of which every tenth has the step `print`."""
    contract = contract or builders.a_draft(team)
    lines = [{"object_id": f"{prefix}-{n:05}", "step": "draft" if n % 10 else "print"} for n in range(count)]
    actor = people.acting(people.owner(team))
    builders.done(add_lines(contract_id=contract.pk, actor=actor, part=PARTS["object"], lines=lines))
    return contract


@pytest.mark.parametrize("htmx", [False, True])
def test_all_objects_are_begun_and_accepted_at_once(team, rita, htmx):
    contract = many(team, 120)
    root = read(rita.get(address("section", contract.task_id, "objects")))
    check_accessible(root)
    (label,) = [one.words for one in root.every("label") if one["for"] == "objects-act-all"]
    assert label == "All 120 objects that match the search and state"
    assert "checked" not in by_id(root)["objects-act-all"].attributes
    carried = filled(root, "/objects/act/") | {"all": "1"}
    carried = {name: carried[name] for name in ("all", "object-page", "object-q", "object-state")}
    for deed, after in (("begin", "in_progress"), ("accept", "confirmed")):
        answer = act(rita, contract, deed, [], "", htmx=htmx, **carried)
        assert answer.status_code == (200 if htmx else 302)
        assert states(contract) == [after] * 120
    assert [event.act for event in events_of(contract)].count("accept") == 120


def test_all_means_what_the_search_and_the_state_show(team, rita):
    contract = many(team, 120)
    act(rita, contract, "begin", ["N-00000"])
    page = {"all": "1", "object-q": "print", "object-state": "pending", "object-page": "1"}
    assert act(rita, contract, "begin", ["N-00001"], **page).status_code == 302
    begun = WorkObject.objects.of(contract.pk).filter(state="in_progress")
    assert set(begun.values_list("step", flat=True)) == {"print"}
    assert begun.count() == 12


def test_without_all_only_the_chosen_are_acted_on(team, rita):
    contract = many(team, 60)
    assert act(rita, contract, "begin", ["N-00003"], all="0").status_code == 302
    assert states(contract).count("in_progress") == 1


@pytest.mark.parametrize("htmx", [False, True])
def test_a_refusal_of_all_keeps_the_choice_and_changes_nothing(team, rita, htmx):
    contract = many(team, 60)
    act(rita, contract, "begin", ["N-00003"])
    before = snapshot(contract)
    answer = act(rita, contract, "accept", [], "", htmx=htmx, all="1")
    assert answer.status_code == 409
    assert "checked" in by_id(read(answer))["objects-act-all"].attributes
    assert snapshot(contract) == before
    nothing = act(rita, contract, "begin", ["N-00004"], "", htmx=htmx, **{"all": "1", "object-q": "zzz"})
    assert (nothing.status_code, "Nothing was selected." in read(nothing).words) == (409, True)


def test_all_is_not_offered_where_everything_is_on_the_page(draft, rita):
    shown = by_id(read(rita.get(address("section", draft.task_id, "objects"))))
    assert "objects-act" in shown
    assert "objects-act-all" not in shown


def test_all_reaches_no_other_contract(team, rita):
    contract, other = many(team, 60), many(team, 60)
    before = snapshot(other)
    assert act(rita, contract, "begin", [], all="1").status_code == 302
    assert snapshot(other) == before
    for person, status in ((people.viewer(team), 403), (people.stranger(), 404), (people.neighbour(), 404)):
        assert act(visitor(person), other, "begin", [], all="1").status_code == status
    assert states(other) == ["pending"] * 60


def test_ten_thousand_objects_are_begun_at_once(team, rita):
    contract = many(team, 10_000)
    assert act(rita, contract, "begin", [], all="1").status_code == 302
    assert set(states(contract)) == {"in_progress"}
