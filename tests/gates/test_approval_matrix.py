"""Whoever may not decide does not, whatever is decided and whatever the policy says of authors: each by its code."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.core import signing

from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.form_keys import GOOD_FOR_SECONDS, make_form_key
from contracts.gates.people import share
from contracts.models import Approval, ApprovalVote
from contracts.rules.vocabulary import Actor, ActorKind, Right
from tests import builders, people
from tests.builders import word
from tests.gates.watching import assert_allowed, assert_refused, events_of

pytestmark = pytest.mark.django_db
DECISIONS = ["approved", "rejected"]


def carla():
    return people.curator(builders.a_team())


def drawn_by(person=None, **values):
    """Return a call whose draft `person` stored, by its own account written by somebody else."""

    def build(policy):
        call = builders.a_call(builders.a_paused(**builders.keys_of_a_call(policy)), draft=False)
        builders.a_row(call.contract, "artefact", person and person(), **values)
        return builders.a_waiting_item(call)

    return build


def plain(policy):
    return builders.a_waiting_item(policy=policy)


def with_quorum(policy):
    return builders.a_waiting_item(policy={**policy, "quorum": 2})


def with_second_factor(policy):
    return builders.a_waiting_item(policy={**policy, "second_factor": True})


def asked_by(name):
    return lambda policy: builders.a_waiting_item(policy=policy, actor=Actor(name))


def out_of_date(**columns):
    def build(policy):
        item = plain(policy)
        Approval.objects.filter(pk=item.pk).update(**columns)
        item.refresh_from_db()
        return item

    return build


def by_carla(item):
    return carla(), {}


def with_full_name(item):
    person = carla()
    get_user_model().objects.filter(pk=person.pk).update(first_name="Carla", last_name="Ruiz")
    return person, {}


def by_token(kind):
    return lambda _item: (carla(), {"actor": Actor("carla", kind)})


def superuser(item):
    person = people.viewer(item.contract.team)
    get_user_model().objects.filter(pk=person.pk).update(is_superuser=True, is_staff=True)
    return person, {}


def stranger(item):
    return people.stranger(), {}


def without_role(item):
    person = carla()
    assert person.groups.exists()
    person.groups.clear()
    return person, {}


def without_grant(item):
    person, owner = people.stranger(), people.acting(people.owner(item.contract.team))
    for rights in (frozenset({Right.DECIDE}), frozenset()):
        builders.done(
            share(contract_id=item.contract_id, actor=owner, username=person.username, rights=rights)
        )
    return person, {}


def deactivated(item):
    person = carla()
    get_user_model().objects.filter(pk=person.pk).update(is_active=False)
    return person, {}


def confirmed(seconds):
    return lambda _item: (carla(), {"confirmed_at": database_now() - timedelta(seconds=seconds)})


def never_confirmed(item):
    return carla(), {"confirmed_at": None}


def second_factor(seconds):
    return lambda _item: (carla(), {"second_factor_at": database_now() - timedelta(seconds=seconds)})


def replayed(item):
    person = carla()
    used = word(item, person)
    assert_allowed(item.contract, decide, **used)
    return person, {"form_key": used["form_key"]}


def key_of_another_item(item):
    other = builders.a_waiting_item(builders.a_call(item.contract, step="publish-again"))
    return carla(), {"form_key": make_form_key(other, carla())}


def key_of_another_person(item):
    return carla(), {"form_key": make_form_key(item, people.person("dora", item.contract.team))}


def key_of(change):
    return lambda item: (carla(), {"form_key": change(make_form_key(item, carla()))})


def old_key(item):
    then = int(database_now().timestamp()) - GOOD_FOR_SECONDS - 60
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(signing.TimestampSigner, "timestamp", lambda _self: signing.b62_encode(then))
        return carla(), {"form_key": make_form_key(item, carla())}


def signed_for_another_use(item):
    return carla(), {
        "form_key": signing.dumps([item.contract_id, item.item_id, carla().pk, "x"], salt="other")
    }


def no_list(item):
    return carla(), {"form_key": signing.dumps(7, salt="contracts.decision")}


# What is refused → how the item came to be, who tries and how, code.
ROWS = {
    "the author": (drawn_by(author="carla"), by_carla, "own_draft"),
    "the author by full name": (drawn_by(author=" carla RUIZ "), with_full_name, "own_draft"),
    "who stored a draft that names no author": (drawn_by(carla), by_carla, "own_draft"),
    "the last editor": (drawn_by(carla, author="rita"), by_carla, "own_draft"),
    "who asked": (asked_by("carla"), by_carla, "own_request"),
    "who asked by full name": (asked_by("Carla Ruiz"), with_full_name, "own_request"),
    "a worker's token": (plain, by_token(ActorKind.WORKER), "workers_never_decide"),
    "the workbench itself": (plain, by_token(ActorKind.SYSTEM), "workers_never_decide"),
    "a superuser without the right": (plain, superuser, "no_right_to_decide"),
    "a stranger": (plain, stranger, "no_right_to_decide"),
    "a role taken away": (plain, without_role, "no_right_to_decide"),
    "an own grant taken away": (plain, without_grant, "no_right_to_decide"),
    "an account deactivated": (plain, deactivated, "no_right_to_decide"),
    "an old login": (plain, confirmed(301), "login_not_fresh"),
    "no login confirmed": (plain, never_confirmed, "login_not_fresh"),
    "no second factor": (with_second_factor, by_carla, "second_factor_missing"),
    "an old second factor": (with_second_factor, second_factor(301), "second_factor_missing"),
    "a replayed form key": (with_quorum, replayed, "form_key_once"),
    "a form key of another item": (plain, key_of_another_item, "form_key_wrong"),
    "a form key of another person": (plain, key_of_another_person, "form_key_wrong"),
    "a forged form key": (plain, key_of(lambda key: key[:-2] + ("AA" if key[-2:] != "AA" else "BB")), "form_key_wrong"),
    "a form key with another content": (plain, key_of(lambda key: "x" + key), "form_key_wrong"),
    "no form key": (plain, key_of(lambda _key: ""), "form_key_wrong"),
    "an old form key": (plain, old_key, "form_key_wrong"),
    "a form key signed for another use": (plain, signed_for_another_use, "form_key_wrong"),
    "a signed form key that holds no list": (plain, no_list, "form_key_wrong"),
    "what was passed to another": (out_of_date(passed_to="dora"), by_carla, "passed_to_another"),
    "what was passed to another role": (out_of_date(passed_to="operator"), by_carla, "passed_to_another"),
    "what was withdrawn": (out_of_date(state="withdrawn"), by_carla, "item_withdrawn"),
    "what has expired": (out_of_date(state="expired"), by_carla, "item_expired"),
    "what has gone stale": (out_of_date(state="stale", stale_member="target"), by_carla, "item_stale"),
}  # fmt: skip
LENIENT = {"own_draft"}  # what a policy may allow


@pytest.mark.parametrize("author_may_decide", [False, True])
@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("name", ROWS)
def test_it_is_refused_by_its_own_code_and_nothing_slips(name, decision, author_may_decide):
    build, attempt, code = ROWS[name]
    item = build({"author_may_decide": author_may_decide})
    person, given = attempt(item)
    tried = {"reason": "Because.", **given}
    if author_may_decide and code in LENIENT:
        assert_allowed(item.contract, decide, **word(item, person, decision, **tried))
        return
    assert_refused(item.contract, code, decide, **word(item, person, decision, **tried))


@pytest.mark.parametrize("decision", DECISIONS)
def test_t56_after_its_time_an_old_tab_decides_nothing(decision):
    item = builders.a_waiting_item()
    Approval.objects.filter(pk=item.pk).update(expires_at=database_now())
    verdict = decide(contract_id=item.contract_id, **word(item, carla(), decision, reason="Late."))
    item.refresh_from_db()
    assert (verdict.code, item.state, item.decided_by, item.decision_reason) == (
        "item_expired",
        "expired",
        "",
        "",
    )
    assert not ApprovalVote.objects.filter(approval=item).exists()
    assert [(event.act, event.refused) for event in events_of(item.contract)[-2:]] == [
        ("time_ran_out", ""),
        ("decide", "item_expired"),
    ]


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_form_key_used_for_one_decision_is_no_key_for_a_later_item(decision):
    item = builders.a_waiting_item(policy={"quorum": 2})
    used = word(item, carla(), decision="approved")
    assert_allowed(item.contract, decide, **used)
    other = builders.a_waiting_item(builders.a_call(item.contract, step="publish-again"))
    assert_refused(
        other.contract,
        "form_key_wrong",
        decide,
        **word(other, carla(), decision, form_key=used["form_key"], reason="Because."),
    )
